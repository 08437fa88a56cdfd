#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which cluster the commands of operators read and write: two API servers and a host are played by this process.

    operate_test.py BUILD_FOLDER [unittest arguments]
"""
import base64
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from quiet_server import QuietServer

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
WHARF = os.path.join(BUILD, "wharf")
NOT_FOUND = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404,
             "message": "not found", "details": {"name": "x", "kind": "things"}}


class Server:
    """Answers what `answers` has, (method, path) to a document or a function of the body, and records all requests. A tuple is a status code and
    a document."""

    def __init__(self, answers, port=0):
        self.answers, self.asked, self.paths = answers, [], []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def handle_one(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                key = (self.command, self.path.split("?")[0])
                outer.asked.append(key)
                outer.paths.append(self.path)
                answer = outer.answers.get(key, NOT_FOUND)
                answer = answer(json.loads(body or b"{}")) if callable(answer) else answer
                code, answer = answer if isinstance(answer, tuple) else (
                    404 if answer is NOT_FOUND else 200 if self.command != "POST" else 201, answer)
                text = json.dumps(answer).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = handle_one

        self.server = QuietServer(("127.0.0.1", port), Handler)
        self.address = "127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def writes(self):
        return [key for key in self.asked if key[0] != "GET"]


def jwt(**claims):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
    return ".".join((part({"alg": "RS256"}), part(claims), "c2lnbmF0dXJl"))


def api_server(uid, namespace="wharf-system", written=lambda data: None):
    """`written` gets the data of the ConfigMap."""
    def create(body):
        written(body["data"])
        return {**body, "metadata": {**body["metadata"], "uid": "u", "resourceVersion": "2"}}
    return Server({
        ("GET", "/api/v1/namespaces/kube-system"): {"kind": "Namespace", "apiVersion": "v1", "metadata": {
            "name": "kube-system", "uid": uid, "resourceVersion": "1"}},
        ("POST", "/api/v1/namespaces/%s/configmaps" % namespace): create})


CREATED = ("POST", "/api/v1/namespaces/wharf-system/configmaps")


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="operate_test.", dir=BUILD)
        self.worker = {"name": "w1", "state": "Ready", "active": 0, "cordoned": False, "drain": None}
        self.heeds = True   # the host does what the ConfigMap says
        self.management, self.other = api_server("management-uid", written=self.heed), api_server("other-uid")
        self.host = Server({
            ("GET", "/api/v1/status"): {"managementUid": "management-uid"},
            ("GET", "/api/v1/workers"): lambda _: {"items": [self.worker]}})
        self.kubeconfig = self.write("kubeconfig", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "other",
            "clusters": [{"name": name, "cluster": {"server": "http://" + server.address}}
                         for name, server in (("mgmt", self.management), ("other", self.other))],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": "u"}} for name in ("mgmt", "other")]}))
        self.write_config()

    def heed(self, data):
        if self.heeds and data.get("w1"):
            self.worker = {**self.worker, "drain": None, **json.loads(data["w1"])}

    def tearDown(self):
        for server in (self.management, self.other, self.host):
            server.stop()
        shutil.rmtree(self.folder)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def write_config(self, *more):
        self.config = self.write("wharf.yaml", "\n".join([
            "apiVersion: wharf.dev/v1alpha1", "kind: HostConfiguration",
            "management: {kubeconfig: kubeconfig, context: mgmt}", "workersFrom: {secrets: true}",
            "adapters: {enabled: [{name: job}]}", "serve: {address: %s}" % self.host.address, *more]) + "\n")

    def wharf(self, *arguments, cwd=None, **environment):
        done = subprocess.run([WHARF, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, cwd=cwd,
                              env={"PATH": os.environ["PATH"], "HOME": self.folder, "KUBECONFIG": self.kubeconfig, **environment})
        return done.returncode, done.stdout, done.stderr


class ManagementCluster(Case):
    def test_it_is_that_of_the_configuration_whatever_the_current_context_is(self):
        code, out, err = self.wharf("cordon", "w1", "--config", self.config)
        self.assertEqual((code, out), (0, "worker w1 cordoned\n"), err)
        self.assertEqual(self.management.writes(), [CREATED])
        self.assertEqual(self.other.asked, [])

    def test_a_context_that_is_another_cluster_than_the_hosts_is_refused_before_anything_is_written(self):
        server = "http://" + self.host.address
        for arguments, environment in ((("--server", server), {}), ((), {"WHARF_SERVER": server})):
            code, out, err = self.wharf("cordon", "w1", *arguments, **environment)
            self.assertEqual((code, out), (1, ""))
            for word in ("context other", "uid other-uid", server, "uid management-uid", "--context"):
                self.assertIn(word, err)
        self.assertEqual(self.other.writes() + self.management.writes(), [])
        code, out, err = self.wharf("cordon", "w1", "--server", server, "--context", "mgmt")
        self.assertEqual((code, self.management.writes()), (0, [CREATED]), err)

    def test_the_configurations_namespace_is_where_the_host_reads(self):
        self.write_config("namespace: ops")
        self.management.stop()
        self.management = api_server("management-uid", "ops", self.heed)
        with open(self.kubeconfig, encoding="utf-8") as file:
            config = json.load(file)
        config["clusters"][0]["cluster"]["server"] = "http://" + self.management.address
        self.write("kubeconfig", json.dumps(config))
        code, _, err = self.wharf("cordon", "w1", "--config", self.config)
        self.assertEqual((code, self.management.writes()), (0, [("POST", "/api/v1/namespaces/ops/configmaps")]), err)

    def test_a_kubeconfig_that_the_caller_may_not_read_leaves_the_current_context_if_it_is_the_hosts(self):
        self.write_config()
        with open(self.config, encoding="utf-8") as file:
            text = file.read()
        self.write("wharf.yaml", text.replace("{kubeconfig: kubeconfig, context: mgmt}", "{kubeconfig: absent}"))
        code, _, err = self.wharf("cordon", "w1", "--config", self.config)
        self.assertEqual((code, self.other.writes()), (1, []))
        self.assertIn("uid management-uid", err)
        with open(self.kubeconfig, encoding="utf-8") as file:
            config = json.load(file)
        self.write("kubeconfig", json.dumps({**config, "current-context": "mgmt"}))
        code, _, err = self.wharf("cordon", "w1", "--config", self.config)
        self.assertEqual((code, self.management.writes()), (0, [CREATED]), err)


class Applied(Case):
    """The command returns when the host has done what it asks for."""
    def later(self, **worker):
        self.heeds = False
        began = time.monotonic()
        timer = threading.Timer(1.2, lambda: setattr(self, "worker", {**self.worker, **worker}))
        timer.start()
        self.addCleanup(timer.join)
        return began

    def test_a_cordon_and_a_drain_without_waiting_return_when_the_host_knows(self):
        for arguments, worker, done in ((("cordon",), {"cordoned": True}, "cordoned"),
                                        (("drain", "--no-wait", "--policy", "move"), {"drain": "move"}, "cordoned and draining (move)")):
            began = self.later(**worker)
            code, out, err = self.wharf(arguments[0], "w1", "--config", self.config, *arguments[1:])
            self.assertEqual((code, out, err), (0, "worker w1 %s\n" % done, ""))
            self.assertGreater(time.monotonic() - began, 1)

    def test_an_uncordon_too_and_the_sources_own_word_is_named(self):
        found = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "wharf-workers", "namespace": "wharf-system", "uid": "u",
                 "resourceVersion": "3"}, "data": {"w1": "{}"}}
        path = "/api/v1/namespaces/wharf-system/configmaps/wharf-workers"
        self.management.answers["GET", path] = self.management.answers["PATCH", path] = found
        self.worker["cordoned"] = True
        began = self.later(cordoned=False)
        code, out, err = self.wharf("uncordon", "w1", "--config", self.config)
        self.assertEqual((code, out, err), (0, "worker w1 uncordoned\n", ""))
        self.assertGreater(time.monotonic() - began, 1)
        self.worker["cordoned"] = True
        code, out, err = self.wharf("uncordon", "w1", "--config", self.config)
        self.assertEqual((code, out), (1, ""))
        self.assertIn("worker w1: the host still shows it as cordoned", err)
        self.assertIn("its configuration, its Secret or its ClusterProfile", err)

    def test_a_host_that_is_not_reached_is_said_and_not_waited_for(self):
        self.host.stop()
        began = time.monotonic()
        code, out, err = self.wharf("cordon", "w1", "--config", self.config)
        self.assertEqual((code, out, self.management.writes()), (0, "worker w1 cordoned\n", [CREATED]), err)
        self.assertLess(time.monotonic() - began, 14)
        self.assertIn("cannot reach the host", err)
        self.assertIn("warning: the host was not reached: it cordons worker w1 when it runs", err)


class SeveralWorkers(Case):
    def setUp(self):
        super().setUp()
        self.workers, self.stored = {name: {**self.worker, "name": name} for name in ("w1", "w2", "w3")}, {}
        self.host.answers["GET", "/api/v1/workers"] = lambda _: {"items": list(self.workers.values())}
        path = "/api/v1/namespaces/wharf-system/configmaps/wharf-workers"
        map_of = lambda: {"apiVersion": "v1", "kind": "ConfigMap", "data": self.stored, "metadata": {
            "name": "wharf-workers", "namespace": "wharf-system", "uid": "u", "resourceVersion": "3"}}

        def patch(body):
            for name, entry in body["data"].items():
                self.stored[name] = entry
                self.workers[name] = {**self.workers[name], "cordoned": False, "drain": None, **json.loads(entry or "{}")}
            return map_of()
        self.management.answers.update({("GET", path): lambda _: map_of(), ("PATCH", path): patch})

    def test_each_command_takes_several_and_orders_all_before_it_waits(self):
        for arguments, out in ((("cordon", "w1", "w3"), "worker w1 cordoned\nworker w3 cordoned\n"),
                               (("uncordon", "w1", "w3"), "worker w1 uncordoned\nworker w3 uncordoned\n"),
                               (("drain", "w1", "--policy", "move", "w2"),
                                "worker w1 cordoned and draining (move)\nworker w2 cordoned and draining (move)\n"
                                "worker w1 drained\nworker w2 drained\n")):
            self.assertEqual(self.wharf(*arguments, "--config", self.config), (0, out, ""))
        self.assertEqual({name: worker["drain"] for name, worker in self.workers.items()}, {"w1": "move", "w2": "move", "w3": None})

    def test_nothing_is_written_if_one_does_not_exist(self):
        for command in ("cordon", "uncordon", "drain"):
            code, out, err = self.wharf(command, "w1", "w9", "--config", self.config)
            self.assertEqual((code, out), (1, ""))
            self.assertIn('worker "w9" not found; the host has w1, w2, w3', err)
        self.assertEqual(self.management.writes(), [])

    def test_without_one_the_error_names_what_is_expected(self):
        code, _, err = self.wharf("cordon", "--config", self.config)
        self.assertEqual(code, 2)
        self.assertIn("found no operand, expected WORKER..., the name of a worker", err)


class Join(Case):
    def test_the_secret_is_for_the_configurations_management_cluster_whatever_the_current_context_is(self):
        worker = api_server("worker-uid")
        self.addCleanup(worker.stop)
        with open(self.kubeconfig, encoding="utf-8") as file:
            config = json.load(file)
        config["clusters"].append({"name": "w1", "cluster": {"server": "http://" + worker.address}})
        config["contexts"].append({"name": "w1", "context": {"cluster": "w1", "user": "u"}})
        self.write("kubeconfig", json.dumps(config))
        arguments = ("join", "--context", "w1", "--config", self.config, "--adapters", os.path.join(BUILD, "adapters"), "--dry-run")
        code, out, err = self.wharf(*arguments)
        self.assertEqual(code, 0, err)
        self.assertIn("# In the management cluster, http://" + self.management.address, out)
        self.assertEqual(self.other.asked, [])
        code, out, err = self.wharf(*arguments, "--management-context", "other")
        self.assertIn("# In the management cluster, http://" + self.other.address, out, err)


class Configuration(Case):
    def test_a_file_that_is_missing_or_wrong_is_an_error_and_no_other_host_is_asked(self):
        cases = ((os.path.join(self.folder, "absent.yaml"), "No such file"),
                 (self.write("wrong.yaml", "apiVersion: wharf.dev/v1alpha1\nkind: Hst\n"), "wrong.yaml:2"))
        for path, word in cases:
            code, out, err = self.wharf("status", "--config", path)
            self.assertEqual((code, out), (1, ""))
            self.assertIn(word, err)
        self.assertEqual(self.other.asked + self.management.asked, [])


    def test_an_explicit_one_wins_over_an_exported_server(self):
        code, out, err = self.wharf("cordon", "w1", "--config", self.config, WHARF_SERVER="http://127.0.0.1:1")
        self.assertEqual((code, out, err), (0, "worker w1 cordoned\n", ""))   # no warning that it does not answer
        self.assertIn(("GET", "/api/v1/workers"), self.host.asked)
        code, _, err = self.wharf("status", WHARF_SERVER="http://127.0.0.1:1")
        self.assertEqual(code, 1)
        self.assertIn("http://127.0.0.1:1", err)


class Finding(Case):
    """How a command without --server, --context and --config finds the host."""
    def setUp(self):
        super().setUp()
        self.elsewhere = os.path.join(self.folder, "elsewhere")
        os.mkdir(self.elsewhere)

    def assert_tried(self, err, *steps):
        """They are in the sentence, in this order."""
        self.assertEqual(err.count("\n"), 1, err)
        at = [err.find(step) for step in ("cannot reach the host: tried ", *steps, ". Start it", "--config", "--server", "--context")]
        self.assertNotIn(-1, at, err)
        self.assertEqual(at, sorted(at), err)

    def service(self, management):
        """The host answers behind the API server's proxy of its Service."""
        management.answers["POST", "/api/v1/namespaces/wharf-system/serviceaccounts/wharf-viewer/token"] = {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "status": {"token": "t", "expirationTimestamp": "2030-01-02T03:04:05Z"}}
        proxied = "/api/v1/namespaces/wharf-system/services/http:wharf:http/proxy"
        for (method, path), answer in self.host.answers.items():
            management.answers[method, proxied + path] = answer

    def test_a_configuration_in_the_current_folder_or_of_the_environment_names_it(self):
        code, out, err = self.wharf("status", "workers", cwd=self.folder)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("w1", out)
        for way in ({"cwd": self.elsewhere, "WHARF_CONFIG": self.config}, {"cwd": self.elsewhere, "WHARF_CONFIG": "../wharf.yaml"}):
            code, out, err = self.wharf("status", "workers", **way)
            self.assertEqual((code, err), (0, ""))
            self.assertIn("w1", out)
        code, out, err = self.wharf("cordon", "w1", cwd=self.folder)
        self.assertEqual((code, self.management.writes(), self.other.asked), (0, [CREATED], []), err)

    def test_the_servers_address_comes_before_a_configuration_and_a_flag_before_both(self):
        code, _, err = self.wharf("status", cwd=self.folder, WHARF_SERVER="http://127.0.0.1:1")
        self.assertEqual(code, 1)
        self.assertIn("$WHARF_SERVER: cannot connect to http://127.0.0.1:1", err)
        code, _, err = self.wharf("status", "--server", "http://127.0.0.1:2", cwd=self.folder, WHARF_SERVER="http://127.0.0.1:1")
        self.assertIn("--server: cannot connect to http://127.0.0.1:2", err)
        code, _, err = self.wharf("status", cwd=self.folder, WHARF_CONFIG=os.path.join(self.folder, "absent.yaml"))
        self.assertEqual(code, 1)
        self.assertIn("absent.yaml: No such file", err)
        self.assertEqual(self.host.asked, [])

    def test_a_host_in_the_cluster_is_reached_although_its_configuration_lies_in_the_current_folder(self):
        self.service(self.management)
        self.host.stop()
        code, out, err = self.wharf("status", "workers", cwd=self.folder)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("w1", out)
        self.assertEqual(self.other.asked, [])   # the management cluster is the configuration's

    def test_the_sentence_says_what_was_tried_in_order(self):
        self.host.stop()
        code, out, err = self.wharf("status", cwd=self.folder)
        self.assertEqual((code, out), (1, ""))
        self.assert_tried(err, "./wharf.yaml: cannot connect to http://" + self.host.address,
                          "Service wharf-system/wharf of ", "context mgmt: ", "wharf-viewer")
        self.assertEqual(self.other.asked, [])
        self.skip_unless_free()
        code, out, err = self.wharf("status", cwd=self.elsewhere)
        self.assertEqual((code, out), (1, ""))
        self.assert_tried(err, "$WHARF_SERVER and $WHARF_CONFIG: not set", "./wharf.yaml: not found", "/etc/wharf/wharf.yaml: not found",
                          "this machine: cannot connect to http://127.0.0.1:9440", "Service wharf-system/wharf of ", "context other: ")
        os.unlink(self.kubeconfig)
        code, out, err = self.wharf("status", cwd=self.elsewhere, KUBECONFIG="")
        self.assert_tried(err, "this machine: ", "Service wharf-system/wharf: found no kubeconfig")

    def test_a_service_that_does_not_exist_is_said_with_the_way_to_name_another(self):
        self.service(self.other)
        missing = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404,
                   "message": 'services "wharf" not found', "details": {"name": "wharf", "kind": "services"}}
        for key in [key for key in self.other.answers if "/proxy/" in key[1]]:
            self.other.answers[key] = (404, missing)
        code, _, err = self.wharf("status", "--context", "other")
        self.assertEqual(code, 1)
        self.assert_tried(err, "Service wharf-system/wharf of ", 'context other: services "wharf" not found')

    def skip_unless_free(self):
        with socket.socket() as probe:
            if os.path.exists("/etc/wharf/wharf.yaml") or probe.connect_ex(("127.0.0.1", 9440)) == 0:
                self.skipTest("a host is installed or runs on this machine")

    def test_a_host_at_the_well_known_address_is_found_and_nothing_else_is_taken_for_one(self):
        self.skip_unless_free()
        def serve(answers):
            server = Server(answers, port=9440)
            self.addCleanup(server.stop)
            return server
        try:
            local = serve({("GET", "/api/v1/status"): {"fine": True}})
        except OSError as error:
            self.skipTest(str(error))
        code, _, err = self.wharf("status", "workers", cwd=self.elsewhere)
        self.assertEqual(code, 1)
        self.assert_tried(err, "this machine: http://127.0.0.1:9440 answers, but not as wharf", "Service wharf-system/wharf")
        local.answers = {**self.host.answers, ("GET", "/api/v1/status"): {"origin": "o", "managementUid": "other-uid"}}
        code, out, err = self.wharf("status", "workers", cwd=self.elsewhere)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("w1", out)

    def test_a_kubeconfig_beside_a_configuration_leaves_its_address(self):
        code, out, err = self.wharf("status", "workers", "--config", self.config, "--kubeconfig", self.kubeconfig)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("w1", out)
        self.assertEqual(self.other.asked + self.management.asked, [])
        code, _, err = self.wharf("cordon", "w1", "--config", self.config, "--kubeconfig", self.kubeconfig)
        self.assertEqual((code, self.other.writes() + self.management.writes()), (1, []))
        self.assertIn("uid other-uid", err)
        code, _, err = self.wharf("cordon", "w1", "--config", self.config, "--kubeconfig", self.kubeconfig, "--context", "mgmt")
        self.assertEqual((code, self.management.writes()), (0, [CREATED]), err)

    def test_a_file_of_the_current_folder_that_is_none_or_of_another_user_is_not_used(self):
        self.service(self.other)
        self.write("elsewhere/wharf.yaml", "apiVersion: v1\nkind: ConfigMap\n")
        self.skip_unless_free()
        code, out, err = self.wharf("status", "workers", cwd=self.elsewhere)
        self.assertEqual(code, 0, err)
        self.assertIn("w1", out)
        self.assertRegex(err, r"^warning: \./wharf\.yaml is not used: \./wharf\.yaml:1: .*\n$")
        if os.getuid() == 0:
            shutil.copy(self.config, os.path.join(self.elsewhere, "wharf.yaml"))
            os.chown(os.path.join(self.elsewhere, "wharf.yaml"), 12345, -1)
            code, out, err = self.wharf("status", "workers", cwd=self.elsewhere)
            self.assertEqual(code, 0, err)
            self.assertIn("warning: ./wharf.yaml is not used: it belongs to another user: --config names it", err)


