# SPDX-License-Identifier: Apache-2.0
"""An author at work: a shell that has the installed tree and nothing of this repository."""
import os
import subprocess


class Wrong(Exception):
    """A check that failed, and what was found."""


class Skipped(Exception):
    """A check that cannot be made here, and why."""


class Author:
    def __init__(self, root, prefix, work, make):
        self.root, self.prefix, self.work, self.make = root, prefix, work, make.split()
        self.tree = root + prefix
        keep = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
        self.environment = {
            **keep,
            "PATH": f"{self.tree}/bin:{os.environ['PATH']}",
            "PKG_CONFIG_LIBDIR": f"{self.tree}/lib/pkgconfig",
            "PKG_CONFIG_SYSROOT_DIR": root,
            "DESTDIR": root,    # where the examples install to
        }

    def run(self, command, folder, **variables):
        """(exit code, output with errors) of a command line or a list of words."""
        shell = isinstance(command, str)
        run = subprocess.run(command, shell=shell, cwd=folder, env={**self.environment, **variables}, timeout=360,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return run.returncode, run.stdout.decode("utf-8", "replace")

    def must(self, command, folder, **variables):
        code, output = self.run(command, folder, **variables)
        if code != 0:
            raise Wrong(f"{command}: exit code {code}\n{output}")
        return output
