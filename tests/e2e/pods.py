# SPDX-License-Identifier: Apache-2.0
"""Stands in for a worker's nodes: takes pods through binding, Running and their end, as their annotations say.

    e2e.wharf.dev/run   how long a pod runs, "0.5s" (default: it ends at once)
    e2e.wharf.dev/hold  "all" or "index:1,2": those go on until their namespace is released
    e2e.wharf.dev/said  the termination message of a container that fails
    e2e.wharf.dev/fail  "always", "index:1,3", or "once": the first pod of the Job fails, and no other
"""
import contextlib
import http.client
import json
import queue
import threading
import time
import traceback

import kube
import mounts

RUN, HOLD, FAIL, SAID = ("e2e.wharf.dev/" + word for word in ("run", "hold", "fail", "said"))
_INDEX = "batch.kubernetes.io/job-completion-index"
_ENDED = ("Succeeded", "Failed")
_ROUND = 0.05   # seconds


def _now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _selected(rule, pod):
    """Whether "all", "always" or "index:1,3" selects this pod."""
    if rule in ("all", "always"):
        return True
    index = pod["metadata"]["annotations"].get(_INDEX)
    return rule.startswith("index:") and index in rule[len("index:"):].split(",")


def _containers(pod, state, ready):
    return [{"name": container["name"], "image": container["image"], "imageID": "", "restartCount": 0,
             "ready": ready, "started": ready, "state": state} for container in pod["spec"]["containers"]]


def _conditions(ready, reason=None):
    status = "True" if ready else "False"
    more = {} if ready else {"reason": reason}
    return [{"type": kind, "status": status, "lastTransitionTime": _now(), **more}
            for kind in ("Ready", "ContainersReady")]