class Objects(Case):
    def setUp(self):
        super().setUp()
        self.told = {"kind": "Job", "group": "batch", "resource": "jobs", "namespace": "default", "name": "train",
                     "ours": True, "why": "so", "phase": "Running", "cluster": None, "attempts": [], "workers": []}
        self.host.answers.update({
            ("GET", "/api/v1/workloads/job/default/train"): self.told,
            ("GET", "/api/v1/adapters"): {"items": [{"kinds": [{"group": "batch", "kind": "Job", "versions": ["v1"]}]}]}})
        self.management.answers["PATCH", "/apis/batch/v1/namespaces/default/jobs/train"] = {
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {
                "name": "train", "namespace": "default", "uid": "u", "resourceVersion": "2"}}

    def test_kind_and_name_may_be_two_words_as_in_kubectl(self):
        for words in (("job/train",), ("job", "train"), ("job", "-n", "default", "train")):
            code, out, err = self.wharf("explain", *words, "--config", self.config)
            self.assertEqual(code, 0, err)
            self.assertIn("Job default/train", out)
            code, out, err = self.wharf("retry", *words, "--config", self.config)
            self.assertEqual((code, out), (0, "job/train is retried\n"), err)
        self.management.answers["POST", "/api/v1/namespaces/wharf-system/serviceaccounts/wharf-viewer/token"] = {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "status": {"token": "t", "expirationTimestamp": "2030-01-02T03:04:05Z"}}
        for command, more in (("logs", ()), ("exec", ("--", "ls"))):
            self.host.asked.clear()
            self.wharf(command, "job", "train", "--config", self.config, *more)
            self.assertIn(("GET", "/api/v1/%s/job/default/train" % command), self.host.asked)

    def test_a_workload_that_has_finished_is_not_retried(self):
        for phase in ("Succeeded", "Failed"):
            self.told["phase"] = phase
            code, out, err = self.wharf("retry", "job/train", "--config", self.config)
            self.assertEqual((code, out), (1, ""), err)
            self.assertIn("job/train has finished (%s)" % phase, err)
            self.assertFalse([key for key in self.management.asked if key[0] == "PATCH"])

    def test_other_words_are_wrong(self):
        for words, expected in ((("job", "train", "more"), "unexpected argument: more"),
                                (("job/train", "more"), "unexpected argument: more"),
                                (("job", "a/b"), 'found "job/a/b", expected KIND/NAME'),
                                (("job",), 'found "job", expected KIND/NAME')):
            code, _, err = self.wharf("explain", *words, "--config", self.config)
            self.assertNotEqual(code, 0)
            self.assertIn(expected, err)

    def test_the_scores_of_the_last_placement_are_shown(self):
        for scores, shown in (("data-locality: w2 100, w1 0", True), (None, False)):
            self.told["attempts"] = [{"attempt": 1, "cluster": "w1", "scores": "of the first one"},
                                     {"attempt": 2, "cluster": "w2", "scores": scores}]
            code, out, err = self.wharf("explain", "job/train", "--config", self.config)
            self.assertEqual((code, "Scores:    data-locality: w2 100, w1 0\n" in out), (0, shown), out + err)
            self.assertNotIn("of the first one", out)

    def test_progress_that_is_off_is_told_with_the_setting(self):
        off = 'annotation wharf.dev/continue: "false"'
        for mirror, reason, line in ((None, None, None), (None, off, "off: further attempts begin from nothing (%s)" % off),
                                     ({"progress": "given"}, off, "the mirror began with the progress of the earlier attempts; further "
                                      "attempts begin from nothing (%s)" % off)):
            self.told.update(mirror=mirror, progressOff=reason)
            code, out, err = self.wharf("explain", "job/train", "--config", self.config)
            self.assertEqual((code, "Progress:" in out), (0, bool(line)), err)
            self.assertIn("Progress:  %s\n" % line if line else "", out)

    def test_the_objects_that_a_workload_refers_to_are_a_table(self):
        one = {"resource": "configmaps", "namespace": "default", "name": "settings", "where": "/spec/a", "cluster": "w1",
               "state": "copied", "optional": False, "problem": None}
        two = {**one, "resource": "priorityclasses.scheduling.k8s.io", "namespace": None, "name": "high", "where": None,
               "state": "missing", "optional": True, "problem": "no such \u001b[31mobject"}
        for cluster, heading in (("w1", "w1"), (None, "the management cluster")):
            self.told["dependencies"] = [{**one, "cluster": cluster}, {**two, "cluster": cluster}]
            code, out, err = self.wharf("explain", "job/train", "--config", self.config)
            self.assertEqual((code, err), (0, ""), out)
            lines = out.split(f"\nRefers to (with the states in {heading}):\n")[1].splitlines()
            self.assertEqual([[cell.strip() for cell in line.split("  ") if cell] for line in lines[:2]], [
                ["RESOURCE", "NAMESPACE", "NAME", "STATE", "NAMED BY", "PROBLEM"],
                ["configmaps", "default", "settings", "copied", "/spec/a", "<none>"]])
            self.assertRegex(lines[2], r"^priorityclasses.scheduling.k8s.io +<none> +high +missing, optional +another object "
                                       r"+no such \\u001b\[31mobject$")
        self.told["dependencies"] = []
        self.assertNotIn("Refers to", self.wharf("explain", "job/train", "--config", self.config)[1])

    def test_json_is_indented_as_kubectls(self):
        code, out, err = self.wharf("explain", "job/train", "-o", "json", "--config", self.config)
        self.assertEqual((code, out), (0, json.dumps(self.told, indent=4) + "\n"), err)
        code, out, err = self.wharf("status", "workers", "-o", "json", "--config", self.config)
        self.assertEqual(out, json.dumps({"items": [self.worker]}, indent=4) + "\n", err)
        code, out, err = self.wharf("rbac", "--for", "worker", "--adapters", os.path.join(BUILD, "adapters"), "-o", "json")
        self.assertEqual(out, json.dumps(json.loads(out), indent=4) + "\n", err)


