# SPDX-License-Identifier: Apache-2.0
"""Holds one write of the host in workers, by a validating webhook: after admission, before anything is stored."""
import base64
import json
import threading

import tls_server
from wait import until

_NAME = "gate.e2e.wharf.dev"


class Gate:
    """Installed in these clusters as a context manager. It lets everything pass until `hold` is called."""

    def __init__(self, clusters):
        self.clusters, self.lock = clusters, threading.Condition()
        self.wanted, self.held, self.verdict = None, None, None
        self.server = tls_server.serve(clusters[0].authority, "gate", _Handler, self)

    def __enter__(self):
        with open(self.clusters[0].authority.certificate, "rb") as file:
            bundle = base64.b64encode(file.read()).decode()
        rules = [{"apiGroups": ["", "batch"], "apiVersions": ["v1"], "operations": ["CREATE"],
                  "resources": ["configmaps", "secrets", "jobs"]}]
        for cluster in self.clusters:
            cluster.admin.call("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {
                "metadata": {"name": _NAME}, "webhooks": [{
                    "name": _NAME, "clientConfig": {"url": f"https://127.0.0.1:{self.server.server_port}/", "caBundle": bundle}, "rules": rules,
                    "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": 30,
                    "matchConditions": [{"name": "host", "expression": "request.userInfo.username == 'wharf'"}]}]})
        return self

    def __exit__(self, *_):
        self.let(True)
        for cluster in self.clusters:
            cluster.admin.call("DELETE", f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{_NAME}")
        self.server.shutdown()
        self.server.server_close()

    def hold(self, resource, name):
        """The next creation of this object waits for `let`."""
        with self.lock:
            self.wanted, self.held, self.verdict = (resource, name), None, None

    def until_held(self):
        until(lambda: self.held, f"the creation of {'/'.join(self.wanted)} to be tried", every=0.002)

    def let(self, allowed):
        """What is held is stored or refused, and nothing else is held."""
        with self.lock:
            self.wanted, self.verdict = None, allowed
            self.lock.notify_all()

    def review(self, request):
        """Whether it is allowed."""
        with self.lock:
            if self.wanted != (request["resource"]["resource"], request["name"]):
                return True
            self.held = request["uid"]
            self.lock.wait_for(lambda: self.verdict is not None)
            return self.verdict


class _Handler(tls_server.Handler):
    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        allowed = self.server.owner.review(review["request"])
        answer = json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": {
            "uid": review["request"]["uid"], "allowed": allowed}}).encode()
        try:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)
        except OSError:
            self.close_connection = True   # the API server gave the request up, as its client is gone
