#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which token the commands send to which address, and the Unix socket of a host on the same machine.

    local_test.py BUILD_FOLDER [unittest arguments]
"""
import json
import os
import ssl
import subprocess
import sys
import unittest

from operate_test import Case, Server, jwt

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


class Stranger(Case):
    """A program that is not the host listens at the address that a command uses."""
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


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:])
