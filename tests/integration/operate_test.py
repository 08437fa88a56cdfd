#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which cluster the commands of operators read and write: two API servers and a host are played by this process.

    operate_test.py BUILD_FOLDER [unittest arguments]
"""
import http.server
import json
import os
import shutil
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
    """Answers what `answers` has, (method, path) to a document or a function of the body, and records all requests."""

    def __init__(self, answers):
        self.answers, self.asked = answers, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def handle_one(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                key = (self.command, self.path.split("?")[0])
                outer.asked.append(key)
                answer = outer.answers.get(key, NOT_FOUND)
                answer = answer(json.loads(body or b"{}")) if callable(answer) else answer
                text = json.dumps(answer).encode()
                self.send_response(404 if answer is NOT_FOUND else 200 if self.command != "POST" else 201)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = handle_one

        self.server = QuietServer(("127.0.0.1", 0), Handler)
        self.address = "127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def writes(self):
        return [key for key in self.asked if key[0] != "GET"]


def api_server(uid, namespace="wharf-system"):
    return Server({
        ("GET", "/api/v1/namespaces/kube-system"): {"kind": "Namespace", "apiVersion": "v1", "metadata": {
            "name": "kube-system", "uid": uid, "resourceVersion": "1"}},
        ("POST", "/api/v1/namespaces/%s/configmaps" % namespace): lambda body: {**body, "metadata": {
            **body["metadata"], "uid": "u", "resourceVersion": "2"}}})


CREATED = ("POST", "/api/v1/namespaces/wharf-system/configmaps")


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="operate_test.", dir=BUILD)
        self.worker = {"name": "w1", "state": "Ready", "active": 0, "drain": None}
        self.management, self.other = api_server("management-uid"), api_server("other-uid")
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

    def wharf(self, *arguments, **environment):
        done = subprocess.run([WHARF, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
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
        self.management = api_server("management-uid", "ops")
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

    def test_other_words_are_wrong(self):
        for words, expected in ((("job", "train", "more"), "unexpected argument: more"),
                                (("job/train", "more"), "unexpected argument: more"),
                                (("job", "a/b"), 'found "job/a/b", expected KIND/NAME'),
                                (("job",), 'found "job", expected KIND/NAME')):
            code, _, err = self.wharf("explain", *words, "--config", self.config)
            self.assertNotEqual(code, 0)
            self.assertIn(expected, err)

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


class Drain(Case):
    def test_it_is_not_done_before_the_host_drains(self):
        def heed():
            time.sleep(1.2)
            self.worker = {**self.worker, "drain": "finish"}
        threading.Thread(target=heed, daemon=True).start()
        began = time.monotonic()
        code, out, err = self.wharf("drain", "w1", "--config", self.config)
        self.assertEqual((code, out), (0, "worker w1 cordoned and draining (finish)\nworker w1 drained\n"), err)
        self.assertGreater(time.monotonic() - began, 1)

    def test_a_host_that_does_not_answer_is_told_once(self):
        self.host.stop()
        code, out, err = self.wharf("drain", "w1", "--config", self.config, "--timeout", "2s")
        self.assertEqual(code, 1)
        self.assertIn("worker w1 cordoned and draining (finish)\n", out)
        self.assertEqual(err.count("cannot reach the host"), 2, err)   # before the write, and while it waits
        self.assertIn("it stays cordoned and draining", err)
        self.assertNotIn("0 workloads", err)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:])
