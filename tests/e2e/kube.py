# SPDX-License-Identifier: Apache-2.0
"""A small client for one API server. Objects are plain dicts; an error is raised with its Status body."""
import copy
import http.client
import json
import socket
import ssl
import threading
import time
import urllib.parse

AGENT = "e2e/1"

# plural -> (the start of its path, whether it lives in a namespace)
_KINDS = {
    "namespaces": ("/api/v1", False), "nodes": ("/api/v1", False),
    "pods": ("/api/v1", True), "services": ("/api/v1", True), "events": ("/api/v1", True), "resourcequotas": ("/api/v1", True),
    "serviceaccounts": ("/api/v1", True), "configmaps": ("/api/v1", True), "secrets": ("/api/v1", True),
    "persistentvolumeclaims": ("/api/v1", True), "priorityclasses": ("/apis/scheduling.k8s.io/v1", False),
    "deployments": ("/apis/apps/v1", True),
    "jobs": ("/apis/batch/v1", True), "cronjobs": ("/apis/batch/v1", True),
    "roles": ("/apis/rbac.authorization.k8s.io/v1", True), "rolebindings": ("/apis/rbac.authorization.k8s.io/v1", True),
    "clusterroles": ("/apis/rbac.authorization.k8s.io/v1", False),
    "clusterrolebindings": ("/apis/rbac.authorization.k8s.io/v1", False),
    "selfsubjectaccessreviews": ("/apis/authorization.k8s.io/v1", False),
    "subjectaccessreviews": ("/apis/authorization.k8s.io/v1", False),
    "customresourcedefinitions": ("/apis/apiextensions.k8s.io/v1", False),
}


def know(plural, api_version, namespaced=True):
    """Registers a resource in this version."""
    _KINDS[plural] = (f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}", namespaced)


class ApiError(Exception):
    """An answer other than 2xx; `status` is the Status object, or one made from another body."""

    def __init__(self, method, path, code, body):
        try:
            self.status = json.loads(body)
        except ValueError:
            self.status = {"message": body.decode(errors="replace")[:500]}
        self.code, self.reason = code, self.status.get("reason", "")
        super().__init__(f"{method} {path}: {code} {self.reason}: {self.status.get('message', '')}")


class Unreachable(Exception):
    """No answer."""


def path_of(plural, namespace=None, name=None, subresource=None):
    start, namespaced = _KINDS[plural]
    parts = [start]
    if namespaced and namespace:
        parts += ["namespaces", namespace]
    parts += [part for part in (plural, name, subresource) if part]
    return "/".join(parts)


class Stream:
    """The lines of a watch as bytes, each as soon as it is complete. It has its own connection, which is open when this
    has been made; it ends when the server or close() ends it."""

    def __init__(self, connection, path, headers):
        connection.request("GET", path, headers=headers)
        self.socket, self.answer = connection.sock, connection.getresponse()
        if self.answer.status != 200:
            raise ApiError("GET", path, self.answer.status, self.answer.read())

    def __iter__(self):
        rest = b""
        try:
            while chunk := self.answer.read1(65536):
                *lines, rest = (rest + chunk).split(b"\n")
                yield from lines
        except (OSError, http.client.HTTPException):
            return

    def close(self):
        """From any thread. Not SSLSocket's own shutdown, which a thread that reads does not survive."""
        socket.socket.shutdown(self.socket, socket.SHUT_RDWR)


