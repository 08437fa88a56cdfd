# SPDX-License-Identifier: Apache-2.0
"""The systemd unit."""
import os
import shutil
import subprocess
import tempfile
import unittest

from chart import ROOT


@unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not there")
class UnitTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="wharf-unit-")
        self.addCleanup(self.folder.cleanup)
        with open(os.path.join(ROOT, "etc", "wharf.service.in"), encoding="utf-8") as file:
            text = file.read().replace("@PREFIX@/bin/wharf run", "/bin/true run").replace("Documentation=man:wharf(1)\n", "")
        self.unit = os.path.join(self.folder.name, "wharf.service")
        with open(self.unit, "w", encoding="utf-8") as file:
            file.write(text)

    def test_systemd_understands_every_line_of_it(self):
        run = subprocess.run(["systemd-analyze", "verify", "--man=no", self.unit], capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_its_exposure_is_low(self):
        run = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--threshold=15", "--no-pager", self.unit],
                             capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout)