class Tokens(Case):
    def test_the_account_that_is_missing_is_named_with_the_command_that_makes_it(self):
        for command in (("status", "--context", "mgmt"), ("drain", "w1", "--context", "mgmt")):
            code, out, err = self.wharf(*command)
            self.assertEqual((code, out), (1, ""), command)
            self.assertEqual(err.count("\n"), 1, err)
            for word in ("context mgmt", "ServiceAccount wharf-system/wharf-viewer", "wharf rbac --for management", "--service-account"):
                self.assertIn(word, err)
        self.assertNotIn(CREATED, self.management.asked)


    def test_a_session_that_a_client_certificate_cannot_have_says_why(self):
        self.management.answers["POST", "/api/v1/namespaces/wharf-system/serviceaccounts/wharf-viewer/token"] = {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "status": {"token": "t", "expirationTimestamp": "2030-01-02T03:04:05Z"}}
        self.host.answers["GET", "/api/v1/exec/job/default/train"] = (403, {
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "reason": "Forbidden",
            "message": "user system:serviceaccount:wharf-system:wharf-viewer may not create pods/exec"})
        arguments = ("exec", "job/train", "-n", "default", "--config", self.config, "--kubeconfig", self.kubeconfig, "--context", "mgmt", "--", "ls")
        code, out, err = self.wharf(*arguments)
        self.assertEqual((code, out, err.count("\n")), (1, "", 1), err)
        for word in ("wharf-viewer may not create pods/exec", "has no token, and no API server passes a client certificate on to the host",
                     "you are ServiceAccount wharf-system/wharf-viewer there", "use a kubeconfig with a token", "--service-account"):
            self.assertIn(word, err)
        with open(self.kubeconfig, encoding="utf-8") as file:
            config = json.load(file)
        config["users"][0]["user"] = {"token": jwt(sub="jane", aud=["wharf.dev"])}   # one that a plain port may have
        config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"   # a token is for TLS; it is not asked
        self.write("kubeconfig", json.dumps(config))
        code, _, err = self.wharf(*arguments)
        self.assertIn("may not create pods/exec", err)
        self.assertNotIn("client certificate", err)   # the caller's own rights are missing


