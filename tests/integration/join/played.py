# SPDX-License-Identifier: Apache-2.0
"""An API server in memory, of the part that `wharf join` and `wharf leave` need, and a host that tells of workers."""
import http.server
import json
import threading
import urllib.parse


class Server:
    """Serves answer(method, path, query, body) -> (code, document) at self.port."""

    def __init__(self, port=0):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1   # an answer in one packet

            def log_message(self, *_):
                pass

            def handle_one(self):
                url = urllib.parse.urlsplit(self.path)
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                query = dict(urllib.parse.parse_qsl(url.query))
                with outer.lock:
                    code, document = outer.answer(self.command, url.path, query, body)
                text = json.dumps(document).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = do_DELETE = handle_one

        self.lock = threading.Lock()
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.http.server_port
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()


def status(code, reason, message):
    return code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
                  "message": message}


def merge(into, patch):
    for key, value in patch.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict):
            merge(into.setdefault(key, {}), value)
        else:
            into[key] = value


class Cluster(Server):
    """`objects` by path; `denied` are pairs of verb and resource that SelfSubjectAccessReview denies."""

    def __init__(self, name):
        super().__init__()
        self.name, self.version, self.denied, self.writes = name, 1, set(), []
        self.reviews = []
        self.ending = []   # paths of Jobs that go one after the other, each once a list has shown it
        self.objects = {"/api/v1/namespaces/kube-system": {
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "kube-system", "uid": f"uid-of-{name}", "resourceVersion": "1"}}}

    def answer(self, method, path, query, body):
        if path.endswith("/selfsubjectaccessreviews"):
            asked = body["spec"]["resourceAttributes"]
            self.reviews.append(asked)
            return 201, {**body, "status": {"allowed": (asked["verb"], asked["resource"]) not in self.denied}}
        if path == "/apis/batch/v1":
            return 200, {"kind": "APIResourceList", "resources": [{"name": "jobs", "verbs": []}]}
        if method != "GET":
            self.writes.append((method, path, query, body))
        if path.endswith("/token"):
            return 201, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                         "status": {"token": f"token-{len(self.writes)}",
                                    "expirationTimestamp": "2030-01-02T03:04:05Z"}}
        return self.objects_answer(method, path, query, body)

    def objects_answer(self, method, path, query, body):
        found = self.objects.get(path)
        if method == "GET" and found is None:
            listed = [item for where, item in self.objects.items() if where.rpartition("/")[0] == path
                      or path.count("/namespaces/") == 0 and where.rpartition("/")[2] == item["metadata"]["name"]
                      and where.rpartition("/")[0].rpartition("/")[2] == path.rpartition("/")[2]]
            key = query.get("labelSelector", "").split("=")[0]
            listed = [item for item in listed if not key or key in item["metadata"].get("labels", {})]
            names = query.get("fieldSelector", "").partition("metadata.name=")[2]
            listed = [item for item in listed if not names or item["metadata"]["name"] == names]
            plural = path.rpartition("/")[2]
            if plural == "jobs" and self.ending and listed:
                del self.objects[self.ending.pop(0)]
            if plural in ("secrets", "jobs", "rolebindings", "roles"):
                return 200, {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": listed}
        if method == "PATCH" and (found is not None or "force" in query):
            return self.patched(path, found, query, body)
        if found is None:
            return status(404, "NotFound", f"{path} not found")
        if method == "DELETE":
            del self.objects[path]
        return 200, found

    def patched(self, path, found, query, body):
        if "force" in query:   # server-side apply by the only manager
            kept = (found or {}).get("metadata", {}).get("annotations", {}) if found else {}
            new = json.loads(json.dumps(body))
            foreign = {key: value for key, value in kept.items() if key in ("wharf.dev/drain",)}
            if foreign:
                new["metadata"].setdefault("annotations", {}).update(foreign)
        else:
            new = json.loads(json.dumps(found))
            merge(new, body)
        meta = new.setdefault("metadata", {})
        old = (found or {}).get("metadata", {})
        meta["uid"] = old.get("uid", f"uid-{len(self.writes)}")
        meta["resourceVersion"] = old.get("resourceVersion", "0")
        if new != found:
            self.version += 1
            meta["resourceVersion"] = str(self.version)
        self.objects[path] = new
        return 200 if found else 201, new


class Host(Server):
    """The host's API: /api/v1/workers and /api/v1/rights."""

    def __init__(self, port=0):
        super().__init__(port)
        self.states = []   # of worker w1, one for each request; the last one stays
        self.rights = None   # (items, kinds), also of `asked`, the queries
        self.asked = []

    def answer(self, method, path, query, body):
        if path == "/api/v1/rights" and self.rights:
            self.asked.append(query)
            return 200, {"items": self.rights[0], "kinds": self.rights[1]}
        if path != "/api/v1/workers":
            return status(404, "NotFound", path)
        state = self.states.pop(0) if len(self.states) > 1 else (self.states or [None])[0]
        items = [{"name": "w1", **state}] if state else []
        return 200, {"items": items}