class Kubelet(threading.Thread):
    """The nodes of one worker. A watch tells it of all pods; each is advanced step by step."""

    def __init__(self, cluster, released):
        super().__init__(name="kubelet-" + cluster.name, daemon=True)
        self.client = cluster.admin
        self.released = released      # namespaces whose held pods may end; shared by all workers
        self.pods, self.acted = {}, {}   # pod uid -> pod; -> the resourceVersion after which it was changed
        self.told, self.stream = queue.SimpleQueue(), None
        self.running_since = {}       # pod uid -> monotonic seconds
        self.first_of_job = {}        # job uid -> uid of its first pod
        self.error = None
        self.full = False             # no pod finds a node
        self.pulls = True             # images can be pulled
        self.evicts = False           # pods are evicted once they run
        self.lacked = {}              # (namespace, pod) -> what was missing when it was to start
        self.ended = threading.Event()

    def run(self):
        threading.Thread(target=self._watch, name=self.name + "-watch", daemon=True).start()
        looked = 0.0
        while not self.ended.is_set():
            with contextlib.suppress(queue.Empty):
                self._take(self.told.get(timeout=_ROUND))
            # Time and tests change what is to be done, too: the end of a run, a release, a free node.
            if time.monotonic() > looked + _ROUND:
                for pod in list(self.pods.values()):
                    self._step_safely(pod)
                looked = time.monotonic()

    def stop(self):
        self.ended.set()
        if self.stream:
            with contextlib.suppress(OSError):
                self.stream.close()
        self.join(10)

    def check(self):
        if self.error:
            raise AssertionError(f"{self.name}: {self.error}")

    def _watch(self):
        while not self.ended.is_set():
            try:
                self.stream = self.client.watch("pods")
                self.told.put(None)   # a watch begins with all pods
                for line in self.stream:
                    self.told.put(line)
            except (OSError, http.client.HTTPException):
                pass
            except kube.ApiError as error:
                self._note(error)
            self.ended.wait(_ROUND)

    def _take(self, line):
        if line is None:
            self.pods, self.acted = {}, {}
            return
        event = json.loads(line)
        pod, uid = event["object"], event["object"].get("metadata", {}).get("uid")
        if event["type"] in ("ADDED", "MODIFIED"):
            self.pods[uid] = pod
            self._step_safely(pod)
        elif event["type"] == "DELETED":
            for known in (self.pods, self.acted, self.running_since):
                known.pop(uid, None)

    def _note(self, error):
        if error.code < 500 and error.code not in (401, 403, 429):   # those are from a server that is starting
            self.error = traceback.format_exc()

    def _step_safely(self, pod):
        meta = pod["metadata"]
        if self.acted.get(meta["uid"]) == meta["resourceVersion"]:
            return   # its change has not been heard of yet
        try:
            change = self._next(pod)
            if change:
                change(pod)
                self.acted[meta["uid"]] = meta["resourceVersion"]
        except kube.Unreachable:
            pass
        except kube.ApiError as error:
            # Gone, or changed by the Job controller since it was told: it will be told of that.
            if error.code not in (404, 409):
                self._note(error)
        except Exception:   # raised by check(), in the test's own thread
            self.error = traceback.format_exc()

    def _next(self, pod):
        """The change that it needs now, or None."""
        meta, phase = pod["metadata"], pod.get("status", {}).get("phase", "Pending")
        for owner in meta.get("ownerReferences", []):
            self.first_of_job.setdefault(owner["uid"], meta["uid"])
        if "deletionTimestamp" in meta:
            return self._end_deleted
        if phase in _ENDED:
            self.running_since.pop(meta["uid"], None)
            return None
        if "nodeName" not in pod["spec"]:
            return None if pod["spec"].get("schedulingGates") or self.full else self._bind
        if phase == "Pending":
            return self._start(pod)
        if self.evicts:
            return self._evict
        return self._end if self._is_due(pod) else None

    def _bind(self, pod):
        meta = pod["metadata"]
        self.client.create("pods", meta["namespace"], {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"], "uid": meta["uid"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "node-1"}}, "binding", meta["name"])

    def _patch(self, pod, status):
        meta = pod["metadata"]
        self.client.patch_status("pods", meta["namespace"], meta["name"],
                                 {"metadata": {"uid": meta["uid"]}, "status": status})

    def _start(self, pod):
        """The change with which it starts, once everything is there that it mounts; until then its containers wait."""
        meta = pod["metadata"]
        if not self.pulls:
            return None if pod["status"].get("containerStatuses") else self._set_unpulled
        missing = sorted(f"{plural}/{name}" for plural, name in mounts.needed(pod) if not self.client.find(plural, meta["namespace"], name))
        if not missing:
            return self._set_running
        self.lacked.setdefault((meta["namespace"], meta["name"]), missing)
        return None if pod["status"].get("containerStatuses") else self._set_waiting

    def _set_waiting(self, pod):
        missing = ", ".join(self.lacked[pod["metadata"]["namespace"], pod["metadata"]["name"]])
        waiting = {"reason": "CreateContainerConfigError", "message": missing + " not found"}
        self._patch(pod, {"containerStatuses": _containers(pod, {"waiting": waiting}, False)})

    def _set_unpulled(self, pod):
        waiting = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "example.invalid/none"'}
        self._patch(pod, {"containerStatuses": _containers(pod, {"waiting": waiting}, False)})

    def _set_running(self, pod):
        self._patch(pod, {"phase": "Running", "startTime": _now(), "podIP": "10.1.2.3",
                          "conditions": _conditions(True),
                          "containerStatuses": _containers(pod, {"running": {"startedAt": _now()}}, True)})
        self.running_since[pod["metadata"]["uid"]] = time.monotonic()

    def _is_due(self, pod):
        meta = pod["metadata"]
        notes = meta.get("annotations", {})
        since = self.running_since.setdefault(meta["uid"], time.monotonic())
        if time.monotonic() - since < float(notes.get(RUN, "0s").rstrip("s")):
            return False
        held = _selected(notes.get(HOLD, ""), pod) and not (notes.get(FAIL) == "once" and self._is_first(pod))
        return not held or meta["namespace"] in self.released

    def _is_first(self, pod):
        return any(self.first_of_job.get(owner["uid"]) == pod["metadata"]["uid"]
                   for owner in pod["metadata"].get("ownerReferences", []))

    def _must_fail(self, pod):
        rule = pod["metadata"].get("annotations", {}).get(FAIL, "")
        return self._is_first(pod) if rule == "once" else _selected(rule, pod)

    def _end(self, pod):
        self._finish(pod, failed=self._must_fail(pod), exit_code=1)

    def _finish(self, pod, failed, exit_code):
        ended = {"exitCode": exit_code if failed else 0, "reason": "Error" if failed else "Completed",
                 "startedAt": pod["status"].get("startTime") or _now(), "finishedAt": _now()}
        if failed and SAID in pod["metadata"].get("annotations", {}):
            ended["message"] = pod["metadata"]["annotations"][SAID]
        self._patch(pod, {"phase": "Failed" if failed else "Succeeded",
                          "conditions": _conditions(False, "PodFailed" if failed else "PodCompleted"),
                          "containerStatuses": _containers(pod, {"terminated": ended}, False)})

    def _evict(self, pod):
        """As a kubelet does whose node runs out of a resource."""
        disrupted = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet",
                     "message": "The node was low on resource: memory.", "lastTransitionTime": _now()}
        self._patch(pod, {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory.",
                          "conditions": _conditions(False, "PodFailed") + [disrupted],
                          "containerStatuses": _containers(pod, {"terminated": {
                              "exitCode": 137, "reason": "Error", "startedAt": _now(), "finishedAt": _now()}}, False)})

    def _end_deleted(self, pod):
        """What a kubelet does at the end of a graceful deletion: its containers are killed, then the object goes."""
        if pod.get("status", {}).get("phase") not in _ENDED:
            self._finish(pod, failed=True, exit_code=143)
        meta = pod["metadata"]
        if meta.get("deletionGracePeriodSeconds") != 0:
            self.client.delete("pods", meta["namespace"], meta["name"], grace=0, uid=meta["uid"])
        self.running_since.pop(meta["uid"], None)
