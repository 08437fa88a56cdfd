# SPDX-License-Identifier: Apache-2.0
"""`wharf plan --cluster`: the dry run in a worker. Workers are the world server, and servers that this process plays
where admission matters."""
import base64
import http.server
import json
import os
import subprocess
import threading

from case import DELEGATED, NOT_DELEGATED, WORLD, WRONG, Case, documents, job, kubeconfig, thing


class Worker:
    """A simulated API server of a worker: `answer(request)` returns code, document and warnings."""

    def __init__(self, answer):
        self.requests, self.users = [], []   # `users`: whom each request impersonates
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def serve(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                outer.requests.append((self.command, self.path, body))
                outer.users.append((self.headers["Impersonate-User"], self.headers["Impersonate-Group"]))
                code, document, warnings = answer(self.command, self.path, body)
                text = json.dumps(document).encode() if not isinstance(document, bytes) else document
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                for warning in warnings:
                    self.send_header("Warning", '299 - "%s"' % warning)
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = serve

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def failure(code, reason, message, **details):
    return code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
                  "message": message, "details": details}, []


class Played(Case):
    def plan_with(self, answer, value, code=DELEGATED):
        worker = Worker(answer)
        self.write("w1.kubeconfig", kubeconfig(worker.url))
        try:
            out = self.plan(value, "--cluster", "w1", code=code)
        finally:
            worker.stop()
        return [line for line in self.sentences(out) if line.startswith("w1")], worker.requests, out

    def test_what_admission_changes_is_told_field_by_field(self):
        def admit(_, __, body):
            body["metadata"].update(uid="u", creationTimestamp="2026-01-02T03:04:05Z", generation=1,
                                    managedFields=[{"manager": "wharf"}])
            body["metadata"]["labels"]["team"] = "none"
            body["spec"]["size"] = 2
            del body["spec"]["drop"]
            body["spec"]["list"] = [{"name": "side", "image": "s"}, {"name": "b", "image": "i/b"}]
            body["spec"]["args"].append("--safe")
            body["status"] = {"state": "new"}
            return 201, body, ["example.com/v1 Thing is old", "size is \\\"odd\\\""]

        lines, requests, _ = self.plan_with(admit, thing(size=1, drop={"a": 1}, args=["x"], same=None, list=[
            {"name": "a", "image": "a"}, {"name": "b", "image": "b"}]))
        self.assertEqual(lines, [
            'w1 warns: example.com/v1 Thing is old; size is "odd"',
            "w1 would accept the mirror (dry run)",
            "w1 changes: /spec/size: 1 -> 2",
            'w1 removes: /spec/drop: {"a":1}',
            'w1 changes: /spec/args: ["x"] -> ["x","--safe"]',
            'w1 removes: /spec/list/0: {"name":"a","image":"a"}',
            'w1 changes: /spec/list/1/image: "b" -> "i/b"',
            'w1 adds: /metadata/labels/team: "none"',
            'w1 adds: /spec/list/0: {"name":"side","image":"s"}',
        ])
        self.assertEqual([(method, path) for method, path, _ in requests], [(
            "POST", "/apis/example.com/v1/namespaces/default/things?fieldManager=wharf&dryRun=All"
                    "&fieldValidation=Strict")])
        self.assertEqual(requests[0][2]["metadata"]["labels"]["wharf.dev/origin"], "eu")
        self.assertNotIn("managedBy", requests[0][2]["spec"])

    def test_a_mirror_that_passes_unchanged(self):
        lines, _, _ = self.plan_with(lambda _, __, body: (201, body, []), thing())
        self.assertEqual(lines, ["w1 would accept the mirror (dry run)", "w1: nothing would change"])

    def test_refusals_are_told_in_the_words_of_the_server(self):
        cases = [
            (failure(403, "Forbidden", 'things "a" is forbidden: exceeded quota: q', name="a"),
             'w1 would reject the mirror: things "a" is forbidden: exceeded quota: q (QuotaExceeded)'),
            (failure(403, "Forbidden", "admission webhook \"x\" denied the request: no\nway"),
             'w1 would reject the mirror: admission webhook "x" denied the request: no way (Forbidden)'),
            (failure(401, "Unauthorized", "who are you"), "w1 would reject the mirror: who are you (Unauthorized)"),
            (failure(422, "Invalid", "spec.size: Invalid value"),
             "w1 would reject the mirror: spec.size: Invalid value (Invalid)"),
            (failure(404, "NotFound", "the server could not find the requested resource"),
             "w1 does not serve things.example.com/v1: another worker is tried"),
            (failure(404, "NotFound", 'namespaces "default" not found', name="default", kind="namespaces"),
             "w1 has no namespace default: another worker is tried"),
            ((200, b"<html>", []), "w1 gave no usable response: the server answered 200 with invalid JSON"),
            ((503, {"kind": "Status", "message": "not now"}, []), "w1 would reject the mirror: not now (ServerError)"),
        ]
        for answer, sentence in cases:
            with self.subTest(sentence=sentence):
                lines, _, out = self.plan_with(lambda *_, a=answer: a, thing(), code=WRONG)
                self.assertTrue(lines[0].startswith(sentence), lines)
                self.assertIn("would be delegated, but not accepted by the worker", out)
                self.assertEqual(len(documents(self.folder, out)), 1)

    def test_with_tenancy_the_dry_run_is_the_tenants(self):
        for more, user in (("", (None, None)), ("tenancy: impersonate\n", ("wharf:default", "wharf:tenants"))):
            worker = Worker(lambda _, __, body: (201, body, []))
            self.write("w1.kubeconfig", kubeconfig(worker.url))
            self.write_config(more=more)
            try:
                self.plan(thing(), "--cluster", "w1")
            finally:
                worker.stop()
            self.assertEqual(worker.users, [user])

    def test_a_namespace_that_would_be_created_is_no_trouble(self):
        self.write_config(more="createNamespaces: true\n")
        answer = failure(404, "NotFound", 'namespaces "default" not found', name="default", kind="namespaces")
        lines, _, _ = self.plan_with(lambda *_: answer, thing())
        self.assertEqual(lines, ["w1 has no namespace default: it would be created first, so the mirror cannot be "
                                 "validated yet"])

    def test_nothing_is_asked_of_a_worker_without_a_mirror(self):
        _, requests, _ = self.plan_with(lambda *_: failure(500, "", ""), thing(managed=None), code=NOT_DELEGATED)
        self.assertEqual(requests, [])

    def test_an_existing_object_is_looked_at(self):
        marks = {"wharf.dev/origin": "eu", "wharf.dev/uid": "u-1", "wharf.dev/kind": "things.example.com"}
        ours = {"labels": marks, "annotations": {"wharf.dev/attempt": "2", "wharf.dev/carried": ""}}
        another = "w1 has an object of this name that is not a mirror of this workload"
        cases = [   # its metadata, uid in the file, exit code, what is said
            ({}, None, WRONG, [another]),
            (ours, None, DELEGATED, ["w1 already has a mirror of this name: of the workload with uid u-1, attempt 2",
                                     "w1 changes: /metadata/annotations/wharf.dev~1carried: \"\" -> ",
                                     "w1 adds: /metadata/labels/new: \"1\""]),
            (ours, "u-1", DELEGATED, ["w1 already has a mirror of this name", "w1 changes", "w1 adds"]),
            (ours, "u-2", WRONG, [another]),
            ({**ours, "labels": {**marks, "wharf.dev/origin": "us"}}, None, WRONG, [another]),
            ({**ours, "ownerReferences": [{"controller": True}]}, None, WRONG, [another]),
        ]
        for metadata, uid, code, wanted in cases:
            def answer(method, _, body, metadata=metadata):
                there = {"apiVersion": "example.com/v1", "kind": "Thing", "spec": {}, "metadata": {
                    "name": "a", "namespace": "default", "uid": "m-1", "resourceVersion": "7", **metadata}}
                if method == "POST":
                    return failure(409, "AlreadyExists", "it exists", name="a")
                if method == "PATCH":
                    there = json.loads(json.dumps(there))
                    there["metadata"]["labels"]["new"] = body["metadata"]["labels"]["new"]
                    there["metadata"]["annotations"].update(body["metadata"]["annotations"])
                return 200, there, []
            with self.subTest(metadata=metadata, uid=uid):
                more = {"labels": {"new": "1"}, **({"uid": uid} if uid else {})}
                lines, requests, out = self.plan_with(answer, thing(metadata=more), code=code)
                self.assertEqual(len(lines), len(wanted), out)
                for line, start in zip(lines, wanted):
                    self.assertTrue(line.startswith(start), line)
                if code == DELEGATED:
                    self.assertEqual(requests[-1][:2], ("PATCH", "/apis/example.com/v1/namespaces/default/things/a"
                                                                 "?fieldManager=wharf&dryRun=All"))
                    self.assertEqual(requests[-1][2]["metadata"]["uid"], "m-1")

    def test_a_worker_that_does_not_listen_is_told(self):
        worker = Worker(lambda *_: failure(500, "", ""))
        worker.stop()
        self.write("w1.kubeconfig", kubeconfig(worker.url))
        out = self.plan(thing(), "--cluster", "w1", code=WRONG)
        self.assert_says(out, "w1 gave no usable response: cannot connect to " + worker.url, "(NotSent)")