class Drain(Case):
    def test_it_is_not_done_before_the_host_drains(self):
        self.heeds = False
        def heed():
            time.sleep(1.2)
            self.worker = {**self.worker, "drain": "finish"}
        threading.Thread(target=heed, daemon=True).start()
        began = time.monotonic()
        code, out, err = self.wharf("drain", "w1", "--config", self.config)
        self.assertEqual((code, out), (0, "worker w1 cordoned and draining (finish)\nworker w1 drained\n"), err)
        self.assertGreater(time.monotonic() - began, 1)

    def test_a_host_that_does_not_drain_is_told(self):
        self.heeds = False
        code, out, err = self.wharf("drain", "w1", "--config", self.config)
        self.assertEqual((code, out), (1, ""))
        self.assertIn("worker w1: the host has not applied this after 15s: does it read ConfigMap wharf-system/wharf-workers", err)

    def test_a_host_that_does_not_answer_is_told_once(self):
        self.host.stop()
        code, out, err = self.wharf("drain", "w1", "--config", self.config, "--timeout", "2s")
        self.assertEqual(code, 1)
        self.assertIn("worker w1 cordoned and draining (finish)\n", out)
        self.assertEqual(err.count("cannot reach the host"), 2, err)   # before the write, and while it waits
        self.assertIn("the worker stays cordoned and draining", err)
        self.assertNotIn("0 workloads", err)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:])
