#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which token the commands send to which address, and the Unix socket of a host on the same machine.

    local_test.py BUILD_FOLDER [unittest arguments]
"""
import json
import os
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import tempfile
import time
import unittest

from operate_test import BUILD, WHARF, Case, Server, jwt

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from free_port import free_port  # noqa: E402

SECRET = "the-users-own-token"
UNAUTHORIZED = (401, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 401, "reason": "Unauthorized",
                      "message": "a token of the management cluster is needed"})
COMMANDS = (("status",), ("status", "workers"), ("explain", "job/train"), ("logs", "job/train"), ("exec", "job/train", "--", "ls"))


class Listener(Server):
    """Answers every GET with 401, as a host does that wants a token, and keeps all headers."""
    def __init__(self):
        super().__init__({})
        self.headers = []
        handler, outer = self.server.RequestHandlerClass, self
        handle = handler.do_GET

        def listen(request):
            outer.headers.append(str(request.headers))
            outer.answers[("GET", request.path.split("?")[0])] = UNAUTHORIZED
            handle(request)
        handler.do_GET = listen

    def tokens(self):
        return {line.split("Bearer ", 1)[1] for text in self.headers for line in text.splitlines() if "Bearer " in line}


def certificate(folder, name="localhost"):
    """A self-signed one for loopback addresses; the paths of its two files."""
    files = [os.path.join(folder, "%s.%s" % (name, kind)) for kind in ("crt", "key")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=" + name,
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


class WithToken(Case):
    """The caller has a token for the management cluster, which is served over TLS."""
    def setUp(self):
        super().setUp()
        self.files = certificate(self.folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.files)
        self.management.server.socket = context.wrap_socket(self.management.server.socket, server_side=True)
        self.listener = Listener()
        self.addCleanup(self.listener.stop)
        self.url = "http://" + self.listener.address
        self.become(SECRET)

    def become(self, token):
        with open(self.kubeconfig, encoding="utf-8") as file:
            config = json.load(file)
        config["users"][0]["user"] = {"token": token}
        config["clusters"][0]["cluster"] = {"server": "https://" + self.management.address, "certificate-authority": self.files[0]}
        self.write("kubeconfig", json.dumps({**config, "current-context": "mgmt"}))


class Stranger(WithToken):
    """A program that is not the host listens at the address that a command uses."""
    def grant(self, account, token="for-the-host-alone"):
        """The management cluster answers a TokenRequest; returns its bodies."""
        bodies = []

        def answer(body):
            bodies.append(body)
            return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                    "status": {"token": token, "expirationTimestamp": "2030-01-02T03:04:05Z"}}
        self.management.answers["POST", "/api/v1/namespaces/%s/serviceaccounts/%s/token" % account] = answer
        return bodies

    def run_all(self):
        for command in COMMANDS:
            self.listener.headers.clear()
            code, out, err = self.wharf(command[0], "--server", self.url, *command[1:])
            self.assertEqual((code, out), (1, ""), err)
            yield command, err

    def test_it_does_not_get_the_users_own_token(self):
        for command, err in self.run_all():
            self.assertNotIn(SECRET, "".join(self.listener.headers), command)
            self.assertEqual(err.count("\n"), 1, err)
            for word in (self.url, "your own token is not sent", "wharf-system/wharf-viewer", "--server unix:", "--context"):
                self.assertIn(word, err)

    def test_a_token_for_the_host_alone_is_sent(self):
        bodies = self.grant(("wharf-system", "wharf-viewer"))
        for command, _ in self.run_all():
            self.assertEqual(self.listener.tokens(), {"for-the-host-alone"}, command)
        self.assertEqual([body["spec"]["audiences"] for body in bodies], [["wharf.dev"]] * len(COMMANDS))

    def test_a_service_account_gets_one_of_its_own(self):
        own = jwt(sub="system:serviceaccount:team-a:ci", aud=["https://kubernetes.default.svc"])
        self.become(own)
        bodies = self.grant(("team-a", "ci"))
        for command, _ in self.run_all():
            self.assertEqual(self.listener.tokens(), {"for-the-host-alone"}, command)
        self.assertEqual(len(bodies), len(COMMANDS))

    def test_a_users_token_that_is_for_the_host_alone_is_sent(self):
        for audience, sent in ((["wharf.dev"], True), ("wharf.dev", True), (["wharf.dev", "https://kubernetes.default.svc"], False),
                               (["other"], False), ([], False)):
            own = jwt(sub="jane", aud=audience)
            self.become(own)
            for command, _ in self.run_all():
                self.assertEqual(own in self.listener.tokens(), sent, (command, audience))


class LocalSocket(WithToken):
    """A host that serves at a Unix socket."""
    def setUp(self):
        super().setUp()
        self.runtime = tempfile.mkdtemp(prefix="wharf-local.")
        self.addCleanup(shutil.rmtree, self.runtime)
        self.path = os.path.join(self.runtime, "wharf", "host.sock")
        self.children = []

    def tearDown(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
        super().tearDown()

    def configure(self, serve):
        return self.write("host.yaml", "\n".join([
            "apiVersion: wharf.dev/v1alpha1", "kind: HostConfiguration", "origin: o", "management: {kubeconfig: kubeconfig}",
            "workersFrom: {secrets: true}", "adapters: {directory: %s, enabled: [{name: job}]}" % os.path.join(BUILD, "adapters"),
            "serve: %s" % serve]) + "\n")

    def run_host(self, serve, **environment):
        with open(os.path.join(self.folder, "host.log"), "wb") as log:
            child = subprocess.Popen([WHARF, "run", "--config", self.configure(serve)], stdin=subprocess.DEVNULL, stderr=log,
                                     env={"PATH": os.environ["PATH"], "HOME": self.folder, **environment})
        self.children.append(child)
        return child

    def log(self):
        with open(os.path.join(self.folder, "host.log"), encoding="utf-8") as file:
            return file.read()

    def start_host(self, serve, path=None, **environment):
        """Returns when it listens."""
        child = self.run_host(serve, **environment)
        end = time.monotonic() + 60
        while True:
            with socket.socket(socket.AF_UNIX) as probe:
                if probe.connect_ex(path or self.path) == 0:
                    return child
            self.assertIsNone(child.poll(), self.log())
            self.assertLess(time.monotonic(), end, self.log())
            time.sleep(0.02)

    def assert_not_started(self, *words):
        child = self.run_host("{socket: %s}" % self.path)
        self.assertNotEqual(child.wait(60), 0)
        for word in ("serve.socket: ", self.path, *words):
            self.assertIn(word, self.log())

    def assert_answers(self, *arguments, **environment):
        code, out, err = self.wharf("status", *arguments, KUBECONFIG="", **environment)
        self.assertIn(code, (0, 3), err)   # 3: not ready yet
        self.assertEqual(err, "")
        self.assertIn("origin o", out)

    def test_its_owner_needs_no_token_and_it_is_removed(self):
        host = self.start_host("{socket: %s}" % self.path)
        mode = os.lstat(self.path)
        self.assertEqual((stat.S_ISSOCK(mode.st_mode), stat.S_IMODE(mode.st_mode), mode.st_uid), (True, 0o600, os.geteuid()))
        for arguments in (("--config", self.configure("{socket: %s}" % self.path)), ("--server", "unix:" + self.path), ("--server", "unix://" + self.path)):
            self.assert_answers(*arguments)
        host.send_signal(signal.SIGTERM)
        self.assertEqual(host.wait(60), 0, self.log())
        self.assertFalse(os.path.lexists(self.path))
        code, out, err = self.wharf("status", "--server", "unix:" + self.path)
        self.assertEqual((code, out), (1, ""))
        self.assertIn("--server: %s: no host's socket" % self.path, err)

    def test_logs_need_a_token_which_the_socket_gets_and_the_port_beside_it_does_not(self):
        reviews = []

        def review(body):
            reviews.append(body["spec"])
            return {**body, "status": {"authenticated": True, "user": {"username": "jane"}}}
        self.management.answers["POST", "/apis/authentication.k8s.io/v1/tokenreviews"] = review
        self.management.answers["POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews"] = lambda body: {**body, "status": {"allowed": False}}
        self.start_host("{socket: %s}" % self.path)
        arguments = ("--config", self.configure("{socket: %s, address: %s}" % (self.path, self.listener.address)))
        for command, verb in ((("logs", "job/train"), "get pods/log"), (("exec", "job/train", *arguments, "--", "ls"), "create pods/exec")):
            reviews.clear()
            code, _, err = self.wharf(*command, *(arguments if command[0] == "logs" else ()))
            self.assertEqual(code, 1)
            self.assertIn("user jane may not " + verb, err)
            self.assertEqual([spec["token"] for spec in reviews if "token" in spec][:1], [SECRET] if command[0] == "logs" else [])
        self.assertEqual(self.listener.headers, [])

    def test_a_default_one_is_found_by_the_port(self):
        port = free_port()
        path = os.path.join(self.runtime, "wharf", "%d.sock" % port)
        address = "{address: 127.0.0.1:%d}" % port
        self.start_host(address, path, RUNTIME_DIRECTORY=os.path.join(self.runtime, "wharf"))
        self.assertIn("socket=" + path, self.log())
        self.assert_answers("--config", self.configure("{address: 127.0.0.2:%d}" % port), XDG_RUNTIME_DIR=self.runtime)

    def test_that_of_a_killed_host_is_replaced_and_that_of_a_live_one_is_not(self):
        self.start_host("{socket: %s}" % self.path).kill()
        self.children.pop().wait()
        self.assertTrue(os.path.lexists(self.path))
        self.start_host("{socket: %s}" % self.path)
        self.assert_not_started("another process listens there already", "configure another serve.socket")

    def test_a_symlink_or_a_file_is_left_alone(self):
        os.mkdir(os.path.dirname(self.path), 0o700)
        os.symlink("/etc/hostname", self.path)
        self.assert_not_started("found a symlink, expected a socket or nothing")
        os.unlink(self.path)
        with open(self.path, "w", encoding="utf-8"):
            self.assert_not_started("found a file, expected a socket or nothing")

    def test_a_default_one_that_cannot_be_made_is_logged(self):
        folder = os.path.join(self.runtime, "open")
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        port = free_port()
        host = self.run_host("{address: 127.0.0.1:%d}" % port, RUNTIME_DIRECTORY=folder)
        end = time.monotonic() + 60
        while "wharf starting" not in self.log():
            self.assertTrue(host.poll() is None and time.monotonic() < end, self.log())
            time.sleep(0.02)
        self.assertRegex(self.log(), r"WARN +no Unix socket for callers on this machine path=.*/open/%d\.sock error=.*writable by everyone" % port)
        self.assert_answers("--server", "http://127.0.0.1:%d" % port)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:])
