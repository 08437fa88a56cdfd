# SPDX-License-Identifier: Apache-2.0
"""Stands in for the Ray programs of one cluster, whose pods run nothing: each head pod's dashboard and Serve proxy, and the
`ray job submit` of submitters. It is an HTTP proxy: KubeRay asks http://SERVICE.NAMESPACE.svc.cluster.local:8265 and
http://POD-IP:8000 through it, and it finds the pod as a cluster's DNS and network would."""
import ipaddress
import json
import re
import threading
import time
import traceback
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import kube
from compare import text_of
from nodes import END
from pod_watcher import PodWatcher
from ray_head import Head, Outcomes

_HEAD = {"ray.io/node-type": "head"}
_SIDECAR = "ray-job-submitter"


def _chosen(pod, selector):
    labels = pod["metadata"].get("labels", {})
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def _submission(pod):
    """(the dashboard's address, submission id, entrypoint) of a pod that submits a job, or None."""
    for container in pod["spec"]["containers"]:
        given = {each["name"]: each.get("value") for each in container.get("env", [])}
        command = re.search(r"ray job submit .*? -- (.+?) ;", " ".join(container.get("args", [])))
        if given.get("RAY_JOB_SUBMISSION_ID") and command:
            return given["RAY_DASHBOARD_ADDRESS"], given["RAY_JOB_SUBMISSION_ID"], command.group(1)
    return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """KubeRay hangs up when it is ended; the handler itself reports all else."""