def secret(name, data):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "wharf-system", "uid": "u-" + name,
            "resourceVersion": "5", "labels": {"wharf.dev/worker": "true"}}, "data": {"kubeconfig": base64.b64encode(data.encode()).decode()}}


class Joined(Case):
    """Workers that are not in the configuration's list."""
    def setUp(self):
        super().setUp()
        self.worker = self.serve(lambda _, __, body: (201, body, []))
        self.secrets = [secret("w7", kubeconfig(self.worker.url)), secret("broken", "{ not yaml")]
        self.management = self.serve(lambda *_: (200, {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "7"},
                                                       "items": self.secrets}, []))
        self.write("mgmt.kubeconfig", kubeconfig(self.management.url))
        self.write_config(more="workersFrom: {secrets: true, directory: workers.d}\n")
        os.mkdir(os.path.join(self.folder, "workers.d"))
        self.write("workers.d/w8.kubeconfig", kubeconfig(self.worker.url))
        os.chmod(os.path.join(self.folder, "workers.d/w8.kubeconfig"), 0o600)

    def serve(self, answer):
        server = Worker(answer)
        self.addCleanup(server.stop)
        return server

    def test_a_worker_of_a_secret_or_the_directory_validates_the_mirror(self):
        for name in ("w7", "w8"):
            out = self.plan(thing(), "--cluster", name)
            self.assertIn("# %s would accept the mirror (dry run)" % name, out)
        self.assertEqual([path.split("?")[0] for _, path, _ in self.worker.requests],
                         ["/apis/example.com/v1/namespaces/default/things"] * 2)
        self.assertIn(("GET", "/api/v1/namespaces/wharf-system/secrets?labelSelector=wharf.dev/worker%3Dtrue&limit=50", None),
                      self.management.requests)

    def test_the_workers_of_all_sources_are_named_for_one_that_is_not_there(self):
        code, out, err = self.run_plan("-f", self.write("o.yaml", thing()), "--cluster", "w9")
        self.assertEqual((code, out), (WRONG, ""))
        self.assertIn('--cluster: found "w9", expected a worker of wharf.yaml (w1, w2, w8, w7)', err)
        self.assertIn("Secret wharf-system/broken: key kubeconfig: ", err)

    def test_one_of_the_configuration_is_used_without_asking_the_management_cluster(self):
        self.write("w1.kubeconfig", kubeconfig(self.worker.url))
        self.plan(thing(), "--cluster", "w1")
        self.assertEqual(self.management.requests, [])

    def test_a_management_cluster_that_does_not_answer_is_said(self):
        self.write("mgmt.kubeconfig", kubeconfig("http://127.0.0.1:1"))
        code, _, err = self.run_plan("-f", self.write("o.yaml", thing()), "--cluster", "w7")
        self.assertEqual(code, WRONG)
        self.assertIn("cannot list Secrets in namespace wharf-system", err)
        self.assertIn("http://127.0.0.1:1", err)


