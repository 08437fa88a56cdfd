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


class Host(WithToken):
    """A host with a management cluster that this process plays."""
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

    def assert_not_started(self, serve, *words):
        child = self.run_host(serve)
        self.assertNotEqual(child.wait(60), 0)
        for word in words:
            self.assertIn(word, self.log())

    def until(self, check):
        end = time.monotonic() + 60
        while not check():
            self.assertLess(time.monotonic(), end, self.log())
            time.sleep(0.05)

    def review_tokens(self):
        """The management cluster knows every token as jane's, who may nothing. Returns the tokens."""
        tokens = []

        def review(body):
            tokens.append(body["spec"]["token"])
            return {**body, "status": {"authenticated": True, "user": {"username": "jane"}}}
        self.management.answers["POST", "/apis/authentication.k8s.io/v1/tokenreviews"] = review
        self.management.answers["POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews"] = lambda body: {**body, "status": {"allowed": False}}
        return tokens

    def assert_answers(self, *arguments, **environment):
        code, out, err = self.wharf("status", *arguments, KUBECONFIG="", **environment)
        self.assertIn(code, (0, 3), err)   # 3: not ready yet
        self.assertEqual(err, "")
        self.assertIn("origin o", out)


class LocalSocket(Host):
    """A host that serves at a Unix socket."""
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
        tokens = self.review_tokens()
        self.start_host("{socket: %s}" % self.path)
        arguments = ("--config", self.configure("{socket: %s, address: %s}" % (self.path, self.listener.address)))
        for command, verb in ((("logs", "job/train"), "get pods/log"), (("exec", "job/train", *arguments, "--", "ls"), "create pods/exec")):
            code, _, err = self.wharf(*command, *(arguments if command[0] == "logs" else ()))
            self.assertEqual(code, 1)
            self.assertIn("user jane may not " + verb, err)
        self.assertEqual(set(tokens), {SECRET})
        self.assertEqual(self.listener.headers, [])

    def test_a_default_one_is_found_by_the_port(self):
        port = free_port()
        path = os.path.join(self.runtime, "wharf", "%d.sock" % port)
        address = "{address: 127.0.0.1:%d}" % port
        self.start_host(address, path, RUNTIME_DIRECTORY=os.path.join(self.runtime, "wharf"))
        self.until(lambda: "socket=" + path in self.log())
        self.assert_answers("--config", self.configure("{address: 127.0.0.2:%d}" % port), XDG_RUNTIME_DIR=self.runtime)

    def test_the_file_of_a_killed_host_hides_no_other_host(self):
        if os.geteuid() != 0:
            self.skipTest("only root has sockets in /run/wharf")
        port = free_port()
        left = "/run/wharf/%d.sock" % port
        os.makedirs(os.path.dirname(left), exist_ok=True)
        with socket.socket(socket.AF_UNIX) as killed:
            killed.bind(left)
        self.addCleanup(os.unlink, left)
        path = os.path.join(self.runtime, "wharf", "%d.sock" % port)
        self.start_host("{address: 127.0.0.1:%d}" % port, path, RUNTIME_DIRECTORY=os.path.dirname(path))
        self.assert_answers("--config", self.configure("{address: 127.0.0.2:%d}" % port), XDG_RUNTIME_DIR=self.runtime)

    def test_that_of_a_killed_host_is_replaced_and_that_of_a_live_one_is_not(self):
        self.start_host("{socket: %s}" % self.path).kill()
        self.children.pop().wait()
        self.assertTrue(os.path.lexists(self.path))
        self.start_host("{socket: %s}" % self.path)
        self.assert_not_started("{socket: %s}" % self.path, "serve.socket: " + self.path, "another process listens there already", "configure another serve.socket")

    def test_a_symlink_or_a_file_is_left_alone(self):
        os.mkdir(os.path.dirname(self.path), 0o700)
        os.symlink("/etc/hostname", self.path)
        serve = "{socket: %s}" % self.path
        self.assert_not_started(serve, "serve.socket: " + self.path, "found a symlink, expected a socket or nothing")
        os.unlink(self.path)
        with open(self.path, "w", encoding="utf-8"):
            self.assert_not_started(serve, "found a file, expected a socket or nothing")

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


class Tls(Host):
    """A host that serves TLS at its address."""
    def serve_tls(self):
        self.served = certificate(self.runtime, "host")
        self.port = free_port()
        self.url = "https://127.0.0.1:%d" % self.port
        self.serve = "{address: 127.0.0.1:%d, socket: %s, tls: {certFile: %s, keyFile: %s}}" % (self.port, self.path, *self.served)
        self.start_host(self.serve)

    def is_served(self, file):
        """Whether the host proves itself with this certificate."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 60) as plain, \
                    ssl.create_default_context(cafile=file).wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                secure.sendall(b"GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                return b" 200 OK\r\n" in secure.recv(4096)
        except ssl.SSLCertVerificationError:
            return False

    def test_its_certificate_is_verified_before_a_token_is_sent(self):
        tokens = self.review_tokens()
        self.serve_tls()
        self.assert_answers("--server", self.url, "--certificate-authority", self.served[0])
        commands = (("logs", "job/train"), ()), (("exec", "job/train"), ("--", "ls"))
        for command, more in commands:
            for ways in (("--certificate-authority", self.files[0]), ()):   # of another authority; the system's
                code, out, err = self.wharf(*command, "--server", self.url, *ways, *more)
                self.assertEqual((code, out), (1, ""))
                self.assertIn("certificate", err)
        self.assertEqual(tokens, [])
        for command, more in commands:
            code, out, err = self.wharf(*command, "--server", self.url, "--certificate-authority", self.served[0], *more)
            self.assertEqual((code, out), (1, ""))
            self.assertIn("user jane may not ", err)
        self.assertEqual(set(tokens), {SECRET})
        # A configuration names its certificate; without the socket it is the way.
        os.rename(self.path, self.path + ".away")
        self.assert_answers("--config", self.configure(self.serve))
        with socket.create_connection(("127.0.0.1", self.port), 60) as plain:
            plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try:
                self.assertNotIn(b"200", plain.recv(4096))
            except ConnectionError:
                pass

    def test_a_replaced_certificate_is_used_and_a_wrong_one_is_not(self):
        self.serve_tls()
        self.assertTrue(self.is_served(self.served[0]))
        first = os.path.join(self.runtime, "first.crt")
        shutil.copy(self.served[0], first)
        certificate(self.runtime, "host")
        self.until(lambda: self.is_served(self.served[0]))
        self.assertFalse(self.is_served(first))
        with open(self.served[1], "w", encoding="utf-8") as key:
            key.write("none")
        self.until(lambda: self.is_served(self.served[0]) and "the served certificate was not replaced" in self.log())

    def test_files_that_are_no_pair_are_an_error_at_the_start(self):
        one, other = certificate(self.runtime, "one"), certificate(self.runtime, "other")
        for cert, key, words in ((one[0], other[1], "found another key than that of the certificate"), (one[1], one[1], one[1]),
                                 (os.path.join(self.runtime, "absent"), one[1], "absent")):
            serve = "{address: 127.0.0.1:0, tls: {certFile: %s, keyFile: %s}}" % (cert, key)
            self.assert_not_started(serve, "serve.tls: ", words)
            code, _, err = self.wharf("check", "--config", self.configure(serve))
            self.assertEqual(code, 1)
            for word in ("host.yaml:7: serve.tls: ", words):
                self.assertIn(word, err)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:])
