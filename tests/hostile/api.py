# SPDX-License-Identifier: Apache-2.0
"""A worker's API server over plain HTTP on 127.0.0.1, reduced to what the host requests. It has no Jobs and rejects
new ones for a quota, so that they are placed elsewhere; a scenario replaces some of its answers (scenarios.py)."""
import json
import re
import socket
import threading
import time
import urllib.parse
import uuid

JOBS = re.compile(r"/apis/batch/v1/(?:namespaces/([^/]+)/)?jobs(?:/([^/]+))?(/status)?$")
RESOURCES = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "batch/v1", "resources": [
    {"name": "jobs", "singularName": "job", "namespaced": True, "kind": "Job",
     "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"]}]}


class Closed(Exception):
    """The host closed the connection, or the server ends."""


class Request:
    def __init__(self, method, target, body):
        self.method, self.body = method, body
        parts = urllib.parse.urlsplit(target)
        self.path = parts.path
        self.query = dict(urllib.parse.parse_qsl(parts.query))
        jobs = JOBS.match(self.path)
        self.namespace, self.name = (jobs.group(1), jobs.group(2)) if jobs else (None, None)
        collection = jobs and method == "GET" and not self.name
        self.watches = bool(collection and self.query.get("watch") in ("true", "1"))
        self.lists = bool(collection and not self.watches)
        self.creates = bool(jobs and method == "POST")
        self.deletes = bool(jobs and method == "DELETE")
        self.patches = bool(jobs and method == "PATCH")
        # The host only requests mirrors of one origin.
        self.origin = self.query.get("labelSelector", "").partition("=")[2]


class Connection:
    def __init__(self, server, sock):
        self.server, self.sock, self.rest = server, sock, b""

    def send(self, data):
        if self.server.stopping:
            raise Closed
        try:
            self.sock.sendall(data if isinstance(data, bytes) else data.encode())
        except OSError as error:
            raise Closed from error

    def head(self, status=200, kind="application/json", **headers):
        lines = [f"HTTP/1.1 {status} Whatever", f"Content-Type: {kind}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.send("\r\n".join(lines) + "\r\n\r\n")

    def answer(self, value, status=200):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.head(status, Content_Length=len(body))
        self.send(body)

    def refuse(self, status, reason, message):
        self.answer({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "reason": reason,
                     "message": message}, status)

    def chunk(self, data):
        data = data if isinstance(data, bytes) else data.encode()
        self.send(b"%x\r\n" % len(data) + data + b"\r\n")

    def wait(self, seconds):
        """Until the time is over, the host closes, or the server ends."""
        until = time.monotonic() + seconds
        self.sock.settimeout(0.1)
        while time.monotonic() < until:
            if self.server.stopping:
                raise Closed
            try:
                data = self.sock.recv(65536)
                if not data:
                    raise Closed
                self.rest += data
            except socket.timeout:
                continue
            except OSError as error:
                raise Closed from error
        self.sock.settimeout(None)

    def request(self):
        """The next one, or None at the end of the connection."""
        data = self.rest
        while b"\r\n\r\n" not in data:
            data = self._more(data)
            if data is None:
                return None
        head, _, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
        wanted = int(length.group(1)) if length else 0
        while len(body) < wanted:
            body = self._more(body)
            if body is None:
                return None
        self.rest = body[wanted:]
        method, target = head.split(b"\r\n")[0].decode().split(" ")[:2]
        return Request(method, target, body[:wanted])

    def _more(self, data):
        try:
            more = self.sock.recv(1 << 16)
        except OSError:
            return None
        return data + more if more else None


class Server:
    """One worker. `scenario(connection, request)` answers what it wants to and returns True then."""

    def __init__(self, scenario=None):
        self.scenario, self.stopping = scenario, False
        self.uid, self.created, self.hits, self.patches = str(uuid.uuid4()), [], 0, 0
        self.is_over = False
        self.taken = set()   # Jobs whose creation was not rejected
        self.asked = set()   # Jobs that were to be created
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self):
        self.stopping = True
        self.listener.close()

    def kubeconfig(self, name):
        return json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": name,
            "clusters": [{"name": name, "cluster": {"server": f"http://127.0.0.1:{self.port}"}}],
            "users": [{"name": name, "user": {}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}]})

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(Connection(self, sock),), daemon=True).start()

    def _serve(self, connection):
        try:
            while True:
                request = connection.request()
                if request is None:
                    break
                made = json.loads(request.body)["metadata"]["name"] if request.creates else None
                self.taken.add(made)
                self.asked.add(made)
                if self.scenario and self.scenario(connection, request):
                    self.hits += 1
                    continue
                self.taken.discard(made)
                if not self.answer(connection, request):
                    break
        except (Closed, ValueError):
            pass
        finally:
            connection.sock.close()

    def answer(self, connection, request):
        """The answer of an API server. False: the connection is closed."""
        if request.watches and request.query.get("sendInitialEvents") == "true" and self.scenario:
            connection.refuse(422, "Invalid", "sendInitialEvents is forbidden")  # so that it is asked for lists
        elif request.watches:
            self.watch(connection, request)
            return False
        elif request.lists:
            connection.answer({"kind": "JobList", "apiVersion": "batch/v1", "metadata": {"resourceVersion": "100"},
                               "items": []})
        elif request.path == "/api/v1/namespaces/kube-system":
            connection.answer({"kind": "Namespace", "apiVersion": "v1", "metadata": {
                "name": "kube-system", "uid": self.uid, "resourceVersion": "1"}})
        elif request.path == "/apis/batch/v1":
            connection.answer(RESOURCES)
        elif request.creates:
            connection.refuse(403, "Forbidden", "jobs is forbidden: exceeded quota: none")
        else:
            connection.refuse(404, "NotFound", "not found")
        return True

    def watch(self, connection, request, events=()):
        """The beginning of a streaming list, the events, and then bookmarks."""
        connection.head(Transfer_Encoding="chunked")
        if request.query.get("sendInitialEvents") == "true":
            connection.chunk(event("BOOKMARK", {"kind": "Job", "apiVersion": "batch/v1", "metadata": {
                "resourceVersion": "100", "annotations": {"k8s.io/initial-events-end": "true"}}}))
        for each in events:
            connection.chunk(each)
        version = 1000000
        while True:
            connection.wait(5)
            version += 1
            connection.chunk(event("BOOKMARK", {"kind": "Job", "apiVersion": "batch/v1", "metadata": {
                "resourceVersion": str(version)}}))


def event(kind, value):
    return json.dumps({"type": kind, "object": value}, separators=(",", ":")) + "\n"