class Ray(PodWatcher):
    def __init__(self, cluster):
        super().__init__("ray", cluster)
        self.outcomes, self.lock = Outcomes(), threading.RLock()
        self.pods, self.heads, self.submitted = {}, {}, set()
        self.server = _Server(("127.0.0.1", 0), type("Bound", (_Handler,), {"ray": self}))
        self.port = self.server.server_address[1]

    def start(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        super().start()

    def stop(self):
        super().stop()
        self.server.shutdown()

    def release(self, namespace):
        self.outcomes.release(namespace)

    # Pods.

    def begun(self):
        """A watch begins with all pods: those that it does not show again are gone."""
        there = {pod["metadata"]["uid"] for pod in self.client.list("pods")}
        with self.lock:
            gone = [uid for uid in self.pods if uid not in there]
        for uid in gone:
            self._gone(uid)

    def seen(self, event):
        pod, uid = event["object"], event["object"]["metadata"].get("uid")
        if event["type"] == "DELETED" or pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            self._gone(uid)
        elif event["type"] in ("ADDED", "MODIFIED") and pod["status"].get("phase") == "Running":
            with self.lock:
                self.pods[uid] = pod
                if _chosen(pod, _HEAD) and uid not in self.heads:
                    self.heads[uid] = Head(pod["metadata"]["namespace"], self.outcomes)
                submits = uid not in self.submitted and _submission(pod)
                if submits:
                    self.submitted.add(uid)
            if submits:
                self._submit(uid, *submits)

    def _gone(self, uid):
        with self.lock:
            self.pods.pop(uid, None)
            head = self.heads.pop(uid, None)
        if head:
            head.die()

    def find(self, host):
        """The Head that answers for this host name or address (KubeRay has none yet where a pod has none), or None."""
        if not host:
            return None
        with self.lock:
            pods = list(self.pods.values())
        try:
            pods = [pod for pod in pods if pod["status"].get("podIP") == str(ipaddress.ip_address(host))]
        except ValueError:
            name, namespace = host.split(".")[:2]
            service = self.client.find("services", namespace, name)
            pods = [pod for pod in pods if service and pod["metadata"]["namespace"] == namespace
                    and _chosen(pod, service["spec"].get("selector"))]
        with self.lock:
            return next((self.heads[pod["metadata"]["uid"]] for pod in pods if pod["metadata"]["uid"] in self.heads), None)

    # Submitters: they submit unless there is such a job, and follow it to its end.

    def _submit(self, uid, address, identity, entrypoint):
        with self.lock:
            pod, head = self.pods.get(uid), self.heads.get(uid)   # a sidecar submits to the head of its own pod
        if not pod or self.ended:
            return
        try:
            head = head or self.find(address.rpartition(":")[0])
        except (OSError, kube.Unreachable):   # the server restarts
            head = None
        if not head:
            self._again(self._submit, uid, address, identity, entrypoint)
            return
        head.submit({"submission_id": identity, "entrypoint": entrypoint})
        head.job(identity).follow(lambda state: self._end(uid, state))

    def _end(self, uid, state):
        """`ray job logs --follow` has come to the job's end."""
        with self.lock:
            pod, sidecar = self.pods.get(uid), uid in self.heads
        if not pod:
            return
        meta = pod["metadata"]
        try:
            if sidecar:
                self._end_sidecar(pod, 1 if state == "FAILED" else 0)
            else:
                self.client.patch("pods", meta["namespace"], meta["name"], {"metadata": {"annotations": {
                    END: "fail" if state == "FAILED" else "succeed"}}})
        except kube.ApiError as error:
            if error.code != 404:
                self.error = traceback.format_exc()
        except (OSError, kube.Unreachable):   # the server restarts
            self._again(self._end, uid, state)

    @staticmethod
    def _again(action, *arguments):
        timer = threading.Timer(0.2, action, arguments)
        timer.daemon = True
        timer.start()

    def _end_sidecar(self, pod, code):
        """As the kubelet does where one of the containers has ended and the others run on."""
        began = pod["status"]["startTime"]
        containers = [{**each, "ready": False, "started": False, "state": {"terminated": {
            "exitCode": code, "reason": "Error" if code else "Completed", "startedAt": began, "finishedAt": text_of(time.time())}}}
            if each["name"] == _SIDECAR else each for each in pod["status"]["containerStatuses"]]
        conditions = [{**each, "status": "False", "reason": "ContainersNotReady", "lastTransitionTime": text_of(time.time()),
                       "message": f"containers with unready status: [{_SIDECAR}]"}
                      if each["type"] in ("Ready", "ContainersReady") else each for each in pod["status"]["conditions"]]
        meta = pod["metadata"]
        self.client.patch_status("pods", meta["namespace"], meta["name"], {"status": {
            "containerStatuses": containers, "conditions": conditions}})


class _Handler(BaseHTTPRequestHandler):
    """Ray's REST API, as far as KubeRay and the tests use it. Without a head pod there is nobody to answer."""
    protocol_version = "HTTP/1.1"

    def _route(self):
        asked = urllib.parse.urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            head = self.ray.find(asked.hostname)
            if not head:
                self.close_connection = True
                return
            for method, port, pattern, answer in _ROUTES:
                match = re.fullmatch(pattern, asked.path)
                if match and method == self.command and port == asked.port:
                    return self._send(*answer(head, json.loads(body) if body else None, *match.groups()))
            self._send(404, "404: Not Found")
        except (OSError, kube.Unreachable):   # KubeRay waits 2 s at most; or the server restarts
            self.close_connection = True
        except Exception:   # raised by check(), in the test's own thread
            self.ray.error = traceback.format_exc()
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = _route

    def _send(self, code, body):
        kind, data = ("text/plain", body) if isinstance(body, str) else ("application/json", json.dumps(body))
        self.send_response(code)
        self.send_header("Content-Type", kind + "; charset=utf-8")
        self.send_header("Content-Length", str(len(data.encode())))
        self.end_headers()
        self.wfile.write(data.encode())

    def log_message(self, *_):
        pass


def _submit(head, request):
    identity = head.submit(request)
    if not identity:
        return 500, f"Job with submission_id {request['submission_id']} already exists. Please use a different submission_id."
    return 200, {"job_id": identity, "submission_id": identity}


def _with_job(answer):
    def find(head, _, identity):
        job = head.job(identity)
        return answer(head, job) if job else (404, f"Job {identity} does not exist")
    return find


def _delete(head, job):
    if job.details()["end_time"] is None:
        return 500, "Job is not in a terminal state"
    with head.lock:
        del head.jobs[job.identity]
    return 200, {"deleted": True}


def _deploy(head, config):
    head.deploy(config)
    return 200, ""


_ROUTES = (
    ("POST", 8265, "/api/jobs/", _submit),
    ("GET", 8265, "/api/jobs/", lambda head, _: (200, head.list_jobs())),
    ("GET", 8265, "/api/jobs/([^/]+)", _with_job(lambda _, job: (200, job.details()))),
    ("GET", 8265, "/api/jobs/([^/]+)/logs", _with_job(lambda _, job: (200, {"logs": ""}))),
    ("POST", 8265, "/api/jobs/([^/]+)/stop", _with_job(lambda _, job: (200, {"stopped": job.enter("STOPPED")}))),
    ("DELETE", 8265, "/api/jobs/([^/]+)", _with_job(_delete)),
    ("PUT", 8265, "/api/serve/applications/", _deploy),
    ("GET", 8265, "/api/serve/applications/", lambda head, _: (200, head.serve_details())),
    ("GET", 8000, "/-/healthz", lambda head, _: (200, "success") if head.serves() else (503, "no application is ready")),
)
