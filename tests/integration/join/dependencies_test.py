#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wharf join with a configuration that copies or checks what workloads refer to.

    dependencies_test.py BUILD_FOLDER [unittest arguments]
"""

import os
import sys
import unittest

from join_test import Case


class Dependencies(Case):
    def write_config(self, text):
        path = os.path.join(os.path.dirname(self.kubeconfig), "host.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("apiVersion: wharf.dev/v1alpha1\nkind: HostConfiguration\nworkersFrom: {secrets: true}\n"
                       f"management: {{kubeconfig: {self.kubeconfig}}}\nadapters: {{enabled: [{{name: job}}]}}\n" + text)
        return path

    def test_rights_on_secrets_and_service_accounts_need_the_configuration(self):
        self.use_host({"state": "Ready"})
        for resources in (["secrets"], ["configmaps", "serviceaccounts"]):
            self.host.rights = ([{"scope": "cluster", "group": "", "resources": resources, "verbs": ["get"], "name": None}], [])
            self.assertIn(f"the host asks for rights on {', '.join(resources)}", self.join_without_names(code=2))
            self.assertEqual(self.worker.writes, [])
        path = self.write_config("dependencies: {copy: [configmaps, secrets], check: [persistentvolumeclaims]}\n")
        self.join_without_names("--config", path)
        self.assertLessEqual({("", "configmaps", "create"), ("", "secrets", "get"), ("", "persistentvolumeclaims", "list")},
                             self.rules())
        self.assertNotIn(("", "persistentvolumeclaims", "create"), self.rules())
        self.assertIn("would lose get, list, watch of configmaps", self.join("--adapters-enabled", "job", code=1))

    def test_objects_limit_the_rights_to_some_names(self):
        path = self.write_config("dependencies: {copy: [configmaps, secrets], watch: names}\n")
        self.join_without_names("--config", path, "--objects", "secrets/a,secrets/b")
        self.assertEqual([(rule.get("resourceNames"), rule["verbs"]) for rule in self.role_rules() if rule["resources"] == ["secrets"]],
                         [(["a", "b"], ["get", "list", "watch"]), (["a", "b"], ["patch", "delete"]), (None, ["create"])])
        asked = {(review["verb"], review.get("name")) for review in self.worker.reviews if review["resource"] == "secrets"}
        self.assertEqual(asked, {*((verb, name) for verb in ("get", "list", "watch", "patch", "delete") for name in "ab"),
                                 ("create", None)})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