class World(Case):
    """Against the world's worker, which answers as a kube-apiserver (see tests/contract)."""

    def setUp(self):
        super().setUp()
        self.world = subprocess.Popen([WORLD, "--plain", "--clusters", "3", "--dir", self.folder, "--no-controllers"],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for line in self.world.stdout:
            if line == "ready\n":
                break

    def tearDown(self):
        self.world.stdin.close()
        self.world.stdout.close()
        self.world.wait(timeout=30)
        super().tearDown()

    def writes(self, name):
        self.world.stdin.write(f"writes {name}\n")
        self.world.stdin.flush()
        return self.world.stdout.readline()

    def test_a_job_gets_its_defaults_and_nothing_is_stored(self):
        before = self.writes("w1")
        out = self.plan(job(), "--cluster", "w1")
        self.assert_says(out, "# w1 would accept the mirror (dry run)", "# w1 adds: /spec/backoffLimit: 6",
                         "# w1 adds: /spec/parallelism: 1")
        self.assertNotIn("w1 changes", out)
        self.assertEqual(self.writes("w1"), before)
        self.world.stdin.write("count w1 batch jobs\n")
        self.world.stdin.flush()
        self.assertEqual(self.world.stdout.readline(), "ok 0\n")

    def test_unknown_fields_are_told_and_the_rest_is_tried_as_the_host_does_it(self):
        out = self.plan(job(fancy={"x": 1}), "--cluster", "w2")
        self.assert_says(out, "# w2 would drop unknown fields: ",
                         'unknown field "spec.fancy"', "# w2 would accept the mirror (dry run)",
                         '# w2 removes: /spec/fancy: {"x":1}', "# w2 adds: /spec/backoffLimit: 6")

    def test_a_worker_that_drops_what_changes_the_scheduling_gets_nothing(self):
        out = self.plan(job(scheduling={"schedulingPolicy": {"gang": {}}}), "--cluster", "w2", code=WRONG)
        self.assert_says(out, "# w2 does not keep /spec/scheduling, which requireFields asks for: another worker is tried",
                         '# w2 removes: /spec/scheduling: {"schedulingPolicy":{"gang":{}}}')

    def test_what_the_api_refuses_is_refused_here(self):
        out = self.plan(job(parallelism=-1), "--cluster", "w1", code=WRONG)
        self.assert_says(out, "# w1 would reject the mirror: ", "spec.parallelism", "(Invalid)")

    def test_a_namespace_and_a_kind_that_are_missing(self):
        absent = job()
        absent["metadata"]["namespace"] = "absent"
        self.assertIn("# w1 has no namespace absent: ", self.plan(absent, "--cluster", "w1", code=WRONG))
        self.assertIn("# w1 does not serve things.example.com/v1: ", self.plan(thing(), "--cluster", "w1", code=WRONG))
