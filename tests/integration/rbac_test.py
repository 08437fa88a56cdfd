#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wharf rbac: which rights it prints for which configuration, and that the manifests are its output.

    rbac_test.py BUILD_FOLDER [unittest arguments]
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
ADAPTERS = os.path.join(BUILD, "adapters")


def wharf(*arguments):
    done = subprocess.run([os.path.join(BUILD, "wharf"), *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def rbac(cluster, *arguments):
    if "--config" not in arguments and "--adapters-enabled" not in arguments:
        arguments = ("--adapters-enabled", "job", *arguments)
    code, out, err = wharf("rbac", "--for", cluster, "--adapters", ADAPTERS, "-o", "json", *arguments)
    assert code == 0, f"exit {code}: {err}"
    return json.loads(out)["items"]


def rights(items, account="wharf"):
    """{(where, verb, resource.group, name)} of a ServiceAccount, by way of its bindings."""
    roles = {(item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]): item["rules"]
             for item in items if item["kind"] in ("Role", "ClusterRole")}
    found = set()
    for item in items:
        if not item["kind"].endswith("Binding") or account not in [s["name"] for s in item["subjects"]]:
            continue
        space = item["metadata"].get("namespace")
        rules = roles[item["roleRef"]["kind"], space, item["roleRef"]["name"]]
        found |= {(f"in {space}" if space else "everywhere", verb, resource + ("." + group if group else ""), name)
                  for rule in rules for group in rule.get("apiGroups", []) for resource in rule["resources"]
                  for verb in rule["verbs"] for name in rule.get("resourceNames", [""])}
    return found


def expect(*lines):
    """From lines like "everywhere get,list jobs.batch" and "in wharf-system get secrets wharf-seal"."""
    found = set()
    for line in lines:
        words = line.removeprefix("in ").split()
        where = words[0] if words[0] == "everywhere" else "in " + words[0]
        found |= {(where, verb, words[2], words[3] if len(words) > 3 else "") for verb in words[1].split(",")}
    return found


MANAGEMENT = expect(
    "everywhere get,list,watch,patch jobs.batch", "everywhere patch jobs/status.batch",
    "everywhere list,watch workloads.kueue.x-k8s.io", "everywhere create,patch events.events.k8s.io",
    "everywhere get namespaces kube-system", "everywhere create tokenreviews.authentication.k8s.io",
    "everywhere create subjectaccessreviews.authorization.k8s.io", "everywhere list events",
    "in wharf-system list,watch,patch secrets", "in wharf-system get secrets wharf-seal",
    "in wharf-system create secrets", "in wharf-system get,list,watch,patch configmaps wharf-workers",
    "in wharf-system create configmaps", "everywhere get,list,create,patch,delete configmaps wharf-last-words",
    "in wharf-system list,create,patch,delete leases.coordination.k8s.io")
LOGS = expect("everywhere get,list pods", "everywhere get pods/log")
EXEC = expect("everywhere create,get pods/exec")
WORKER = LOGS | expect(
    "everywhere get,list,watch,create,patch,delete jobs.batch", "everywhere get namespaces kube-system",
    "everywhere list,watch,patch workloads.kueue.x-k8s.io", "everywhere patch jobs/status.batch",
    "everywhere list,watch namespaces", "everywhere list,watch resourcequotas",
    "everywhere list,watch events", "in wharf-system create serviceaccounts/token wharf")


class Rights(unittest.TestCase):
    maxDiff = None

    def config(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "wharf.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("apiVersion: wharf.dev/v1alpha1\nkind: HostConfiguration\n"
                       "workers: [{name: w1, kubeconfig: w1.kubeconfig}]\nadapters: {enabled: [{name: job}]}\n" + text)
        return path

    def test_jobs_in_the_management_cluster(self):
        self.assertEqual(rights(rbac("management")), MANAGEMENT)

    def test_a_management_cluster_that_is_a_worker_too_grants_both(self):
        own = self.config("")
        with open(own, encoding="utf-8") as file:
            text = file.read()
        both = {cluster: rights(rbac(cluster, "--config", own)) for cluster in ("management", "worker")}
        with open(own, "w", encoding="utf-8") as file:
            file.write(text.replace("{name: w1, kubeconfig: w1.kubeconfig}",
                                    '{name: own, self: true, namespaces: {map: {"*": "run-{namespace}"}}}'))
        self.assertEqual(rights(rbac("management", "--config", own)), both["management"] | both["worker"])
        self.assertEqual(rights(rbac("worker", "--config", own)), both["worker"])

    def test_last_words_take_rights_on_one_name_and_none_where_they_are_off(self):
        words = expect("everywhere get,list,create,patch,delete configmaps wharf-last-words")
        self.assertEqual(rights(rbac("management", "--config", self.config("lastWords: reasons\n"))) & words, words)
        self.assertEqual(rights(rbac("management", "--config", self.config("lastWords: none\n"))) & words, set())

    def test_without_config_it_is_found_where_other_commands_find_it(self):
        own = self.config("lastWords: none\n")
        elsewhere = tempfile.TemporaryDirectory()
        self.addCleanup(elsewhere.cleanup)
        asked = rbac("management", "--config", own)
        for cwd, more in ((os.path.dirname(own), {}), (elsewhere.name, {"WHARF_CONFIG": own})):
            done = subprocess.run([os.path.join(BUILD, "wharf"), "rbac", "--for", "management", "--adapters", ADAPTERS, "-o", "json"],
                                  cwd=cwd, env={**os.environ, **more}, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(json.loads(done.stdout)["items"], asked)

    def test_jobs_in_a_worker(self):
        self.assertEqual(rights(rbac("worker")), WORKER)

    def test_commands_may_be_run_in_pods_only_where_that_is_asked_for(self):
        self.assertEqual(rights(rbac("worker", "--exec")), WORKER | EXEC)
        silent = self.config("podEvents: none\n")
        self.assertEqual(rights(rbac("worker", "--exec", "--without-logs", "--config", silent)),
                         WORKER - LOGS - expect("everywhere list,watch events") | EXEC | expect("everywhere get,list pods"))

    def test_without_logs_pods_are_read_for_their_events_only(self):
        self.assertEqual(rights(rbac("worker", "--without-logs")), WORKER - LOGS | expect("everywhere get,list pods"))

    def test_without_logs_and_events_a_worker_grants_nothing_on_pods(self):
        silent = self.config("podEvents: none\n")
        self.assertEqual(rights(rbac("worker", "--without-logs", "--config", silent)),
                         WORKER - LOGS - expect("everywhere list,watch events"))

    def test_nothing_is_granted_on_what_workloads_refer_to_unless_it_is_configured(self):
        empty = self.config("dependencies: {copy: [], check: []}\n")
        self.assertEqual(rights(rbac("management", "--config", empty)), rights(rbac("management", "--config", self.config(""))))
        self.assertEqual(rights(rbac("worker", "--config", empty)), rights(rbac("worker", "--config", self.config(""))))

    def test_what_is_copied_may_be_written_in_workers_and_what_is_checked_only_be_read(self):
        path = self.config("dependencies: {copy: [configmaps, secrets], check: [priorityclasses.scheduling.k8s.io]}\n")
        plain = self.config("")
        read = expect("everywhere get,list,watch configmaps", "everywhere get,list,watch secrets",
                      "everywhere get,list,watch priorityclasses.scheduling.k8s.io")
        written = expect("everywhere create,patch,delete configmaps", "everywhere create,patch,delete secrets")
        for cluster, more in (("management", read), ("worker", read | written)):
            found = rights(rbac(cluster, "--config", path))
            self.assertEqual(found - rights(rbac(cluster, "--config", plain)), more)
        limited = rights(rbac("worker", "--config", path, "--namespaced", "a"))
        self.assertLessEqual(read | {("in a", *rest) for _, *rest in written}, limited)
        self.assertFalse(written & limited)

    def test_watches_by_name_need_rights_only_in_the_namespaces_with_workloads(self):
        path = self.config("dependencies: {copy: [secrets], check: [priorityclasses.scheduling.k8s.io], watch: names}\n")
        read = expect("in a get,list,watch secrets", "in b get,list,watch secrets",
                      "everywhere get,list,watch priorityclasses.scheduling.k8s.io")
        for cluster in ("management", "worker"):
            found = rights(rbac(cluster, "--config", path, "--namespaced", "a,b"))
            self.assertLessEqual(read, found)
            self.assertFalse([right for right in found if right[0] == "everywhere" and right[2] == "secrets"])
        self.assertLessEqual(expect("in a create,patch,delete secrets"), found)

    def test_copies_are_written_by_tenants_and_read_by_the_host(self):
        for watch in ("all", "names"):
            path = self.config("tenancy: impersonate\nnamespaces: {allow: [team-a]}\n"
                               f"dependencies: {{copy: [secrets], watch: {watch}}}\n")
            found = {right for right in rights(rbac("worker", "--config", path)) if right[2] == "secrets"}
            self.assertEqual(found, expect("everywhere get,list,watch secrets"))

    def test_objects_limit_the_rights_to_their_names_but_for_create(self):
        path = self.config("dependencies: {copy: [configmaps, secrets], check: [serviceaccounts], watch: names}\n")
        named = ("--objects", "secrets/a,secrets/42,serviceaccounts/runner", "--namespaced", "n", "--config", path)
        found = {right for right in rights(rbac("worker", *named)) if right[2] in ("configmaps", "secrets", "serviceaccounts")}
        self.assertEqual(found, expect(
            *(f"in n get,list,watch,patch,delete secrets {name}" for name in ("a", "42")), "in n create secrets",
            "in n get,list,watch serviceaccounts runner", "in n get,list,watch,create,patch,delete configmaps"))
        path = self.config("dependencies: {check: [clustertrustbundles.certificates.k8s.io], watch: names}\n")
        bundles = "clustertrustbundles.certificates.k8s.io"
        found = {right for right in rights(rbac("worker", "--objects", bundles + "/example.com:ca:main", "--config", path))
                 if right[2] == bundles}
        self.assertEqual(found, expect(f"everywhere get,list,watch {bundles} example.com:ca:main"))
        for role in ("management", "worker"):   # "a, b" is the same list
            spaced = [named[0], named[1].replace(",", ", "), *named[2:]]
            self.assertEqual(wharf("rbac", "--for", role, "--adapters", ADAPTERS, *spaced),
                             wharf("rbac", "--for", role, "--adapters", ADAPTERS, *named))
        for text, objects, told in (
                ("copy: [secrets]", "secrets/a", "--objects: found without dependencies.watch: names"),
                ("copy: [secrets], watch: names", "configmaps/a", "found configmaps/a, expected a resource of dependencies"),
                ("copy: [secrets], watch: names", "secrets", 'found "secrets", expected a resource and a name like'),
                ("copy: [secrets], watch: names", "secrets/A", 'found "secrets/A", expected a resource and a name like')):
            code, _, err = wharf("rbac", "--for", "worker", "--adapters", ADAPTERS, "--objects", objects,
                                 "--config", self.config(f"dependencies: {{{text}}}\n"))
            self.assertEqual(code, 2)
            self.assertIn(told, err)

    def test_capacity_grants_nodes_and_pods_to_be_listed_and_watched(self):
        seen = expect("everywhere list,watch nodes", "everywhere list,watch pods")
        asked = self.config("placement: {capacity: true}\n")
        self.assertLessEqual(seen, rights(rbac("worker", "--config", asked)))
        self.assertFalse(expect("everywhere list,watch nodes") & rights(rbac("worker", "--config", self.config(""))))

    def test_objects_that_controllers_make_are_listed_only_if_the_configuration_names_them(self):
        path = self.config("")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for named, right in (("v1/pods", "everywhere list pods"), ("batch/v1/jobs", "everywhere list jobs.batch")):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace("{name: job}", "{name: kubeflow, ownedObjects: %s}" % named))
            found = rights(rbac("management", "--config", path))
            self.assertLessEqual(expect(right), found)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace("{name: job}", "{name: kubeflow}"))
            self.assertEqual(found - rights(rbac("management", "--config", path)), expect(right))

    def test_what_is_between_mirrors_and_pods_is_read_where_it_is_no_mirror_itself(self):
        def between(*arguments):
            return {right for right in rights(rbac("worker", "--adapters-enabled", *arguments))
                    if right[1] in ("get", "list") and right[2] in ("jobs.batch", "taskruns.tekton.dev")}
        self.assertEqual(between("jobset"), expect("everywhere get,list jobs.batch"))
        self.assertEqual(between("jobset", "--without-logs"), expect("everywhere get,list jobs.batch"))   # children
        self.assertEqual(between("mpijob", "--without-logs"), expect("everywhere get jobs.batch"))
        self.assertEqual(between("kubeflow"), set())
        self.assertEqual(between("pipelinerun"), expect("everywhere get,list taskruns.tekton.dev"))
        items = rbac("worker", "--adapters-enabled", "job,jobset,trainjob")
        self.assertEqual(str(items).count("['jobs']"), 2)   # watched, written
        for enabled in ("jobset", "job,jobset"):   # progress of children
            self.assertLessEqual(expect("everywhere patch jobs/status.batch"), rights(rbac("worker", "--adapters-enabled", enabled)))

    def test_namespaced_limits_what_is_written_and_not_what_is_watched(self):
        def is_limited(right):
            written = right[1] in ("create", "patch", "delete")
            return written and ("jobs" in right[2] or "workloads" in right[2]) or right[2].startswith("pods") or \
                right[3] == "wharf-last-words" and right[1] != "list"
        for cluster, all_of in (("management", MANAGEMENT), ("worker", WORKER)):
            limited = {(f"in {space}", *right[1:]) for right in all_of if is_limited(right) for space in ("a", "b")}
            self.assertEqual(rights(rbac(cluster, "--namespaced", "a,b")),
                             {right for right in all_of if not is_limited(right)} | limited)

    def test_with_tenancy_the_tenants_write_and_the_host_acts_as_them_by_name(self):
        def tenants(*arguments, exec_=True):
            items = rbac("worker", *(["--exec"] if exec_ else []), *arguments)
            roles = {item["metadata"]["name"]: item["rules"] for item in items if item["kind"] == "ClusterRole"}
            bound = {(item["metadata"]["namespace"], subject["name"]) for item in items if item["kind"] == "RoleBinding"
                     for subject in item["subjects"] if item["roleRef"] == {
                         "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "wharf-tenant"}}
            may = {(verb, resource) for rule in roles["wharf-tenant"] for resource in rule["resources"] for verb in rule["verbs"]}
            return items, bound, may
        path = self.config("tenancy: impersonate\nnamespaces: {allow: [team-a, lab-*, team-b]}\n")
        items, bound, may = tenants("--config", path)
        host = rights(items)
        self.assertEqual(bound, {("team-a", "wharf:team-a"), ("team-b", "wharf:team-b")})
        self.assertEqual(may, {("create", "jobs"), ("patch", "jobs"), ("patch", "jobs/status"), ("delete", "jobs"), ("patch", "workloads"),
                               ("get", "pods/log"), ("create", "pods/exec"), ("get", "pods/exec")})
        self.assertLessEqual(expect("everywhere impersonate users wharf:team-a", "everywhere impersonate users wharf:team-b",
                                    "everywhere impersonate groups wharf:tenants", "everywhere get,list pods",
                                    "everywhere get,list,watch namespaces", "everywhere get,list,watch jobs.batch"), host)
        self.assertEqual({right for right in host if right[1] in ("create", "patch", "delete")},
                         expect("in wharf-system create serviceaccounts/token wharf"))
        self.assertEqual({right[3] for right in host if right[1] == "impersonate"},
                         {"wharf:team-a", "wharf:team-b", "wharf:tenants"})
        _, bound, _ = tenants("--config", path, "--namespaced", "team-c,team-d=eu-team-d")
        self.assertEqual(bound, {("team-c", "wharf:team-c"), ("eu-team-d", "wharf:team-d")})
        self.assertLessEqual(expect("everywhere get,list,watch namespaces"), rights(rbac("management", "--config", path)))
        code, _, err = wharf("rbac", "--for", "worker", "--adapters", ADAPTERS, "--config",
                             self.config("tenancy: impersonate\nnamespaces: {allow: [lab-*]}\n"))
        self.assertEqual(code, 2)
        self.assertIn("found no namespace by name in namespaces.allow, expected --namespaced A,B", err)

    def test_without_tenancy_nobody_is_impersonated(self):
        for arguments in ((), ("--namespaced", "a"), ("--config", self.config("tenancy: none\n"))):
            self.assertNotIn("impersonate", str(rbac("worker", *arguments)))
            self.assertNotIn("wharf-tenant", str(rbac("worker", *arguments)))

    def test_the_viewer_reads_kinds_and_logs_and_writes_nothing(self):
        items = rbac("management")
        self.assertEqual(rights([item for item in items if "rules" not in item or "nonResourceURLs" not in str(item)]
                                + [self.without_urls(items)], "wharf-viewer"),
                         expect("everywhere get,list jobs.batch", "everywhere get pods/log"))

    def without_urls(self, items):
        viewer = next(item for item in items if item["kind"] == "ClusterRole" and
                      item["metadata"]["name"] == "wharf-viewer")
        urls = [rule for rule in viewer["rules"] if "nonResourceURLs" in rule]
        self.assertEqual(urls, [{"nonResourceURLs": ["/wharf"], "verbs": ["get"]}])
        return {**viewer, "rules": [rule for rule in viewer["rules"] if rule not in urls]}

    def test_a_kind_without_status_subresource_gets_no_right_on_it(self):
        found = rights(rbac("management", "--config", os.path.join(ROOT, "etc", "all-adapters.yaml")))
        resources = {right[2] for right in found}
        self.assertIn("sparkapplications/status.sparkoperator.k8s.io", resources)
        self.assertIn("workflows.argoproj.io", resources)
        self.assertNotIn("workflows/status.argoproj.io", resources)

    def test_admission_checks_are_read_only_for_kinds_that_multikueue_may_have(self):
        right = ("everywhere", "list", "admissionchecks.kueue.x-k8s.io", "")
        self.assertNotIn(right, rights(rbac("management")))
        self.assertIn(right, rights(rbac("management", "--adapters-enabled", "job,rayjob")))

    def test_what_the_configuration_does_not_use_is_left_out(self):
        left = MANAGEMENT - rights(rbac("management", "--config", self.config(
            "kueue: carry\nseal: {file: seal.keys}\n")))
        self.assertEqual(left, expect(
            "in wharf-system get secrets wharf-seal",
            "in wharf-system create secrets", "in wharf-system list,watch,patch secrets",
            "everywhere create tokenreviews.authentication.k8s.io", "everywhere list events",
            "everywhere create subjectaccessreviews.authorization.k8s.io"))

    def test_the_key_of_seals_may_be_in_another_namespace(self):
        found = rights(rbac("management", "--config", self.config(
            "seal: {secret: {namespace: keys, name: mine}}\nserve: {address: 127.0.0.1:9440}\n")))
        self.assertEqual(found - MANAGEMENT, expect("in keys get secrets mine", "in keys create secrets"))

    def test_namespaces_are_created_only_if_the_configuration_says_so(self):
        found = rights(rbac("worker", "--config", self.config("createNamespaces: true\n")))
        self.assertEqual(found - WORKER, expect("everywhere create namespaces"))

    def test_cluster_profiles_are_read_only_as_a_source_of_workers(self):
        found = rights(rbac("management", "--config", self.config(
            "serve: {address: 127.0.0.1:9440}\nworkersFrom: {secrets: true, clusterProfiles: {namespace: fleet, accessProviders: "
            "[{name: x, execConfig: {apiVersion: client.authentication.k8s.io/v1, command: x}}]}}\n")))
        self.assertEqual(found - MANAGEMENT, expect(
            "everywhere get,list,watch clusterprofiles.multicluster.x-k8s.io"))

    def test_another_namespace_of_the_host(self):
        self.assertEqual(rbac("worker", "-n", "elsewhere"), rbac("worker", "--config", self.config(
            "namespace: elsewhere\n")))
        items = rbac("worker", "-n", "elsewhere")
        self.assertEqual({item["metadata"].get("namespace") for item in items}, {None, "elsewhere"})
        self.assertNotIn("wharf-system", json.dumps(items))

    def test_a_name_that_reads_as_another_type_stays_a_name(self):
        for name in ("no", "y", "42", "1e3", "0x1f", "2026-11-26"):
            for cluster in ("management", "worker", "guard"):
                items = rbac(cluster, "-n", name, "--account", name, "--user", name, "--namespaced", name)
                found = {part.get(member) for item in items for part in (item["metadata"], *item.get("subjects", ()), item.get("roleRef", {}))
                         for member in ("name", "namespace")} - {None}
                self.assertTrue(found and all(isinstance(each, str) for each in found), found)
                self.assertIn(name, found)
        found = rights(rbac("management", "--config", self.config("seal: {secret: {name: '42'}}\nserve: {address: 127.0.0.1:9440}\n")))
        self.assertLessEqual(expect("in wharf-system get secrets 42"), found)

    def test_roles_are_named_after_the_account(self):
        for cluster, expected in (("management", MANAGEMENT), ("worker", WORKER)):
            items = rbac(cluster, "--account", "b")
            self.assertEqual({(*right[:3], right[3].replace("b", "wharf", right[2] == "serviceaccounts/token"))
                              for right in rights(items, "b")}, expected)
            names = {item["metadata"]["name"] for item in items if item["metadata"].get("namespace") is None}
            self.assertLessEqual(names, {"b-management", "b-worker", "b-viewer"})

    def test_a_user_is_bound_beside_the_service_account_and_not_as_a_viewer(self):
        items = rbac("management", "--user", "host")
        self.assertEqual(rights(items, "host"), MANAGEMENT)


class CommandLine(unittest.TestCase):
    def fails(self, code, pattern, *arguments):
        found, _, err = wharf("rbac", *arguments)
        self.assertEqual(found, code, err)
        self.assertRegex(err, pattern)

    def test_wrong_arguments_are_named(self):
        self.fails(2, "flag is required: --for")
        self.fails(2, '--for: found "workers", expected management, worker, guard or guard-report', "--for", "workers")
        self.fails(2, '-o: found "xml", expected yaml or json', "--for", "worker", "-o", "xml")
        self.fails(2, '--namespace: found "A"', "--for", "worker", "-n", "A")
        self.fails(2, '--account: found "A"', "--for", "worker", "--account", "A")
        self.fails(2, "--user: found", "--for", "worker", "--user", "a]b")
        job = ("--for", "worker", "--adapters", ADAPTERS, "--adapters-enabled")
        self.fails(1, 'did you mean "job"', *job, "jobb")
        self.fails(2, "expected names like job,jobset", *job, "job,,x")
        self.fails(2, "expected names of namespaces", *job, "job", "--namespaced", "a,B")
        self.fails(2, "expected one of them", *job, "job", "--config", "wharf.yaml")

    def test_the_manifests_are_its_output(self):
        for cluster in ("management", "worker"):
            path = os.path.join(ROOT, "etc", "kubernetes", f"rbac-{cluster}.yaml")
            _, out, _ = wharf("rbac", "--config", os.path.join(ROOT, "etc", "all-adapters.yaml"), "--adapters", ADAPTERS,
                              "--user", "wharf", "--for", cluster)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), "# SPDX-License-Identifier: Apache-2.0\n" + out,
                                 f"{path} is not what wharf rbac prints: make rbac")
        path = os.path.join(ROOT, "etc", "overlays", "guard", "rbac.yaml")
        _, out, _ = wharf("rbac", "--config", os.path.join(ROOT, "etc", "all-adapters.yaml"), "--adapters", ADAPTERS,
                          "--for", "guard")
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "# SPDX-License-Identifier: Apache-2.0\n" + out, path)

    def test_a_guard_may_stop_mirrors_and_keep_leases_and_nothing_else(self):
        leases = "leases.coordination.k8s.io"
        self.assertEqual(rights(rbac("guard"), "wharf-guard"),
                         {("everywhere", verb, "jobs.batch", "") for verb in ("get", "list", "watch", "patch", "delete")} |
                         {("in wharf-system", verb, leases, "") for verb in ("get", "list", "create", "patch")})

    def test_a_guard_may_report_into_one_config_map(self):
        found = rbac("guard-report", "--origin", "here", "--worker", "w1")
        self.assertEqual(rights(found, "wharf-guard-w1"),
                         {("in wharf-system", verb, "configmaps", "wharf-guard.here.w1") for verb in ("create", "patch")})
        self.fails(2, "expected both with --for guard-report", "--for", "guard-report", "--origin", "here")
        self.fails(2, "and none without", "--for", "guard", "--origin", "here", "--worker", "w1")

    def test_a_host_may_read_reports_of_guards_only_with_the_setting(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "wharf.yaml")
            for settings, expected in (("enabled: true", False), ("enabled: true, reports: true", True), ("reports: true", False)):
                with open(path, "w", encoding="utf-8") as file:
                    file.write("apiVersion: wharf.dev/v1alpha1\nkind: HostConfiguration\nmanagement: {kubeconfig: k}\n"
                               "workers: [{name: w1, kubeconfig: w}]\nadapters: {enabled: [{name: job}]}\n"
                               f"fencing: {{{settings}}}\n")
                found = rights(rbac("management", "--config", path))
                self.assertEqual(("in wharf-system", "list", "configmaps", "") in found, expected, settings)

    def test_a_host_may_keep_leases_in_workers_only_with_fencing(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "wharf.yaml")
            for enabled in (False, True):
                with open(path, "w", encoding="utf-8") as file:
                    file.write("apiVersion: wharf.dev/v1alpha1\nkind: HostConfiguration\nmanagement: {kubeconfig: k}\n"
                               "workers: [{name: w1, kubeconfig: w}]\nadapters: {enabled: [{name: job}]}\n"
                               f"fencing: {{enabled: {str(enabled).lower()}}}\n")
                found = rights(rbac("worker", "--config", path))
                self.assertEqual(("in wharf-system", "patch", "leases.coordination.k8s.io", "") in found, enabled)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