class Client:
    """Requests to https://127.0.0.1:port. May be used from any thread: each has its own connection."""

    def __init__(self, port, ca, certificate=None, key=None, token=None):
        self.port, self.token, self.impersonated = port, token, {}
        self.context = ssl.create_default_context(cafile=ca)
        if certificate:
            self.context.load_cert_chain(certificate, key)
        self.local = threading.local()

    @classmethod
    def of(cls, kubeconfig):
        """For the cluster and the user of a kubeconfig that servers.py has written."""
        with open(kubeconfig, encoding="utf-8") as file:
            config = json.load(file)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        port, authority = urllib.parse.urlsplit(cluster["server"]).port, cluster["certificate-authority"]
        if "tokenFile" in user:
            with open(user["tokenFile"], encoding="utf-8") as file:
                return cls(port, authority, token=file.read().strip())
        return cls(port, authority, user["client-certificate"], user["client-key"])

    def acting_as(self, user, group=None):
        """The same client, which impersonates this user."""
        other = copy.copy(self)
        other.impersonated = {"Impersonate-User": user, **({"Impersonate-Group": group} if group else {})}
        return other

    def _connection(self, timeout):
        kept = getattr(self.local, "connection", None)
        if kept is not None and time.monotonic() > self.local.used + 60:  # an API server closes idle ones after 90 s
            kept.close()
            kept = None
        self.local.used = time.monotonic()
        if kept is None:
            kept = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=timeout)
            self.local.connection = kept
        elif kept.sock:
            kept.sock.settimeout(timeout)
        return kept

    def _exchange(self, method, path, body, headers, timeout):
        connection = self._connection(timeout)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            self.local.warnings = answer.headers.get_all("Warning") or []
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            self.local.connection = None
            raise Unreachable(f"{method} {path}: {error!r}") from error

    def _headers(self):
        headers = {"Accept": "application/json", "User-Agent": AGENT}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        return {**headers, **self.impersonated}

    def raw(self, method, path, body=None, content_type="application/json", query=None, timeout=20.0):
        """The answer's body as bytes. A GET on a kept connection that the server has closed is sent once more."""
        headers = self._headers()
        if body is not None:
            headers["Content-Type"] = content_type
            if not isinstance(body, bytes):
                body = json.dumps(body).encode()
        if query:
            path += "?" + urllib.parse.urlencode(query)
        kept = getattr(self.local, "connection", None) is not None
        try:
            code, answer = self._exchange(method, path, body, headers, timeout)
        except Unreachable:
            if method != "GET" or not kept:
                raise
            code, answer = self._exchange(method, path, body, headers, timeout)
        if not 200 <= code < 300:
            raise ApiError(method, path, code, answer)
        return answer

    def warnings(self):
        """Those of the last answer to this thread."""
        return self.local.warnings

    def call(self, method, path, body=None, **more):
        return json.loads(self.raw(method, path, body, **more))

    def get(self, plural, namespace, name):
        return self.call("GET", path_of(plural, namespace, name))

    def find(self, plural, namespace, name):
        """The object, or None if there is none."""
        try:
            return self.get(plural, namespace, name)
        except ApiError as error:
            if error.code != 404:
                raise
            return None

    def list(self, plural, namespace=None, selector=None, fields=None, query=None):
        asked = dict(query or {})
        if selector:
            asked["labelSelector"] = selector
        if fields:
            asked["fieldSelector"] = fields
        return self.call("GET", path_of(plural, namespace), query=asked)["items"]

    def watch(self, plural, namespace=None, query=None):
        """A Stream of what there is, each object as an ADDED event, and of what changes."""
        path = path_of(plural, namespace) + "?" + urllib.parse.urlencode({"watch": "true", **(query or {})})
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context)
        return Stream(connection, path, self._headers())

    def create(self, plural, namespace, body, subresource=None, name=None, query=None):
        return self.call("POST", path_of(plural, namespace, name, subresource), body, query=query)

    def token_of(self, namespace, account, seconds=7200, **spec):
        """Of a ServiceAccount; `spec` has further fields of the request."""
        return self.create("serviceaccounts", namespace, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {
            "expirationSeconds": seconds, **spec}}, "token", account)["status"]["token"]

    def replace(self, plural, namespace, body, subresource=None):
        """PUT: rejected if the object has changed since `body` was read."""
        return self.call("PUT", path_of(plural, namespace, body["metadata"]["name"], subresource), body)

    def patch(self, plural, namespace, name, patch, subresource=None, timeout=20.0):
        """A JSON merge patch."""
        return self.call("PATCH", path_of(plural, namespace, name, subresource), patch, timeout=timeout,
                         content_type="application/merge-patch+json")

    def patch_status(self, plural, namespace, name, patch):
        return self.patch(plural, namespace, name, patch, "status")

    def delete(self, plural, namespace, name, grace=None, propagation="Background", uid=None):
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        if uid:
            options["preconditions"] = {"uid": uid}
        return self.call("DELETE", path_of(plural, namespace, name), options)

    def delete_all(self, plural, namespace, propagation="Background"):
        """One request for all; their finalizers may keep them for longer."""
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation, "gracePeriodSeconds": 0}
        return self.call("DELETE", path_of(plural, namespace), options, timeout=300)

    def apply_yaml(self, plural, namespace, name, document, query=None, timeout=20.0):
        """Server-side apply of one YAML document, verbatim from its file; unknown fields are rejected."""
        asked = {"fieldManager": "e2e", "force": "true", "fieldValidation": "Strict", **(query or {})}
        body = document if isinstance(document, bytes) else document.encode()
        return self.call("PATCH", path_of(plural, namespace, name), body, query=asked, timeout=timeout,
                         content_type="application/apply-patch+yaml")
