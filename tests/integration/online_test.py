#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`wharf check --online` against API servers that this process plays.

    online_test.py BUILD_FOLDER [unittest arguments]
"""

import json
import os
import sys
import unittest

from cli_test import PROFILES, SECRETS, WHARF, ApiServer, kubeconfig, status, wharf, worker_secret
import cli_test


class Online(cli_test.Case):
    def check(self):
        return wharf("check", "--online", "--config", self.config)

    def test_clusters_that_serve_and_allow_everything_have_no_problems(self):
        management, worker = self.serve("mgmt"), self.serve("w1")
        self.write_config(more="createNamespaces: true\n")
        code, out, err = self.check()
        self.assertEqual((code, err), (0, ""))
        self.assertIn("all clusters respond", out)
        self.assertEqual(management.asked, [
            "get things example.com", "list things example.com", "watch things example.com",
            "patch things example.com", "patch things example.com status", "create events events.k8s.io",
            "patch events events.k8s.io", "list configmaps wharf-last-words", "get configmaps wharf-last-words",
            "create configmaps wharf-last-words", "patch configmaps wharf-last-words", "delete configmaps wharf-last-words",
            "get namespaces kube-system", "get configmaps wharf-workers",
            "list configmaps wharf-workers", "watch configmaps wharf-workers", "patch configmaps wharf-workers",
            "create configmaps"])
        self.assertEqual(worker.asked, [
            "get things example.com", "list things example.com", "watch things example.com",
            "create things example.com", "patch things example.com", "delete things example.com",
            "get pods", "list pods", "create namespaces"])

    def test_one_cluster_under_two_names_is_told(self):
        self.serve("mgmt", uid="k0")
        for name, uid in (("w1", "k1"), ("w2", "k0"), ("w3", "k1"), ("w4", "k4")):
            self.serve(name, uid=uid)
        self.write_config(workers=("w1", "w2", "w3", "w4"))
        code, _, err = self.check()
        self.assertEqual(code, 1)
        self.assert_says(err, "w2 (http://127.0.0.1:", "the same cluster as the management cluster (uid k0",
                         "w3 (http://127.0.0.1:", "the same cluster as w1 (uid k1", ": 2 problems")

    def namespaces(self, **uids):
        return {"/api/v1/namespaces": [{"metadata": {"name": name.replace("_", "-"), "uid": uid, "annotations": (
            {"wharf.dev/tenant": uid} if uid else {})}} for name, uid in uids.items()]}

    def test_with_tenancy_it_tells_which_namespaces_consent(self):
        self.serve("mgmt", lists=self.namespaces(team_a="u-a", team_b="u-b", other=""))
        worker = self.serve("w1", lists=self.namespaces(team_a="u-a", team_b="u-x,u-b", default=""))
        self.serve("w2", lists=self.namespaces(team_a="u-b", team_z="u-z"))
        self.write_config(workers=("w1", "w2"), more="tenancy: impersonate\n")
        code, out, err = self.check()
        self.assertEqual(code, 0)
        self.assert_says(out, "w1: consent of team-a, team-b\n")
        self.assert_says(err, "w2 (http://127.0.0.1:", "namespace team-a consents to uid u-b, found namespace team-a with "
                         "another uid in the management cluster", "namespace team-z consents to uid u-z, found no such namespace",
                         "no namespace consents (annotation wharf.dev/tenant): nothing is placed there")
        self.assertNotIn("create things example.com", worker.asked)
        for tenant in ("team-a", "team-b"):
            for verb in ("create", "patch", "delete"):
                self.assertIn(f"wharf:{tenant}: {verb} things example.com", worker.asked)
        self.assertIn("create things example.com in team-b", worker.where)

    def test_with_tenancy_it_tells_what_the_host_and_the_tenants_may_not(self):
        self.serve("mgmt", lists=self.namespaces(team_a="u-a", team_b="u-b"))
        self.serve("w1", lists=self.namespaces(team_a="u-a", team_b="u-b"), denied=[
            "impersonate users wharf:team-a", "wharf:team-b: delete things example.com"])
        self.write_config(more="tenancy: impersonate\n")
        code, _, err = self.check()
        self.assertEqual(code, 1)
        self.assert_says(err, "may not act as user wharf:team-a, expected the rights of wharf rbac --for worker: users",
                         "user wharf:team-b may not delete things.example.com in namespace team-b, expected to be allowed",
                         ": 2 problems")

    def test_only_what_the_configuration_needs_is_asked_for(self):
        management, worker = self.serve("mgmt"), self.serve("w1")
        self.write_config(more="origin: eu\n")
        self.assertEqual(self.check()[0], 0)
        self.assertNotIn("get namespaces kube-system", management.asked)
        self.assertNotIn("create namespaces", worker.asked)

    def test_what_is_not_allowed_is_told_each(self):
        self.serve("mgmt", denied=["patch things example.com status", "get namespaces kube-system"])
        self.serve("w1", denied=["delete things example.com"])
        self.write_config()
        code, _, err = self.check()
        self.assertEqual(code, 1)
        self.assert_says(err, "management (http://127.0.0.1:", "may not patch things.example.com/status",
                         'may not get namespaces "kube-system"', "w1 (http://127.0.0.1:",
                         "may not delete things.example.com", "no rule allows it", ": 3 problems")

    def test_verbs_of_one_resource_are_one_line_with_the_command_that_grants_them(self):
        management = self.serve("mgmt", denied=["list things example.com", "watch things example.com", "patch things example.com"])
        joined = self.serve("a", denied=["create things example.com", "delete things example.com"])
        self.serve("w1", denied=["get things example.com", "watch things example.com"])
        management.lists[SECRETS] = [worker_secret("wa", kubeconfig(joined.url))]
        self.write_config(more="workersFrom: {secrets: true}\n")
        code, _, err = self.check()
        self.assertEqual(code, 1)
        self.assert_says(err, "may not list, watch, patch things.example.com, expected the rights of wharf rbac --for management: no rule",
                         "may not get, watch things.example.com, expected the rights of wharf rbac --for worker: no rule",
                         "may not create, delete things.example.com, expected the rights of wharf join (again) or wharf rbac "
                         "--for worker: no rule", ": 3 problems")

    def test_rights_without_which_a_feature_has_no_effect_are_warnings(self):
        self.serve("mgmt")
        self.serve("w1", denied=["list pods"])
        self.write_config(more="lastWords: none\nplacement: {retryElsewhere: {max: 1}}\n")
        code, out, err = self.check()
        self.assertEqual(code, 0)
        self.assert_says(err, "warning: w1 (http://127.0.0.1:", "may not list pods: placement.retryElsewhere has no effect there")
        self.assert_says(out, "no problems, 1 warning: 1 worker,", "and all clusters respond\n")
        self.write_config(more="lastWords: none\n")
        self.assertNotIn("warning", "".join(self.check()[1:]))

    def test_dependencies_are_asked_for_and_what_is_not_served_is_a_warning(self):
        config = "dependencies: {copy: [configmaps, secrets], check: [priorityclasses.scheduling.k8s.io]}\n"
        served = {"/apis/example.com/v1": ["things", "things/status"], "/api/v1": ["configmaps", "secrets"],
                  "/apis/scheduling.k8s.io/v1": ["priorityclasses"]}
        management, worker = self.serve("mgmt", resources=served), self.serve("w1", resources=served)
        self.write_config(more=config)
        code, out, err = self.check()
        self.assertEqual((code, err), (0, ""))
        self.assert_says(out, 'copied into workers: configmaps, secrets (Secrets with the label wharf.dev/copy: "true"); '
                         "checked there: priorityclasses.scheduling.k8s.io\n")
        for server, resource, verbs in (
                (management, "secrets", "get list watch"), (worker, "secrets", "get list watch create patch delete"),
                (management, "priorityclasses scheduling.k8s.io", "get list watch"),
                (worker, "priorityclasses scheduling.k8s.io", "get list watch")):
            self.assertEqual([asked.split()[0] for asked in server.asked if asked.partition(" ")[2] == resource], verbs.split())
        del served["/apis/scheduling.k8s.io/v1"]
        worker.denied = ["patch secrets"]
        code, _, err = self.check()
        self.assertEqual(code, 1)
        self.assert_says(err, "w1 (http://127.0.0.1:", "may not patch secrets", "warning: management (",
                         "does not serve priorityclasses.scheduling.k8s.io/v1 of dependencies: workloads that refer to such "
                         "objects wait", "are not placed there", ": 1 problem")

    def test_by_name_only_the_right_to_create_can_be_asked_for(self):
        self.serve("mgmt")
        worker = self.serve("w1")
        self.write_config(more="dependencies: {copy: [configmaps], check: [persistentvolumeclaims], watch: names}\n")
        self.check()
        self.assertEqual([asked for asked in worker.asked if "configmaps" in asked or "claims" in asked], ["create configmaps"])

    def test_rights_on_what_workers_come_from_are_asked_for(self):
        sources = ("workersFrom: {secrets: true, clusterProfiles: {namespace: fleet, accessProviders: [{name: x, "
                   "execConfig: {apiVersion: client.authentication.k8s.io/v1, command: \"true\"}}]}}\ncredentialPlugins: {allow: [\"true\"]}\n")
        self.serve("mgmt", denied=["patch secrets", "list clusterprofiles multicluster.x-k8s.io",
                                   "watch configmaps wharf-workers"])
        self.serve("w1")
        self.write_config()
        code, _, err = self.check()
        self.assertEqual(code, 1)
        self.assert_says(err, 'may not watch configmaps "wharf-workers"', ": 1 problem")
        self.write_config(more=sources)
        self.assert_says(self.check()[2], 'may not watch configmaps "wharf-workers"', "may not patch secrets",
                         "may not list clusterprofiles.multicluster.x-k8s.io", ": 3 problems")

    def test_an_older_version_of_a_kind_is_enough(self):
        old = {"/apis/example.com/v1beta1": ["things", "things/status"]}
        self.serve("mgmt", resources=old)
        self.serve("w1", resources=old)
        self.write_config()
        self.assertEqual(self.check()[0], 0)

    def test_a_kind_that_is_not_served_is_told(self):
        self.serve("mgmt", resources={"/apis/example.com/v1": ["things"]})
        self.serve("w1", resources={"/apis/example.com/v1": ["others"]})
        self.write_config()
        code, _, err = self.check()
        self.assertEqual(code, 1)
        self.assert_says(err, "management (", "things.example.com/v1 without its status subresource",
                         "w1 (", "does not serve things.example.com", "v1, v1beta1", ": 2 problems")

    def test_a_kind_whose_api_lacks_managed_by_is_told(self):
        def openapi(*fields):
            return {"/openapi/v3/apis/example.com/v1": {"openapi": "3.0.0", "components": {"schemas": {
                "com.example.Thing": {"type": "object", "properties": {"spec": {"allOf": [
                    {"$ref": "#/components/schemas/com.example.ThingSpec"}]}},
                    "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Thing"}]},
                "com.example.ThingSpec": {"type": "object", "properties": {f: {"type": "string"} for f in fields}}}}}}
        self.serve("w1")
        self.serve("mgmt", openapi=openapi("size", "managedBy"))
        self.write_config()
        self.assertEqual(self.check()[0], 0)
        self.serve("mgmt", openapi=openapi("size"))
        code, _, err = self.check()
        self.assertEqual(code, 1)
        self.assert_says(err, "management (", "its API of things.example.com/v1 has no field /spec/managedBy", ": 1 problem")

    def test_an_api_of_a_version_whose_controller_runs_what_is_delegated_is_told(self):
        path = ("runtimePatches", "*", "trainingRuntimeSpec", "template", "spec", "replicatedJobs", "*", "template", "spec",
                "template", "spec")

        def openapi(field):
            schema = {"type": "object", "properties": {field: {"type": "integer"}}}
            for name in reversed(path):
                schema = ({"type": "array", "items": schema} if name == "*" else
                          {"type": "object", "properties": {name: schema}})
            schema["properties"]["managedBy"] = {"type": "string"}
            return {"/openapi/v3/apis/trainer.kubeflow.org/v1alpha1": {"components": {"schemas": {"TrainJob": {
                "properties": {"spec": schema}, "x-kubernetes-group-version-kind": [
                    {"group": "trainer.kubeflow.org", "version": "v1alpha1", "kind": "TrainJob"}]}}}}}
        served = {"/apis/trainer.kubeflow.org/v1alpha1": ["trainjobs", "trainjobs/status"]}
        self.serve("w1", resources=served)
        for field, found in (("hostname", True), ("terminationGracePeriodSeconds", False)):
            self.serve("mgmt", resources=served, openapi=openapi(field))
            self.write_config(adapters=())
            with open(self.config, "a", encoding="utf-8") as file:
                file.write("  - {name: trainjob, file: %s}\n" % os.path.join(cli_test.BUILD, "adapters", "trainjob.so"))
            code, _, err = self.check()
            self.assertEqual(code, 0, err)
            self.assertEqual("trainjobs.trainer.kubeflow.org/v1alpha1 is of a version whose controller runs delegated" in err,
                             found, err)

    def test_a_controller_that_runs_what_is_delegated_is_told(self):
        def thing(manager, subresource, managed_by="wharf.dev/host"):
            return {"metadata": {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "5", "managedFields": [
                {"manager": "wharf", "operation": "Update", "time": "2026-03-01T12:00:00Z"},
                {"manager": manager, "operation": "Update", "time": "2026-03-01T12:00:01Z", "subresource": subresource}]},
                "spec": {"managedBy": managed_by}}
        self.serve("w1")
        for item, found in ((thing("trainer", "status"), True), (thing("wharf", "status"), False), (thing("user", ""), False),
                            (thing("trainer", "status", "example.com/another"), False)):
            self.serve("mgmt", lists={SECRETS: [], "/apis/example.com/v1/things": [item]})
            self.write_config()
            code, _, err = self.check()
            self.assertEqual(code, 0, err)
            self.assertEqual("trainer wrote the status of things.example.com default/a although it is delegated" in err, found)

    def test_clusters_that_do_not_answer_as_they_should_are_told(self):
        self.serve("mgmt", version_status=401)
        self.serve("w1", garbage=True)
        self.serve("w2", reviews=False)
        closed = ApiServer()
        closed.stop()
        self.write("w3.kubeconfig", kubeconfig(closed.url))
        self.write_config(workers=("w1", "w2", "w3"))
        code, _, err = self.check()
        self.assertEqual(code, 1)
        lines = err.splitlines()
        self.assertEqual(len(lines), 5, err)
        self.assert_says(lines[0], "management (", "does not accept the credentials", "no entry for you")
        self.assert_says(lines[1], "w1 (", "text/html", "is this a Kubernetes API server?")
        self.assert_says(lines[2], "w2 (", "SelfSubjectAccessReview", "reviews are forbidden")
        self.assert_says(lines[3], "w3 (" + closed.url)

    def test_a_version_that_is_forbidden_is_still_an_answer(self):
        self.serve("mgmt", version_status=403)
        self.serve("w1")
        self.write_config()
        self.assertEqual(self.check()[0], 0)

    def test_workers_of_secrets_are_checked_like_those_of_the_configuration(self):
        management = self.serve("mgmt", uid="k0")
        a, b = self.serve("a", denied=["delete things example.com"]), self.serve("b", uid="k0")
        other = self.serve("other", uid="k9")
        closed = ApiServer()
        closed.stop()
        management.lists[SECRETS] = [
            worker_secret("wa", kubeconfig(a.url)), worker_secret("wb", kubeconfig(b.url)),
            worker_secret("wc", kubeconfig(closed.url)), worker_secret("wd", "kind: Nothing"),
            worker_secret("we", kubeconfig(a.url), annotations={"wharf.dev/worker-name": "No_Name"}),
            worker_secret("wf", kubeconfig(other.url), annotations={"wharf.dev/cluster-uid": "k8"})]
        self.write_config(workers=(), more="workersFrom: {secrets: true}\n")
        code, _, err = self.check()
        self.assertEqual(code, 1)
        self.assert_says(err, "wa (" + a.url + "): may not delete things.example.com",
                         "wb (" + b.url + "): found the same cluster as the management cluster",
                         "wc (" + closed.url, "Secret wharf-system/wd: key kubeconfig: ",
                         "Secret wharf-system/we: annotation wharf.dev/worker-name: found \"No_Name\"",
                         "wf (" + other.url + "): found uid k9 of namespace kube-system, expected k8 as in annotation "
                         "wharf.dev/cluster-uid of Secret wharf-system/wf", ": 6 problems")
        self.assertIn("labelSelector=wharf.dev/worker%3Dtrue", management.listed[0])

    def test_workers_of_all_sources_are_merged_as_by_the_host(self):
        management = self.serve("mgmt")
        clusters = {name: self.serve(name) for name in ("w1", "w2", "w3", "w4", "other")}
        os.mkdir(os.path.join(self.folder, "d"))
        for name in ("w1", "w2"):
            os.chmod(self.write("d/%s.kubeconfig" % name, kubeconfig(clusters[name].url)), 0o600)
        management.lists = {
            SECRETS: [worker_secret("w2", kubeconfig(clusters["other"].url)),
                      worker_secret("w3", kubeconfig(clusters["w3"].url))],
            PROFILES: [{"metadata": {"name": name, "namespace": "fleet"}, "status": {"accessProviders": [
                {"name": provider, "cluster": {"server": clusters["w4"].url}}]}}
                for name, provider in (("w4", "x"), ("foreign", "y"))]}
        plugin = self.write("plugin", "#!/bin/sh\necho '%s'\n" % json.dumps({
            "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "t"}}))
        os.chmod(plugin, 0o755)
        more = ("workersFrom: {directory: d, secrets: true, clusterProfiles: {namespace: fleet, accessProviders: "
                "[{name: x, execConfig: {apiVersion: client.authentication.k8s.io/v1, command: %s}}]}}\ncredentialPlugins: {allow: [%s]}\n"
                % (plugin, plugin))
        self.write_config(more=more)
        code, _, err = self.check()
        self.assertEqual(code, 1)
        self.assert_says(err, "/d/w1.kubeconfig: not used: worker w1 comes from ", "Secret wharf-system/w2: not used: "
                         "worker w2 comes from ", "/d/w2.kubeconfig already", ": 2 problems")
        self.assertEqual(clusters["other"].asked, [])
        self.assertEqual([len(clusters[name].asked) for name in ("w1", "w2", "w3", "w4")], [8, 8, 8, 8])
        management.lists[SECRETS].pop(0)
        os.unlink(os.path.join(self.folder, "d/w1.kubeconfig"))
        code, out, err = self.check()
        self.assertEqual((code, err), (0, ""))
        self.assertIn("no problems: 4 workers,", out)

    def test_secrets_that_cannot_be_listed_are_one_problem(self):
        self.serve("mgmt", lists={SECRETS: status(403, "secrets is forbidden: User \"me\" cannot list")},
                   denied=["get secrets", "list secrets"])
        self.write_config(workers=(), more="workersFrom: {secrets: true}\n")
        code, _, err = self.check()
        self.assertEqual(code, 1)
        self.assert_says(err, "cannot list Secrets in namespace wharf-system, so workers from Secrets are not checked: "
                         "secrets is forbidden", ": 1 problem\n")

    def test_no_workers_at_all_is_a_warning(self):
        self.serve("mgmt")
        self.write_config(workers=(), more="workersFrom: {secrets: true}\n")
        code, out, err = self.check()
        self.assertEqual(code, 0, err)
        self.assertIn("warning: 0 workers: no workload can run", err)
        self.assertIn("no problems: 0 workers", out)
        code, _, err = wharf("check", "--config", self.config)
        self.assertEqual(code, 0)
        self.assertIn("warning: 0 workers in files: those from Secrets are read with --online only", err)

    def test_what_is_written_is_asked_for_in_the_namespaces_of_the_roles(self):
        management, worker = self.serve("mgmt"), self.serve("w1", denied=["delete things example.com"])
        self.write_config()
        code, _, err = wharf("check", "--online", "--namespaced", "a,b", "--config", self.config)
        self.assertEqual(code, 1)
        self.assert_says(err, "may not delete things.example.com in namespace a, expected", "in namespace b",
                         ": 2 problems")
        self.assertEqual(management.where[:7], [
            "get things example.com in *", "list things example.com in *", "watch things example.com in *",
            "patch things example.com in a", "patch things example.com status in a",
            "patch things example.com in b", "patch things example.com status in b"])
        self.assertEqual(worker.where, [f"{verb} {what} in {where}" for what, verb, where in (
            *(("things example.com", verb, "*") for verb in ("get", "list", "watch")),
            *(("things example.com", verb, where) for where in "ab" for verb in ("create", "patch", "delete")),
            *(("pods", verb, where) for where in "ab" for verb in ("get", "list")))])
        for arguments, words in ((["--namespaced", "a"], "--namespaced: expected --online too"),
                                 (["--online", "--namespaced", "A"], "--namespaced: found \"A\", expected names")):
            code, _, err = wharf("check", *arguments, "--config", self.config)
            self.assertNotEqual(code, 0)
            self.assertIn(words, err)

    def write_mapped(self, rules, name="w1", more="", connection="kubeconfig: w1.kubeconfig"):
        self.write_config(workers=(), more=more)
        path = os.path.join(self.folder, "wharf.yaml")
        with open(path) as file:
            text = file.read()
        worker = "workers:\n- {name: %s, %s, namespaces: {map: {%s}}}\n" % (name, connection, rules)
        self.write("wharf.yaml", text.replace("adapters:", worker + "adapters:", 1))

    def test_the_management_cluster_may_be_a_worker_of_its_own(self):
        management = self.serve("mgmt", uid="k0", lists=self.namespaces(run_a="u-a"))
        self.write_mapped("\"*\": \"run-{namespace}\"", "own", connection="self: true")
        code, out, err = self.check()
        self.assertEqual((code, err), (0, ""))
        self.assertIn("all clusters respond", out)
        for verb in ("create", "delete"):   # of mirrors
            self.assertIn(verb + " things example.com", management.asked)
        management.denied = ["create things example.com"]
        code, _, err = self.check()
        self.assertEqual(code, 1)
        self.assert_says(err, "own (http://127.0.0.1:", "may not create things.example.com")

    def test_namespaces_without_a_name_are_warned_of(self):
        self.serve("mgmt", lists=self.namespaces(a="u-a"))
        self.serve("w1")
        self.write_mapped("b: a")
        code, _, err = self.check()
        self.assertEqual(code, 0)
        self.assert_says(err, "warning: w1 (http://127.0.0.1:", "no workload of this namespace is placed there: the worker's "
                         "namespaces.map gives namespace a the name a, which is that of namespace b")
        self.write_mapped("b: a", more="namespaces: {deny: [a]}\n")
        self.assertEqual(self.check()[2], "")

    def test_namespaces_are_listed_once_for_their_names_and_the_consent(self):
        management = self.serve("mgmt", lists=self.namespaces(a="", c="", d=""))
        self.serve("w1", lists=self.namespaces(other=""))
        self.write_mapped("b: a, d: c", more="tenancy: impersonate\n")
        code, _, err = self.check()
        self.assertEqual(code, 0, err)
        self.assert_says(err, "no workload of 2 namespaces is placed there, for example: ", "no namespace consents")
        page = "/api/v1/namespaces?limit=500"
        self.assertEqual(management.listed, [page, page + "&continue=1", page + "&continue=2"])

    def test_rights_are_asked_for_in_the_namespaces_of_the_worker(self):
        self.serve("mgmt", uid="k0")
        worker = self.serve("w1", denied=["delete things example.com"])
        self.write_mapped("\"*\": \"{origin}-{namespace}\"")
        code, _, err = wharf("check", "--online", "--namespaced", "a,b", "--config", self.config)
        self.assertEqual(code, 1)
        self.assert_says(err, "may not delete things.example.com in namespace k0-a, expected", "in namespace k0-b",
                         ": 2 problems")
        self.assertIn("create things example.com in k0-a", worker.where)

    def test_mirrors_of_another_host_in_a_mapped_namespace_are_warned_of(self):
        things = "/apis/example.com/v1/things"

        def mirror(space, origin):
            return {"metadata": {"name": "t", "namespace": space, "uid": "u", "resourceVersion": "1",
                                 "labels": {"wharf.dev/origin": origin}}}
        self.serve("mgmt")
        worker = self.serve("w1", lists={things: [mirror("team", "west")]})
        for rules, told in (("a: team", True), ("b: x", False), ("a: \"team\", team: z", True)):
            self.write_mapped(rules, more="origin: east\n")
            code, _, err = self.check()
            self.assertEqual(code, 0, err)
            words = "namespace team of this host's namespace a has mirrors of origin west too, such as Thing t"
            self.assertEqual(words in err, told, err)
        self.assertTrue(any("labelSelector=wharf.dev%2Forigin" in path for path in worker.listed), worker.listed)
        worker.lists[things] = [mirror("team", "east")]
        self.write_mapped("a: team", more="origin: east\n")
        self.assertEqual(self.check()[2], "")


if __name__ == "__main__":
    if not os.access(WHARF, os.X_OK):
        sys.exit("%s is not there; run make first" % WHARF)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
