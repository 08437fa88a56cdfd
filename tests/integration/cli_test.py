#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line of wharf: its output and exit codes.

    cli_test.py BUILD_FOLDER [unittest arguments]

Needs BUILD_FOLDER/wharf and BUILD_FOLDER/bad_adapters/*.so. API servers are played by this process.
"""

import base64
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

from quiet_server import QuietServer

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
WHARF = os.path.join(BUILD, "wharf")
ADAPTERS = os.path.join(BUILD, "bad_adapters")

SECRETS = "/api/v1/namespaces/wharf-system/secrets"
PROFILES = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/fleet/clusterprofiles"
VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]


def wharf(*arguments, timeout=240):
    """Runs a command; its exit code, output and error output."""
    done = subprocess.run([WHARF, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
    return done.returncode, done.stdout, done.stderr


class ApiServer:
    """The part of an API server that `wharf check --online` needs."""

    def __init__(self, resources=None, denied=(), version_status=200, garbage=False, reviews=True,
                 uid=None, lists=None, openapi=None, git_version="v1.36.0"):
        self.resources = resources if resources is not None else {"/apis/example.com/v1": ["things", "things/status"]}
        self.denied = denied
        self.version_status = version_status
        self.garbage = garbage
        self.reviews = reviews
        self.uid = uid or str(id(self))
        self.openapi, self.git_version = openapi or {}, git_version   # documents, by path
        self.lists = {SECRETS: []} if lists is None else lists   # items, or a status, by path
        outer, self.asked, self.where, self.listed = self, [], [], []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, code, document, content_type="application/json"):
                body = document.encode() if isinstance(document, str) else json.dumps(document).encode()
                self.send_response(code)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                if outer.garbage:
                    return self.answer(200, "<html>hello</html>", "text/html")
                if self.path == "/version":
                    if outer.version_status != 200:
                        return self.answer(outer.version_status, status(outer.version_status, "no entry for you"))
                    return self.answer(200, {"major": "1", "minor": "36", "gitVersion": outer.git_version})
                if self.path == "/api/v1/namespaces/kube-system":
                    return self.answer(200, {"kind": "Namespace", "apiVersion": "v1", "metadata": {
                        "name": "kube-system", "uid": outer.uid, "resourceVersion": "4"}})
                path, _, query = self.path.partition("?")
                if path in outer.lists:
                    outer.listed.append(self.path)
                    return self.list(outer.lists[path], dict(urllib.parse.parse_qsl(query)))
                if path in outer.openapi:
                    return self.answer(200, outer.openapi[path])
                names = outer.resources.get(self.path)
                if names is None:
                    return self.answer(404, "404 page not found", "text/plain")
                items = [{"name": n, "kind": "Thing", "namespaced": True, "verbs": VERBS} for n in names]
                self.answer(200, {"kind": "APIResourceList", "apiVersion": "v1", "resources": items})

            def list(self, items, query):
                """One item a page."""
                if isinstance(items, dict):
                    return self.answer(items["code"], items)
                at = int(query.get("continue", "0"))
                more = {"continue": str(at + 1)} if at + 1 < len(items) else {}
                self.answer(200, {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "7", **more},
                                  "items": items[at:at + 1]})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                path = self.path.split("?")[0]
                if path != "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" or not outer.reviews:
                    return self.answer(403, status(403, "reviews are forbidden"))
                user = self.headers["Impersonate-User"]
                if user and "impersonate users " + user in outer.denied:
                    return self.answer(403, {**status(403, f'users "{user}" is forbidden: User "x" cannot impersonate resource '
                                                      '"users"'), "reason": "Forbidden"})
                wanted = body["spec"]["resourceAttributes"]
                word = " ".join(filter(None, [wanted["verb"], wanted["resource"], wanted.get("group"),
                                              wanted.get("subresource"), wanted.get("name")]))
                outer.asked.append((f"{user}: " if user else "") + word)
                outer.where.append("%s in %s" % (word, wanted.get("namespace", "*")))
                allowed = outer.asked[-1] not in outer.denied
                body["metadata"] = {}
                body["status"] = {"allowed": allowed, "reason": "" if allowed else "no rule allows it"}
                self.answer(201, body)

        self.server = QuietServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def status(code, message):
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message}


def kubeconfig(url):
    return json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]})


def worker_secret(name, text, **meta):
    """The Secret of a worker."""
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {
        "name": name, "namespace": "wharf-system", "uid": "u-" + name, "resourceVersion": "5",
        "labels": {"wharf.dev/worker": "true"}, **meta},
        "data": {"kubeconfig": base64.b64encode(text.encode()).decode()}}


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cli_test.", dir=BUILD)
        os.chmod(self.folder, 0o755)
        self.config = os.path.join(self.folder, "wharf.yaml")
        self.servers = []

    def tearDown(self):
        for server in self.servers:
            server.stop()
        shutil.rmtree(self.folder)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def serve(self, name, **behaviour):
        server = ApiServer(**behaviour)
        self.servers.append(server)
        self.write(name + ".kubeconfig", kubeconfig(server.url))
        return server

    def write_config(self, workers=("w1",), adapters=("good",), more=""):
        lines = ["apiVersion: wharf.dev/v1alpha1", "kind: HostConfiguration",
                 "management: {kubeconfig: mgmt.kubeconfig}", "workers:"]
        lines += ["- {name: %s, kubeconfig: %s.kubeconfig}" % (w, w) for w in workers]
        if not workers:
            lines.pop()
        lines += ["adapters:", "  directory: " + ADAPTERS, "  enabled:"]
        lines += ["  - name: " + a.replace("_", "-") + "\n    file: " + a + ".so" for a in adapters]
        self.write("wharf.yaml", "\n".join(lines) + "\n" + more)

    def good_files(self):
        for name in ("mgmt", "w1"):
            self.write(name + ".kubeconfig", kubeconfig("http://127.0.0.1:9/" + name))

    def assert_says(self, text, *words):
        for word in words:
            self.assertIn(word, text)


class Usage(Case):
    def test_wrong_calls_end_with_2_and_say_why(self):
        cases = [
            ([], "Usage:"),
            (["chek"], 'error: unknown command "chek" for "wharf", did you mean "check"?'),
            (["frobnicate"], 'error: unknown command "frobnicate" for "wharf"\n'),
            (["--frobnicate"], "error: unknown flag: --frobnicate"),
            (["check", "--conf", "x"],
             "error: unknown flag: --conf, did you mean --config?\nSee 'wharf check --help' for usage."),
            (["check", "-config", "x"], "error: unknown flag: -config, did you mean --config?\n"),
            (["check", "--onlin=yes"], "error: unknown flag: --onlin, did you mean --online?\n"),
            (["check", "--frobnicate"], "error: unknown flag: --frobnicate\n"),
            (["check", "-x"], "error: unknown flag: -x\n"),
            (["check", "--config", "a", "--config", "b"], "error: flag given twice: --config"),
            (["check", "--help=x"], "error: flag takes no argument: --help"),
            (["--config", "x", "check"], 'error: unknown flag: --config, did you mean "wharf run --config"?\n'),
            (["plan"], "error: flag is required: -f"),
            (["plan", "-f"], "error: flag needs an argument: -f"),
            (["plan", "-f", "x", "--stat", "y"], "error: unknown flag: --stat, did you mean --status?\n"),
            (["plan", "-f", "x", "--", "-y"], "error: unexpected argument: -y"),
            (["check", "--config"], "error: flag needs an argument: --config"),
            (["check", "--config="], "error: flag needs an argument: --config"),
            (["check", "--online=yes"], "error: flag takes no argument: --online"),
            (["check", "x.yaml"], "error: unexpected argument: x.yaml"),
            (["adapters", "--online"], "error: unknown flag: --online"),
            (["run", "--online"], "error: unknown flag: --online"),
            (["version", "--config", "x"], "error: unknown flag: --config"),
            (["help", "nothing"], 'error: unknown command "nothing"'),
            (["help", "run", "check"], "error: unexpected argument: check"),
            (["join", "w2"], "error: unexpected argument: w2, did you mean --context w2?\n"),
            (["plan", "job.yaml"], "error: unexpected argument: job.yaml, did you mean -f job.yaml?\n"),
            (["exec", "job/x", "echo", "hi"], "error: unexpected argument: echo: the command follows --, as in wharf exec job/train -- ls\n"),
            (["exec", "job/x"], "error: found no command, expected KIND/NAME -- COMMAND"),
            (["explain", "train"], 'error: found "train", expected KIND/NAME'),
            (["explain", "job/a/b"], 'error: found "job/a/b", expected KIND/NAME'),
            (["logs", "job/x", "--since", "soon"], 'error: --since: found "soon", expected a duration'),
            (["logs", "job/x", "--tail", "many"], 'error: --tail: found "many", expected a number'),
            (["status", "--service-account", "x", "--server", "http://127.0.0.1:1"], 'error: --service-account: found "x", expected NAMESPACE/NAME'),
            (["drain", "w1", "--timeout", "soon"], 'error: --timeout: found "soon"'),
            (["leave", "w1", "--keep-rbac", "--timeout", "soon"], 'error: --timeout: found "soon", expected a duration'),
            (["join", "--context", "c", "--timeout", "soon"], 'error: --timeout: found "soon", expected a duration'),
            (["join", "--context", "c", "--name", "W_1"], 'error: --name: found "W_1"'),
            (["join", "--context", "c", "--namespace", "W_1"], 'error: --namespace: found "W_1"'),
            (["join", "--context", "c", "--account", "W_1"], 'error: --account: found "W_1"'),
            (["join", "--context", "c", "--server", "w1"], 'error: --server: found "w1"'),
            (["join", "--context", "c", "--labels", "-"], 'error: --labels: found "-"'),
            (["join", "--context", "c", "--namespaced", "A"], 'error: --namespaced: found "A"'),
            (["join", "--context", "c", "--config", "a", "--adapters-enabled", "job"], "error: found --config and --adapters-enabled"),
            (["rbac", "--for", "worker", "--adapters-enabled", "A"], 'error: --adapters-enabled: found "A"'),
            (["rbac", "--for", "worker", "--namespaced", "A"], 'error: --namespaced: found "A"'),
            (["check", "--online", "--namespaced", "A"], 'error: --namespaced: found "A"'),
            (["adapter"], "error: a subcommand is required: new or test\nSee 'wharf adapter --help' for usage.\n"),
            (["adapter", "old"], "error: unknown subcommand: old, expected new or test\n"),
            (["adapter", "new"], "error: flag is required: --crd\nSee 'wharf adapter new --help' for usage.\n"),
            (["adapter", "new", "--crd", "x"], "error: found no NAME, expected the adapter's name\n"),
            (["adapter", "new", "A_b", "--crd", "x"], 'error: NAME: found "A_b", expected lower-case letters'),
            (["adapter", "new", "x", "--crd", "x", "--language", "go"], 'error: --language: found "go", expected c, cpp or rust'),
            (["adapter", "new", "x", "--crd", "x", "--generic"], "error: --generic prints settings: expected neither NAME nor --output\n"),
            (["check", "--config", "~/x"], "error: --config: found ~/x, expected an absolute path"),
        ]
        for arguments, sentence in cases:
            with self.subTest(arguments=arguments):
                code, out, err = wharf(*arguments)
                self.assertEqual(code, 2)
                self.assertEqual(out, "")
                self.assertIn(sentence, err)

    def test_help_is_on_standard_output(self):
        for arguments in (["help"], ["--help"], ["-h"]):
            code, out, err = wharf(*arguments)
            self.assertEqual((code, err), (0, ""))
            self.assert_says(out, "Usage:", "run", "check", "adapters", "version", "help")
        for command in ("run", "check", "adapters", "version", "help"):
            code, out, err = wharf("help", command)
            self.assertEqual((code, err), (0, ""))
            self.assertIn("wharf " + command, out)
            self.assertEqual(wharf(command, "--help"), (code, out, err))
        self.assertIn("/etc/wharf/wharf.yaml", wharf("help", "check")[1])

    def test_help_of_one_key_has_its_entry_and_those_below_it(self):
        whole = wharf("help", "configuration")[1]
        code, out, err = wharf("help", "configuration", "serve")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual([line.split()[0] for line in out.splitlines() if line and line[0] != " "],
                         ["serve", "serve.address", "serve.socket", "serve.socketGroup", "serve.tls", "serve.tls.certFile", "serve.tls.keyFile"])
        self.assertIn(out, whole)
        code, out, _ = wharf("help", "configuration", "workers.kubeconfig")
        self.assertEqual((code, out.splitlines()[0].split()[0]), (0, "workers[].kubeconfig"))
        self.assertEqual(wharf("help", "configuration", "workers[].kubeconfig"), (code, out, ""))
        for key in [line.split()[0] for line in whole.split("\n\n", 1)[1].splitlines() if line and line[0] != " "]:
            code, out, err = wharf("help", "configuration", key)
            self.assertEqual((code, err, out.split()[0]), (0, "", key))
        for key, meant in (("serv.address", "serve.address"), ("pendingTimeout", "placement.pendingTimeout"), ("kubeconfig", "management.kubeconfig")):
            code, out, err = wharf("help", "configuration", key)
            self.assertEqual((code, out, err), (2, "", 'error: unknown key "%s", did you mean "%s"? wharf help configuration lists all keys\nSee \'wharf help --help\' for usage.\n' % (key, meant)))
        self.assertEqual(wharf("help", "configuration", "zzzzzzzzzzzz"), (2, "", 'error: unknown key "zzzzzzzzzzzz": wharf help configuration lists all keys\nSee \'wharf help --help\' for usage.\n'))

    def test_version_names_host_and_abi(self):
        for arguments in (["version"], ["--version"]):
            code, out, err = wharf(*arguments)
            self.assertEqual((code, err), (0, ""))
            self.assertRegex(out, r"^wharf \d+\.\d+\.\d+\S* \((commit [0-9a-f]{12}(-dirty)?, )?adapter ABI 1\.\d+\)\n$")
        if not os.path.exists(".git") or not shutil.which("git"):
            self.skipTest("no repository")
        commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        self.assertIn("(commit " + commit, out)

    def test_a_token_is_not_sent_in_clear_to_another_machine(self):
        self.write("c.kubeconfig", kubeconfig("https://127.0.0.1:9").replace('"user": {}', '"user": {"token": "t"}'))
        for server, words in (("http://192.0.2.1:9440", "a token is needed, and is not sent over plain HTTP to "
                                                        "http://192.0.2.1:9440: use https"),
                              ("http://localhost.example:9", "is not sent over plain HTTP"),
                              ("http://127.0.0.1:9", "your own token is not sent over plain HTTP to http://127.0.0.1:9")):
            code, _, err = wharf("exec", "job/a", "-n", "a", "--server", server, "--kubeconfig",
                                 os.path.join(self.folder, "c.kubeconfig"), "--", "ls")
            self.assertEqual(code, 1, err)
            self.assertIn(words, err)

    def test_a_pipe_without_a_reader_is_not_told(self):
        """As with `wharf help | head -0`. An error of the command itself is told, and decides the exit code."""
        for program, arguments, code, text in ((WHARF, ["help"], 141, b""), (WHARF + "-conformance", ["--help"], 141, b""),
                                               (WHARF, ["check", "--config", "/nowhere.yaml"], 1, b"/nowhere.yaml")):
            reader, writer = os.pipe()
            os.close(reader)
            done = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, check=False)
            os.close(writer)
            self.assertEqual((done.returncode, text in done.stderr, bool(done.stderr)), (code, True, bool(text)), done.stderr)

    def test_a_full_disk_is_told(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([WHARF, "help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write", done.stderr)


class Check(Case):
    def test_good_files_have_no_problems(self):
        self.good_files()
        self.write_config()
        for arguments in (["check", "--config", self.config], ["check", "--config=" + self.config]):
            code, out, err = wharf(*arguments)
            self.assertEqual((code, err), (0, ""))
            self.assert_says(out, self.config, "no problems", "1 worker,", "1 adapter,", "1 kind")

    def test_a_missing_file_is_named(self):
        for command in ("check", "adapters", "run"):
            code, out, err = wharf(command, "--config", "/nowhere/wharf.yaml")
            self.assertEqual((code, out), (1, ""))
            self.assert_says(err, "/nowhere/wharf.yaml", "No such file")

    def test_every_problem_of_every_file_comes_out_on_its_own_line(self):
        self.write("mgmt.kubeconfig", kubeconfig("http://127.0.0.1:9").replace('"current-context": "c"',
                                                                               '"current-context": "gone"'))
        self.write("w2.kubeconfig", "{ not yaml")
        self.write("w3.kubeconfig", kubeconfig("https://127.0.0.1:9").replace(
            '"server"', '"certificate-authority-data": "!!!", "server"'))
        self.write_config(workers=("w1", "w2", "w3"), adapters=("good", "no_symbol", "major_symbol", "nowhere"),
                          more="origin: Not_Good\nworkerLostTimeout: soon\nmirorRetention: 1m\n")
        code, out, err = wharf("check", "--config", self.config)
        self.assertEqual((code, out), (1, ""))
        lines = err.splitlines()
        expected = [
            r":\d+: origin: found \"Not_Good\", expected ",
            r":\d+: workerLostTimeout: found \"soon\", expected a duration",
            r":\d+: mirorRetention: unknown key, did you mean \"mirrorRetention\"\?",
            r":3: management: .*mgmt\.kubeconfig.*gone",
            r":5: w1: .*w1\.kubeconfig",
            r":6: w2: .*w2\.kubeconfig",
            r":7: w3: .*w3\.kubeconfig.*base64",
            r"adapter no-symbol: .*no_symbol\.so.*wharf_module_v1",
            r"adapter major-symbol: .*built for ABI major 2",
            r"adapter nowhere: .*nowhere\.so.*No such file",
        ]
        for pattern in expected:
            self.assertEqual(len([line for line in lines if re.search(pattern, line)]), 1, (pattern, lines))
        self.assertEqual(len(lines), len(expected) + 1, lines)
        self.assertEqual(lines[-1], self.config + ": %d problems" % len(expected))

    def test_the_sources_of_workers_are_checked_too(self):
        self.good_files()
        os.mkdir(os.path.join(self.folder, "workers.d"))
        self.write("workers.d/good.kubeconfig", kubeconfig("http://127.0.0.1:9"))
        self.write("workers.d/Bad.yaml", kubeconfig("http://127.0.0.1:9"))
        self.write("workers.d/broken.yaml", "{ not yaml")
        self.write("workers.d/.hidden.yaml", "{ not yaml")
        self.write("workers.d/notes.txt", "{ not yaml")
        sources = ("workersFrom:\n  directory: %s\n  clusterProfiles:\n    namespace: fleet\n    accessProviders:\n"
                   "    - {name: cloud, execConfig: {apiVersion: client.authentication.k8s.io/v1, command: /nowhere/plugin}}\n")
        self.write_config(more=sources % "workers.d")
        code, out, err = wharf("check", "--config", self.config)
        self.assertEqual((code, out), (1, ""))
        self.assert_says(err, "workersFrom.directory: ", "/workers.d/Bad.yaml: found worker name \"Bad\"",
                         "/workers.d/broken.yaml", "access provider cloud: the command \"/nowhere/plugin\" may not be run",
                         "credentialPlugins.allow", ": 3 problems")
        self.write_config(more=sources % "nowhere.d")
        code, out, err = wharf("check", "--config", self.config)
        self.assert_says(err, "nowhere.d: No such file or directory", ": 2 problems")

    def test_resources_that_no_kind_refers_to_are_told_with_what_may_be_meant(self):
        self.good_files()
        for text, words in (
                ("copy: [configmap]", ('dependencies.copy: found "configmap", to which no enabled kind refers, did you mean '
                                       '"configmaps"?',)),
                ("copy: [ConfigMap]", ('found "ConfigMap"', 'did you mean "configmaps"?')),
                ("check: [secrets, priorityclasses]", ('dependencies.check: found "priorityclasses"',
                                                       'did you mean "priorityclasses.scheduling.k8s.io"?')),
                ("copy: [tasks.tekton.dev]", ('found "tasks.tekton.dev"', "expected one of ", "configmaps, persistentvolumeclaims")),
                ("copy: [PriorityClass]", ('did you mean "priorityclasses.scheduling.k8s.io" in check?',)),
                ("copy: [priorityclasses.scheduling.k8s.io]",
                 ("dependencies.copy: found priorityclasses.scheduling.k8s.io, which are of the whole cluster",
                  "expected them in check")),
                ("copy: [secrets], check: [secrets]", ("found secrets in copy and in check",))):
            self.write_config(more=f"dependencies: {{{text}}}\n")
            code, _, err = wharf("check", "--config", self.config)
            self.assertEqual(code, 1, err)
            self.assert_says(err, f"{self.config}:11: ", *words, ": 1 problem")
            code, _, err = wharf("run", "--config", self.config)
            self.assertEqual(code, 1, err)
            self.assert_says(err, *words)
        for key in ("copy", "check"):   # each name that is listed is accepted there
            self.write_config(more=f"dependencies: {{{key}: [tasks.tekton.dev]}}\n")
            _, _, err = wharf("check", "--config", self.config)
            listed = re.search("expected one of (.*)", err)[1]
            self.assertEqual("storageclasses.storage.k8s.io" in listed, key == "check", err)
            self.write_config(more=f"dependencies: {{{key}: [{listed}]}}\n")
            code, _, err = wharf("check", "--config", self.config)
            self.assertEqual((code, err), (0, ""))
        self.write_config(adapters=("good", "missing"), more="dependencies: {copy: [things.of-the-missing]}\n")
        code, _, err = wharf("check", "--config", self.config)
        self.assert_says(err, "missing.so", ": 1 problem")   # it may know the resource

    def test_management_without_kubeconfig_means_the_pod_that_it_runs_in(self):
        self.good_files()
        self.write_config()
        with open(self.config, encoding="utf-8") as source:
            text = source.read().replace("management: {kubeconfig: mgmt.kubeconfig}\n", "")
        self.write("wharf.yaml", text)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("KUBERNETES_")}
        done = subprocess.run([WHARF, "check", "--config", self.config], capture_output=True, text=True,
                              env=environment, check=False)
        self.assertEqual(done.returncode, 1)
        self.assert_says(done.stderr, "management", "KUBERNETES_SERVICE_HOST")

    def test_a_terminal_is_not_controlled_by_what_is_in_a_file(self):
        self.good_files()
        self.write_config(more='origin: "\\e[31m\\nsecond line"\n')
        _, _, err = wharf("check", "--config", self.config)
        self.assertNotIn("\x1b", err)
        self.assertEqual(len(err.splitlines()), 2)


class Adapters(Case):
    def test_the_table_has_a_line_for_each_kind(self):
        self.good_files()
        self.write_config(adapters=("good", "closed", "by_settings"))
        code, out, err = wharf("adapters", "--config", self.config)
        rows = [re.split(r"\s{2,}", line) for line in out.splitlines()]
        self.assertEqual(rows[0], ["NAME", "VERSION", "ABI", "KIND", "FIELD", "VALUE", "FILE", "SHA256"])
        self.assertEqual(rows[1][:7], ["thing", "1.2.3", "1.2", "things.example.com/v1,v1beta1", "/spec/managedBy",
                                       "wharf.dev/host", os.path.join(ADAPTERS, "good.so")])
        self.assertRegex(rows[1][7], "^[0-9a-f]{64}$")
        self.assertEqual(rows[2][3:6], ["widgets/v1", "/spec/managedBy", "wharf.dev/host"])
        # "closed" is for the kind that "good" has already
        self.assertEqual(len(rows), 3)
        self.assertEqual(code, 1)
        self.assert_says(err, "adapter closed", "second adapter", "good.so")

    def test_a_closed_set_decides_the_value(self):
        self.good_files()
        self.write_config(adapters=("closed",))
        code, out, err = wharf("adapters", "--config", self.config)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("kueue.x-k8s.io/multikueue", out)


class Directory(Case):
    """Where adapters are searched, and the messages if they are missing."""

    def write_short(self, adapters):
        self.good_files()
        self.write("wharf.yaml", "apiVersion: wharf.dev/v1alpha1\nkind: HostConfiguration\n"
                   "management: {kubeconfig: mgmt.kubeconfig}\nworkers: [{name: w1, kubeconfig: w1.kubeconfig}]\n" + adapters)

    def check(self, *more):
        code, out, err = wharf("check", "--config", self.config, *more)
        return code, (out + err).replace(self.folder, "FOLDER")

    def test_what_is_missing_is_named_with_what_there_is(self):
        os.mkdir(self.folder + "/libs")
        for name in ("alpha", "beta", "gamma"):
            self.write("libs/" + name + ".so", "")
        os.mkdir(self.folder + "/empty")
        cases = [
            ("adapters:\n  directory: libs\n  enabled:\n  - name: gama\n",
             'FOLDER/wharf.yaml:8: adapter gama: FOLDER/libs/gama.so: No such file or directory; did you mean "gamma"? '
             "FOLDER/libs has alpha, beta, gamma\n"),
            ("adapters:\n  directory: libs\n  enabled:\n  - {name: zzz, file: sub/zzz.so}\n",
             "FOLDER/wharf.yaml:8: adapter zzz: FOLDER/libs/sub/zzz.so: No such file or directory; "
             "FOLDER/libs has alpha, beta, gamma\n"),
            ("adapters:\n  directory: empty\n  enabled: [{name: job}]\n",
             "FOLDER/wharf.yaml:7: adapter job: FOLDER/empty/job.so: No such file or directory; FOLDER/empty has no adapters\n"),
            ("adapters:\n  enabled: [{name: a}, {name: b}]\n  directory: nowhere\n",
             "FOLDER/wharf.yaml:7: adapters.directory: FOLDER/nowhere: No such file or directory, needed for adapters a, b\n"),
            ("adapters:\n  directory: wharf.yaml\n  enabled: [{name: a}]\n",
             "FOLDER/wharf.yaml:6: adapters.directory: FOLDER/wharf.yaml: Not a directory, needed for adapter a\n"),
        ]
        for adapters, expected in cases:
            with self.subTest(adapters=adapters):
                self.write_short(adapters)
                self.assertEqual(self.check(), (1, expected + "FOLDER/wharf.yaml: 1 problem\n"))

    def test_the_built_in_directory_is_said_to_be_that(self):
        self.write_short("adapters: {enabled: [{name: no-such-adapter}]}\n")
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assert_says(text, "FOLDER/wharf.yaml:5: ", BUILD + "/adapters", "No such file or directory", "appwrapper, generic, job", "built with")
        installed = shutil.copy(WHARF, self.folder)   # away from the build's adapters
        done = subprocess.run([installed, "check", "--config", self.config], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assert_says(done.stderr, self.config + ":5: ", "/lib/wharf/adapters", "No such file or directory", "built with",
                         "set adapters.directory, or use --adapters DIR\n")

    def test_a_directory_can_be_given(self):
        self.write_short("adapters: {directory: nowhere, enabled: [{name: good}]}\n")
        for given in (ADAPTERS, os.path.relpath(ADAPTERS)):
            self.assertEqual(self.check("--adapters", given)[0], 0)
            code, out, _ = wharf("adapters", "--config", self.config, "--adapters=" + given)
            self.assertEqual(code, 0)
            self.assertIn(os.path.join(ADAPTERS, "good.so"), out)
            plan = self.write("thing.yaml", "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n")
            self.assertEqual(wharf("plan", "--config", self.config, "--adapters", given, "-f", plan)[0], 3)
        code, text = self.check("--adapters", "/nowhere/at/all")
        self.assertEqual((code, text), (1, "--adapters: /nowhere/at/all: No such file or directory, needed for adapter good\n"
                                           "FOLDER/wharf.yaml: 1 problem\n"))
        code, _, err = wharf("run", "--config", self.config)
        self.assertEqual(code, 1)
        self.assert_says(err, "adapter or kind not loaded", "/nowhere: No such file or directory")

    def test_a_tilde_is_not_expanded(self):
        for flag in ("--adapters", "--config"):
            code, out, err = wharf("check", flag + "=~/x")
            self.assertEqual((code, out), (2, ""))
            self.assertEqual(err, "error: %s: found ~/x, expected an absolute path: ~ is not expanded\nSee 'wharf check --help' for usage.\n" % flag)

    def test_a_missing_kubeconfig_is_reported_at_the_line_of_its_key(self):
        self.write("wharf.yaml", "apiVersion: wharf.dev/v1alpha1\nkind: HostConfiguration\nmanagement:\n  context: c\n"
                   "  kubeconfig: mgmt.kubeconfig\nworkers:\n- name: w1\n  context: c\n  kubeconfig: w1.kubeconfig\n"
                   "adapters: {directory: %s, enabled: [{name: good}]}\n" % ADAPTERS)
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assert_says(text, "FOLDER/wharf.yaml:5: management: cannot read FOLDER/mgmt.kubeconfig: No such file",
                         "FOLDER/wharf.yaml:9: w1: cannot read FOLDER/w1.kubeconfig: No such file")


class Log(Case):
    def test_numbers_are_numbers_in_json_lines(self):
        self.serve("mgmt")
        self.serve("w1")
        self.write_config(more="log: {format: json, level: debug}\n")
        with subprocess.Popen([WHARF, "run", "--config", self.config], stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as host:
            try:
                lines = map(json.loads, host.stderr)
                started = next(line for line in lines if line["message"] == "wharf starting")
                request = next(line for line in lines if line["message"] == "request" and "code" in line)
            finally:
                host.kill()
        self.assertEqual((started["workers"], started["kinds"], started["config"]), (1, 1, self.config))
        self.assertEqual((type(request["code"]), type(request["ms"])), (int, float))


if __name__ == "__main__":
    if not os.access(WHARF, os.X_OK):
        sys.exit("%s is not there; run make first" % WHARF)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
