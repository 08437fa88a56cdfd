#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wharf join, wharf leave and wharf init: what they write to both clusters, and what they refuse.

    join_test.py BUILD_FOLDER [unittest arguments]
"""

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import played

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
SPACE = "/api/v1/namespaces/wharf-system"
SECRET = SPACE + "/secrets/w1"
LINES = """worker: namespace/wharf-system created
worker: serviceaccount/wharf created in namespace wharf-system
worker: clusterrole.rbac.authorization.k8s.io/wharf-worker created
worker: clusterrolebinding.rbac.authorization.k8s.io/wharf-worker created
worker: role.rbac.authorization.k8s.io/wharf created in namespace wharf-system
worker: rolebinding.rbac.authorization.k8s.io/wharf created in namespace wharf-system
worker: token for serviceaccount/wharf created, valid until 2030-01-02T03:04:05Z
worker: the host can connect and has all 21 rights that it needs
management: namespace/wharf-system created
management: secret/w1 created in namespace wharf-system
worker w1 joined
"""


class Case(unittest.TestCase):
    maxDiff = None
    named = ("--adapters-enabled", "job")

    def setUp(self):
        self.management, self.worker = played.Cluster("management"), played.Cluster("w1")
        self.host = played.Host()
        for server in (self.management, self.worker, self.host):
            self.addCleanup(server.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.kubeconfig = os.path.join(folder.name, "kubeconfig")
        self.write_kubeconfig({"mgmt": self.management, "w1": self.worker})
        self.environment = {"PATH": os.environ["PATH"], "KUBECONFIG": self.kubeconfig}

    def write_kubeconfig(self, clusters, **more):
        with open(self.kubeconfig, "w", encoding="utf-8") as file:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "mgmt",
                       "users": [{"name": "me", "user": {"token": "mine"}}],
                       "clusters": [{"name": name, "cluster": {"server": f"http://127.0.0.1:{cluster.port}", **more}}
                                    for name, cluster in clusters.items()],
                       "contexts": [{"name": name, "context": {"cluster": name, "user": "me"}} for name in clusters]}, file)

    def run_wharf(self, command, *arguments):
        return subprocess.run([os.path.join(BUILD, "wharf"), command, "--adapters", os.path.join(BUILD, "adapters"),
                               *arguments], stdin=subprocess.DEVNULL, env=self.environment,
                              capture_output=True, text=True, timeout=60, check=False)

    def wharf(self, command, *arguments, code=0):
        done = self.run_wharf(command, *self.named, *arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr

    def join(self, *arguments, code=0):
        return self.wharf("join", "--context", "w1", *arguments, code=code)

    def use_host(self, *states):
        self.host.states = list(states)
        self.environment["WHARF_SERVER"] = f"http://127.0.0.1:{self.host.port}"

    def secret(self):
        return self.management.objects[SECRET]

    def kubeconfig_of_secret(self):
        return base64.b64decode(self.secret()["data"]["kubeconfig"]).decode()

    def role_rules(self):
        return self.worker.objects["/apis/rbac.authorization.k8s.io/v1/clusterroles/wharf-worker"]["rules"]

    def rules(self):
        return {(group, resource, verb) for rule in self.role_rules() for group in rule["apiGroups"]
                for resource in rule["resources"] for verb in rule["verbs"]}

    def join_without_names(self, *arguments, code=0):
        self.named = ()
        return self.join(*arguments, code=code)


class Join(Case):
    def test_each_object_is_told_and_the_secret_has_a_kubeconfig(self):
        out = self.join("--labels", "region=eu,gpu=")
        self.assertTrue(out.startswith(LINES), out)
        self.assertIn("no host answers yet", out)
        meta = self.secret()["metadata"]
        self.assertEqual(meta["labels"], {"wharf.dev/worker": "true", "worker.wharf.dev/region": "eu",
                                          "worker.wharf.dev/gpu": ""})
        self.assertEqual(meta["annotations"], {"wharf.dev/cluster-uid": "uid-of-w1",
                                               "wharf.dev/token-service-account": "wharf-system/wharf"})
        text = self.kubeconfig_of_secret()
        self.assertIn(f"server: http://127.0.0.1:{self.worker.port}\n", text)
        self.assertRegex(text, "token: token-7\n")
        self.assertNotIn("mine", text)

    def test_repeated_it_changes_the_token_and_nothing_else(self):
        self.join("--labels", "region=eu", "--namespace-map", "a=b")
        out = self.join()
        self.assertEqual([line for line in out.splitlines() if "created" in line and "token" not in line], [])
        self.assertEqual([line for line in out.splitlines() if "configured" in line],
                         ["management: secret/w1 configured in namespace wharf-system"])
        self.assertEqual(self.secret()["metadata"]["labels"]["worker.wharf.dev/region"], "eu")
        self.assertEqual(self.secret()["metadata"]["annotations"]["wharf.dev/namespace-map"], "a=b")
        self.join("--labels", "zone=a")
        self.assertNotIn("worker.wharf.dev/region", self.secret()["metadata"]["labels"])

    def test_it_ends_a_drain_that_leave_began(self):
        self.join()
        self.secret()["metadata"]["annotations"]["wharf.dev/drain"] = "move"
        self.join()
        self.assertNotIn("wharf.dev/drain", self.secret()["metadata"]["annotations"])

    def test_without_a_configuration_the_running_host_is_asked_what_it_needs(self):
        self.use_host({"state": "Ready"})
        self.host.rights = ([
            {"scope": "cluster", "group": "jobset.x-k8s.io", "resources": ["jobsets"], "verbs": ["get", "list", "watch"],
             "name": None},
            {"scope": "work", "group": "jobset.x-k8s.io", "resources": ["jobsets"], "verbs": ["create"], "name": None},
            {"scope": "cluster", "group": "", "resources": ["nodes", "pods"], "verbs": ["list", "watch"], "name": None}],
            [{"group": "jobset.x-k8s.io", "resource": "jobsets", "versions": []}])
        told = self.join_without_names("--account", "other")
        self.assertEqual(self.host.asked, [{"account": "other", "logs": "true", "exec": "false"}])
        self.assertIn("worker: does not serve jobsets.jobset.x-k8s.io", told)
        role = self.worker.objects["/apis/rbac.authorization.k8s.io/v1/clusterroles/other-worker"]
        self.assertEqual([rule["resources"] for rule in role["rules"]], [["jobsets"], ["jobsets"], ["nodes", "pods"]])

    def test_a_host_that_asks_for_what_none_needs_gets_nothing(self):
        self.use_host({"state": "Ready"})
        for group, resource in (("", "serviceaccounts/token"), ("*", "*"), ("batch", "jobs]\n- x"),
                                ("rbac.authorization.k8s.io", "clusterroles")):
            self.host.rights = ([{"scope": "cluster", "group": group, "resources": [resource], "verbs": ["get"],
                                  "name": None}], [])
            self.join_without_names()
            self.assertNotIn((group, resource, "get"), self.rules())
            self.assertIn(("batch", "jobs", "create"), self.rules())   # as where no host answers

    def test_where_no_host_answers_it_says_so_and_names_config(self):
        self.environment["WHARF_SERVER"] = "http://127.0.0.1:1"
        done = self.run_wharf("join", "--context", "w1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("adapters: job, as no configuration is given and no host answers (", done.stderr)
        self.assertIn("--config or --adapters-enabled names others", done.stderr)

    def test_rights_that_the_host_had_are_not_taken_away_in_silence(self):
        self.join()
        path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/wharf-worker"
        self.worker.objects[path]["rules"] += [
            {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list", "watch"]},
            {"apiGroups": ["jobset.x-k8s.io"], "resources": ["jobsets"], "verbs": ["create"]}]
        before = json.dumps(self.worker.objects)
        self.assertEqual(self.join(code=1),
                         "error: worker: ClusterRole wharf-worker would lose list, watch of nodes; watch of pods; create of "
                         "jobsets.jobset.x-k8s.io: give the host's configuration with --config, or --reduce-rights if the "
                         "host no longer needs them\n")
        self.assertEqual(json.dumps(self.worker.objects), before)
        told = self.join("--reduce-rights")
        self.assertIn("worker: ClusterRole wharf-worker loses list, watch of nodes; watch of pods; create of jobsets", told)
        self.assertNotIn(("", "nodes", "list"), self.rules())
        self.join("--without-logs", "--namespaced", "a")   # asks for less itself
        self.assertNotIn(("", "pods/log", "get"), self.rules())

    def test_commands_may_be_run_in_pods_only_with_exec_and_not_less_in_silence(self):
        exec_right = ("", "pods/exec", "create")
        self.join()
        self.assertNotIn(exec_right, self.rules())
        self.join("--exec")
        self.assertIn(exec_right, self.rules())
        self.assertEqual(self.join(code=1),
                         "error: worker: ClusterRole wharf-worker would lose create, get of pods/exec: give the host's "
                         "configuration with --config, or --exec for wharf exec, or --reduce-rights if the host no longer "
                         "needs them\n")
        self.join("--reduce-rights")
        self.assertNotIn(exec_right, self.rules())

    def test_dry_run_prints_both_sides_without_a_token_and_writes_nothing(self):
        out = self.join("--dry-run", "--labels", "region=eu")
        self.assertEqual(self.worker.writes + self.management.writes, [])
        for part in ("kind: ClusterRoleBinding", "stringData:", "token: TOKEN", "worker.wharf.dev/region: eu"):
            self.assertIn(part, out)

    def test_the_manifest_of_a_worker_is_what_join_makes(self):
        with open(os.path.join(ROOT, "etc", "kubernetes", "token-worker.yaml"), encoding="utf-8") as file:
            lines = [line for line in file.read().splitlines() if not line.startswith("#") and ": CA" not in line]
        manifest = "\n".join(lines).replace("UID", "uid-of-w1").replace("SERVER", "https://w1.example.com:6443")
        out = self.join("--dry-run", "--server", "https://w1.example.com:6443")
        self.assertEqual(out.split("---\n")[-1].strip(), manifest)

    def test_a_missing_right_is_named_and_no_secret_is_made(self):
        self.worker.denied.add(("delete", "jobs"))
        err = self.join(code=1)
        self.assertIn("worker: the host may not delete jobs.batch\n", err)
        self.assertNotIn(SECRET, self.management.objects)

    def test_namespaced_rights_are_checked_in_each_namespace(self):
        self.join("--namespaced", "a,b")
        creates = {asked.get("namespace") for asked in self.worker.reviews
                   if (asked["verb"], asked["resource"]) == ("create", "jobs")}
        self.assertEqual(creates, {"a", "b"})

    def test_the_server_and_what_else_the_host_needs_to_connect_are_kept(self):
        self.write_kubeconfig({"mgmt": self.management, "w1": self.worker}, **{
            "insecure-skip-tls-verify": True, "tls-server-name": "w1.example.com"})
        self.join("--server", "https://10.0.0.1:6443")
        text = self.kubeconfig_of_secret()
        for part in ("server: https://10.0.0.1:6443\n", "insecure-skip-tls-verify: true", "tls-server-name: w1.example"):
            self.assertIn(part, text)

    def test_a_loopback_address_is_warned_of_when_the_host_runs_in_the_cluster(self):
        path = "/apis/apps/v1/namespaces/wharf-system/deployments/wharf"
        self.management.objects[path] = {"metadata": {"name": "wharf"}}
        for arguments, warned in (((), True), (("--server", "https://localhost:1"), True),
                                  (("--server", "https://[::1]:1"), True), (("--server", "https://10.0.0.1"), False)):
            done = subprocess.run([os.path.join(BUILD, "wharf"), "join", "--context", "w1", "--adapters",
                                   os.path.join(BUILD, "adapters"), "--dry-run", *arguments], env=self.environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True)
            self.assertEqual("warning: the host runs in the management cluster" in done.stderr, warned, arguments)

    def test_the_name_is_made_from_the_context(self):
        self.write_kubeconfig({"mgmt": self.management, "arn:aws:eks:eu-1:12:cluster/W_one": self.worker})
        out = self.wharf("join", "--context", "arn:aws:eks:eu-1:12:cluster/W_one")
        self.assertIn("worker arn-aws-eks-eu-1-12-cluster-w-one joined", out)


class Refused(Case):
    def test_the_management_cluster_itself(self):
        self.worker.objects["/api/v1/namespaces/kube-system"]["metadata"]["uid"] = "uid-of-management"
        self.assertIn("found the management cluster itself", self.join(code=1))
        self.assertEqual(self.worker.writes, [])

    def test_a_cluster_that_has_another_name_already(self):
        self.join()
        self.assertIn("already worker w1", self.join("--name", "w9", code=1))

    def test_a_name_that_another_cluster_has(self):
        self.join()
        self.worker.objects["/api/v1/namespaces/kube-system"]["metadata"]["uid"] = "uid-of-another"
        self.assertIn("worker w1 is another cluster", self.join(code=1))

    def test_an_account_that_the_host_of_another_management_cluster_uses(self):
        self.join()
        other = played.Cluster("other")
        self.addCleanup(other.close)
        self.write_kubeconfig({"mgmt": other, "w1": self.worker})
        self.worker.writes.clear()
        self.assertIn("ServiceAccount wharf-system/wharf in the worker is that of the host of another management cluster (uid "
                      "uid-of-management of", self.join(code=1))
        self.assertEqual(self.worker.writes, [])
        self.join("--account", "wharf-other")
        self.assertEqual(other.objects[SECRET]["metadata"]["annotations"]["wharf.dev/token-service-account"],
                         "wharf-system/wharf-other")

    def test_a_secret_that_is_no_workers(self):
        self.management.objects[SECRET] = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "w1"}}
        self.assertIn("is not that of a worker", self.join(code=1))
        self.assertEqual(self.worker.writes, [])

    def test_wrong_arguments(self):
        for arguments, pattern in (
                (("--labels", "region"), "expected labels like region=eu"),
                (("--labels", "a b=c"), "expected labels like"),
                (("--namespace-map", "a=B"), '--namespace-map: found "B", expected'),
                (("--name", "W1"), "--name: found"),
                (("--server", "10.0.0.1"), "--server: found"),
                (("--token-duration", "5m"), "--token-duration: found \"5m\", expected"),
                (("--timeout", "soon"), "--timeout: found"),
                (("--namespaced", "a,,b"), "--namespaced: found"),
                (("-n", "A"), "--namespace: found"),
                (("--account", "A"), "--account: found")):
            self.assertRegex(self.join(*arguments, code=2), pattern)
        self.assertRegex(self.join("--management-context", "nope", code=1), 'management: .*found no context "nope"')
        self.assertEqual(self.worker.writes + self.management.writes, [])


JOBS = "/apis/batch/v1/namespaces/default/jobs/"


class Leave(Case):
    def setUp(self):
        super().setUp()
        self.join()
        self.worker.writes.clear()
        self.management.writes.clear()

    def leave(self, *arguments, code=0):
        return self.wharf("leave", "w1", "--context", "w1", *arguments, code=code)

    def mirror(self, name, origin="uid-of-management"):
        self.worker.objects[JOBS + name] = {"metadata": {"name": name, "labels": {"wharf.dev/origin": origin}}}

    def rights(self):
        return [path for path in self.worker.objects if "rbac" in path or "serviceaccounts" in path]

    def test_the_secret_and_the_rights_go(self):
        self.assertEqual(self.leave().splitlines()[-1], "worker w1 left")
        self.assertNotIn(SECRET, self.management.objects)
        self.assertEqual(self.rights(), [])

    def test_rights_in_single_namespaces_go_too(self):
        self.join("--namespaced", "a,b")
        self.assertTrue([path for path in self.rights() if "/namespaces/b/" in path])
        self.leave()
        self.assertEqual(self.rights(), [])

    def test_it_drains_and_waits_until_no_mirror_is_left(self):
        self.mirror("one")
        self.mirror("two")
        self.worker.ending = [JOBS + "one", JOBS + "two"]
        out = self.leave("--policy", "move")
        self.assertIn("annotated: wharf.dev/drain=move\nworker: waiting for 2 jobs.batch\nworker: waiting for 1 jobs.batch\n"
                      "management: secret/w1 deleted", out)
        self.assertEqual([write[0] for write in self.management.writes if write[1] == SECRET], ["PATCH", "DELETE"])

    def test_a_timeout_leaves_the_worker_draining_and_it_can_be_repeated(self):
        self.mirror("one")
        err = self.leave("--timeout", "300ms", code=1)
        self.assertIn("worker w1 still has 1 jobs.batch: run the command again", err)
        self.assertEqual(self.secret()["metadata"]["annotations"]["wharf.dev/drain"], "finish")
        self.assertTrue(self.rights())
        self.worker.objects.pop(JOBS + "one")
        self.leave()
        self.assertEqual(self.leave().splitlines()[0],
                         "management: worker w1 has no Secret in namespace wharf-system any more")

    def test_ctrl_c_ends_only_the_waiting(self):
        self.mirror("one")
        # A run in the background of a shell ignores SIGINT, and what it starts does so too.
        with subprocess.Popen([os.path.join(BUILD, "wharf"), "leave", "w1", "--context", "w1", "--adapters-enabled", "job",
                               "--adapters", os.path.join(BUILD, "adapters")], stdin=subprocess.DEVNULL,
                              env=self.environment, stdout=subprocess.PIPE, text=True,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:
            try:
                while "waiting for 1 jobs.batch" not in process.stdout.readline():
                    self.assertIsNone(process.poll())
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.wait(60), -signal.SIGINT)
            finally:
                process.kill()
        self.assertEqual(self.secret()["metadata"]["annotations"]["wharf.dev/drain"], "finish")
        self.assertTrue(self.rights())
        self.worker.objects.pop(JOBS + "one")
        self.assertEqual(self.leave().splitlines()[-1], "worker w1 left")

    def test_abandon_waits_for_nothing(self):
        self.mirror("one")
        self.leave("--policy", "abandon")
        self.assertEqual(self.rights(), [])

    def test_abandon_tells_what_it_leaves_behind(self):
        self.mirror("one")
        self.mirror("two")
        self.assertIn("worker w1: 2 workloads are placed there (2 jobs.batch): their mirrors stay in the worker and may "
                      "run on\nmanagement: secret/w1 deleted", self.leave("--policy", "abandon"))
        self.worker.objects.pop(JOBS + "one")
        self.join()
        self.assertIn("worker w1: 1 workload is placed there (1 jobs.batch): its mirror stays",
                      self.leave("--policy", "abandon"))
        self.worker.objects.pop(JOBS + "two")
        self.join()
        self.assertIn("worker w1: no workload is placed there\n", self.leave("--policy", "abandon"))

    def test_abandon_without_credentials_there_tells_what_the_host_knows(self):
        self.use_host({"state": "Unreachable", "drain": None, "mirrors": 3}, {"state": "Unreachable", "mirrors": 3}, None)
        self.assertIn("worker w1: 3 workloads are placed there: their mirrors stay",
                      self.wharf("leave", "w1", "--keep-rbac", "--policy", "abandon"))
        del self.environment["WHARF_SERVER"]
        self.join()
        self.assertIn("worker w1: the number of workloads there is unknown: their mirrors stay and may run on",
                      self.wharf("leave", "w1", "--keep-rbac", "--policy", "abandon"))

    def test_a_worker_that_does_not_exist(self):
        for arguments in ((), ("--keep-rbac",), ("--context", "w1")):
            self.assertIn("worker w9 does not exist: the workers with a Secret in namespace wharf-system are: w1",
                          self.wharf("leave", "w9", *arguments, code=1))
        self.assertEqual(self.worker.writes + self.management.writes, [])

    def test_rights_stay_that_another_host_uses(self):
        annotations = self.worker.objects[SPACE + "/serviceaccounts/wharf"]["metadata"]["annotations"]
        self.assertEqual(annotations, {"wharf.dev/management-uid": "uid-of-management"})
        annotations["wharf.dev/management-uid"] = "uid-of-another"
        self.assertIn("worker: serviceaccount/wharf and its rights stay: another host uses them", self.leave())
        self.assertTrue(self.rights())
        self.assertNotIn(SECRET, self.management.objects)

    def test_rights_of_unknown_hosts_stay_while_there_are_mirrors_of_others(self):
        self.worker.objects[SPACE + "/serviceaccounts/wharf"]["metadata"]["annotations"].clear()
        self.mirror("theirs", origin="other")
        self.assertIn("another host uses them", self.leave())
        self.assertTrue(self.rights())
        self.worker.objects.pop(JOBS + "theirs")
        self.leave()
        self.assertEqual(self.rights(), [])

    def test_the_account_is_that_of_the_secret(self):
        self.leave()
        self.join("--account", "wharf-b")
        self.assertTrue([path for path in self.rights() if path.endswith("/clusterrolebindings/wharf-b-worker")])
        self.mirror("theirs", origin="other")
        self.leave()
        self.assertEqual(self.rights(), [])

    def test_keep_rbac_needs_no_credentials_in_the_worker_but_those_of_the_secret(self):
        self.mirror("one")
        self.worker.ending = [JOBS + "one"]
        out = self.wharf("leave", "w1", "--keep-rbac")
        self.assertIn("waiting for 1 jobs.batch", out)
        self.assertTrue(self.rights())

    def test_another_cluster_is_refused(self):
        other = played.Cluster("w2")
        self.addCleanup(other.close)
        self.write_kubeconfig({"mgmt": self.management, "w1": other})
        self.assertIn("--context: found a cluster with uid uid-of-w2", self.leave(code=1))
        self.write_kubeconfig({"mgmt": self.management, "w1": self.worker})
        self.assertIn("found the cluster of worker w1, expected that of w7",
                      self.wharf("leave", "w7", "--context", "w1", code=1))
        self.assertTrue(self.rights())

    def test_a_running_host_must_have_given_it_up_first(self):
        self.use_host({"state": "Ready", "drain": None, "mirrors": 0}, {"state": "Ready", "drain": None, "mirrors": 0},
                      {"state": "Draining", "drain": "finish", "mirrors": 1},
                      {"state": "Draining", "drain": "finish", "mirrors": 0}, None)
        self.leave()
        self.assertEqual(len(self.host.states), 1)

    def test_a_host_that_does_not_drain_it_is_not_waited_for(self):
        self.use_host({"state": "Ready", "drain": None, "mirrors": 0, "from": "wharf.yaml"})
        self.assertIn("the host has not begun to drain worker w1 (wharf.yaml)", self.leave(code=1))
        self.assertIn(SECRET, self.management.objects)

    def test_what_was_set_of_it_with_cordon_goes(self):
        path = SPACE + "/configmaps/wharf-workers"
        self.management.objects[path] = {"metadata": {"name": "wharf-workers"}, "data": {"w1": "{}", "w2": "{}"}}
        self.leave()
        self.assertEqual(self.management.objects[path]["data"], {"w2": "{}"})

    def test_wrong_arguments(self):
        self.assertIn("expected --context", self.wharf("leave", "w1", code=2))
        self.assertIn("expected --context", self.wharf("leave", "w1", "--context", "w1", "--keep-rbac", code=2))
        self.assertIn("expected WORKER, the name of a worker", self.wharf("leave", "--context", "w1", code=2))
        self.assertIn('--policy: found "stop"', self.leave("--policy", "stop", code=2))
        self.assertIn("--timeout: found", self.leave("--timeout", "x", code=2))


class WithHost(Case):
    def test_it_waits_until_the_host_shows_the_worker_ready(self):
        self.use_host(None, {"state": "Connecting"}, {"state": "Ready"})
        self.assertTrue(self.join().endswith("host: worker w1 is Ready\n"))

    def test_a_host_of_the_configuration_has_a_moment_to_start(self):
        self.host.close()
        file = os.path.join(os.path.dirname(self.kubeconfig), "wharf.yaml")
        with open(file, "w", encoding="utf-8") as config:
            json.dump({"apiVersion": "wharf.dev/v1alpha1", "kind": "HostConfiguration",
                       "management": {"kubeconfig": self.kubeconfig},
                       "adapters": {"enabled": [{"name": "job"}]}, "workersFrom": {"secrets": True},
                       "serve": {"address": f"127.0.0.1:{self.host.port}"}}, config)

        def start():
            host = played.Host(self.host.port)
            host.states = [{"state": "Ready"}]
            self.addCleanup(host.close)
        timer = threading.Timer(1, start)
        timer.start()
        self.addCleanup(timer.join)
        done = self.run_wharf("join", "--context", "w1", "--config", file)
        self.assertTrue(done.stdout.endswith("host: worker w1 is Ready\n"), done.stdout + done.stderr)

    def test_a_host_that_does_not_list_it_is_told_what_it_needs(self):
        self.use_host(None)
        self.assertIn("workersFrom: {secrets: true}", self.join("--timeout", "300ms", code=1))

    def test_the_hosts_reason_is_told(self):
        self.use_host({"state": "Refused", "reason": "it is the cluster of w2"})
        self.assertIn("the host shows worker w1 as Refused: it is the cluster of w2",
                      self.join("--timeout", "300ms", code=1))


class Init(Case):
    def setUp(self):
        super().setUp()
        self.folder = os.path.dirname(self.kubeconfig)
        self.path = os.path.join(self.folder, "wharf.yaml")

    def init(self, *arguments, code=0, adapters=os.path.join(BUILD, "adapters")):
        directory = ["--adapters", adapters] if adapters else []
        done = subprocess.run([os.path.join(BUILD, "wharf"), "init", *directory, *arguments], stdin=subprocess.DEVNULL, env=self.environment,
                              cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr

    def text(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def test_the_configuration_is_valid_and_enables_what_the_cluster_serves(self):
        out = self.init()
        self.assertEqual(out, "wharf.yaml created\nNext:\n  wharf run --config wharf.yaml\n"
                              "  wharf join --context w1 --config wharf.yaml\n")
        enabled = [line.split()[2] for line in self.text().splitlines() if line.startswith("  - name: ")]
        self.assertEqual(enabled, ["job"])
        self.assertRegex(self.text(), r"# - name: rayjob +# RayJob, RayCluster, RayService \(ray.io\): not served there")
        self.assertIn('context: "mgmt"', self.text())
        done = subprocess.run([os.path.join(BUILD, "wharf"), "check", "--config", self.path], capture_output=True,
                              stdin=subprocess.DEVNULL, text=True, timeout=60, check=False)
        self.assertIn("no problems", done.stdout, done.stderr)
        self.assertEqual(self.management.writes, [])

    def test_what_it_writes_as_a_comment_is_valid_too(self):
        self.init()
        text = self.text()
        start = text.index("# dependencies:\n")
        section = text[start:text.index("\n\n", start)]
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text.replace(section, section.replace("# ", "", 1).replace("\n# ", "\n")))
        done = subprocess.run([os.path.join(BUILD, "wharf"), "check", "--config", self.path], capture_output=True,
                              stdin=subprocess.DEVNULL, text=True, timeout=60, check=False)
        self.assertIn("copied into workers: configmaps, serviceaccounts, secrets", done.stdout, done.stderr)

    def test_what_is_there_is_not_overwritten(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("mine\n")
        self.assertIn("wharf.yaml exists and is not overwritten", self.init(code=1))
        self.assertEqual(self.text(), "mine\n")

    def test_standard_output(self):
        self.assertTrue(self.init("-o", "-").startswith("# Configuration of the wharf host"))
        self.assertFalse(os.path.exists(self.path))

    def test_the_other_context_is_the_management_cluster_if_it_is_named(self):
        out = self.init("--management-context", "w1", "-o", "other.yaml")
        self.assertIn("wharf join --context mgmt --management-context w1 --config other.yaml\n", out)

    def test_odd_names_are_quoted(self):
        self.write_kubeconfig({"mgmt": self.management, "it's w1 \"#": self.worker})
        self.assertIn("wharf join --context 'it'\\''s w1 \"#' --config", self.init())

    def test_the_command_that_gives_credentials_is_allowed(self):
        plugin = os.path.join(self.folder, "credentials")
        with open(plugin, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
                       "\"status\":{\"token\":\"t\"}}'\n")
        os.chmod(plugin, 0o755)
        with open(self.kubeconfig, encoding="utf-8") as file:
            config = json.load(file)
        config["users"][0]["user"] = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": plugin,
                                               "interactiveMode": "Never"}}
        with open(self.kubeconfig, "w", encoding="utf-8") as file:
            json.dump(config, file)
        self.init()
        self.assertIn(f'credentialPlugins:\n  allow: ["{plugin}"]\n', self.text())

    def test_without_a_kubeconfig(self):
        os.remove(self.kubeconfig)
        self.assertIn("found no kubeconfig at " + self.kubeconfig, self.init(code=1))

    def test_a_program_that_was_only_built_finds_the_adapters_beside_it(self):
        self.init(adapters=None)
        self.assertNotIn("directory:", self.text())
        done = subprocess.run([os.path.join(BUILD, "wharf"), "check", "--config", self.path], capture_output=True,
                              stdin=subprocess.DEVNULL, text=True, timeout=60, check=False)
        self.assertIn("no problems", done.stdout, done.stderr)

    def test_a_folder_beside_an_installed_program_is_not_taken_for_the_adapters(self):
        installed = os.path.join(self.folder, "bin")
        os.makedirs(os.path.join(installed, "adapters"))
        shutil.copy(os.path.join(BUILD, "wharf"), installed)
        done = subprocess.run([os.path.join(installed, "wharf"), "init"], stdin=subprocess.DEVNULL, env=self.environment, cwd=self.folder,
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertNotIn(installed, done.stdout + done.stderr)

    def test_an_adapter_without_kinds_is_left_to_the_user(self):
        adapters = os.path.join(self.folder, "adapters")
        os.makedirs(adapters, mode=0o755)
        for path in ("adapters/job.so", "examples/data-locality.so"):
            shutil.copy(os.path.join(BUILD, path), adapters)
        self.init(adapters=adapters)
        self.assertRegex(self.text(), r"# - name: data-locality +# rates workers for all kinds\n")

    def test_no_adapters(self):
        self.assertIn("found no adapters in " + self.folder, self.init(code=1, adapters=self.folder))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
