# SPDX-License-Identifier: Apache-2.0
"""The chart as each Helm of this machine reads it; chart_test.py compares what they make of it."""
import glob
import os
import tempfile
import unittest

import cases
import chart
import helm
from place import TO_JSON


@unittest.skipUnless(helm.programs(), "Helm is not there")
class HelmTest(unittest.TestCase):
    def test_lint_finds_nothing_with_any_values(self):
        for program in helm.programs():
            for name, values in cases.ALL.items():
                said = helm.run(program, "lint", "--strict", "--quiet", "--kube-version", helm.OLDEST, chart.FOLDER, values=values)
                self.assertEqual(said.stdout.strip(), "", (helm.name(program), name))

    def test_the_packaged_chart_has_what_its_links_lead_to(self):
        for program in helm.programs():
            with tempfile.TemporaryDirectory() as folder:
                helm.run(program, "package", chart.FOLDER, "--destination", folder)
                (package,) = glob.glob(os.path.join(folder, "wharf-*.tgz"))
                ours, packaged = (helm.template(program, each, "elsewhere", cases.OBJECTS) for each in (chart.FOLDER, package))
            self.assertEqual(ours, packaged, helm.name(program))
            others = {thing["metadata"]["namespace"] for thing in chart.read_yaml(TO_JSON, packaged) if "namespace" in thing["metadata"]}
            self.assertEqual(others, {"elsewhere"})
            self.assertNotIn("namespace: wharf-system", packaged)

    def test_a_wrong_value_is_refused_in_a_sentence_that_names_it(self):
        for program in helm.programs():
            for values, wanted in (({"imagee": {}}, r"'?imagee'?.* not allowed"), ({"replicas": "2"}, r"/?replicas.*integer"),
                                   ({"config": {"serve": {"address": "0.0.0.0:80"}}}, r"config[./]serve[./]address.*9440"),
                                   ({"image": {"pullPolicy": "Sometimes"}}, r"image[./]pullPolicy.*IfNotPresent"),
                                   ({"replicas": 2, "config": {"leaderElection": None}}, "replicas: found more than one, expected")):
                with self.assertRaisesRegex(helm.Refused, wanted):
                    helm.template(program, chart.FOLDER, chart.NAMESPACE, values)

    def test_an_older_kubernetes_is_refused(self):
        for program in helm.programs():
            said = helm.run(program, "template", "wharf", chart.FOLDER, "--kube-version", "1.29.9", check=False)
            self.assertIn(f"chart requires kubeVersion: >={helm.OLDEST}-0", said.stderr)
