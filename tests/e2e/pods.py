# SPDX-License-Identifier: Apache-2.0
"""Stands in for a worker's nodes: takes pods through binding, Running and their end, as their annotations say.

    e2e.wharf.dev/run   how long a pod runs, "0.5s" (default: it ends at once)
    e2e.wharf.dev/hold  "all" or "index:1,2": those go on until their namespace is released
    e2e.wharf.dev/fail  "always", "index:1,3", or "once": the first pod of the Job fails, and no other
"""
import threading
import time
import traceback

import kube

RUN, HOLD, FAIL = ("e2e.wharf.dev/" + word for word in ("run", "hold", "fail"))
_INDEX = "batch.kubernetes.io/job-completion-index"
_ENDED = ("Succeeded", "Failed")


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
    """The nodes of one worker. Polls all its pods, and advances each by one step."""

    def __init__(self, cluster, released):
        super().__init__(name="kubelet-" + cluster.name, daemon=True)
        self.client = cluster.admin
        self.released = released      # namespaces whose held pods may end; shared by all workers
        self.running_since = {}       # pod uid -> monotonic seconds
        self.first_of_job = {}        # job uid -> uid of its first pod
        self.error = None
        self.full = False             # no pod finds a node
        self.ended = threading.Event()

    def run(self):
        while not self.ended.wait(0.08):
            try:
                for pod in self.client.list("pods"):
                    self._step_safely(pod)
            except kube.Unreachable:
                continue
            except kube.ApiError as error:
                if error.code < 500 and error.code not in (401, 403, 429):   # from a server that is starting
                    self.error = traceback.format_exc()
            except Exception:   # raised by check(), in the test's own thread
                self.error = traceback.format_exc()

    def stop(self):
        self.ended.set()
        self.join(10)

    def check(self):
        if self.error:
            raise AssertionError(f"{self.name}: {self.error}")

    def _step_safely(self, pod):
        try:
            self._step(pod)
        except kube.ApiError as error:
            # Gone, or changed by the Job controller since it was listed: the next round sees it as it is then.
            if error.code not in (404, 409):
                raise

    def _step(self, pod):
        meta, phase = pod["metadata"], pod.get("status", {}).get("phase", "Pending")
        for owner in meta.get("ownerReferences", []):
            self.first_of_job.setdefault(owner["uid"], meta["uid"])
        if "deletionTimestamp" in meta:
            self._end_deleted(pod, phase)
        elif phase in _ENDED:
            self.running_since.pop(meta["uid"], None)
        elif "nodeName" not in pod["spec"]:
            if not pod["spec"].get("schedulingGates") and not self.full:
                self._bind(pod)
        elif phase == "Pending":
            self._set_running(pod)
        elif self._is_due(pod):
            self._finish(pod, failed=self._must_fail(pod), exit_code=1)

    def _bind(self, pod):
        meta = pod["metadata"]
        self.client.create("pods", meta["namespace"], {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"], "uid": meta["uid"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "node-1"}}, "binding", meta["name"])

    def _patch(self, pod, status):
        meta = pod["metadata"]
        self.client.patch_status("pods", meta["namespace"], meta["name"],
                                 {"metadata": {"uid": meta["uid"]}, "status": status})

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

    def _finish(self, pod, failed, exit_code):
        ended = {"exitCode": exit_code if failed else 0, "reason": "Error" if failed else "Completed",
                 "startedAt": pod["status"].get("startTime") or _now(), "finishedAt": _now()}
        self._patch(pod, {"phase": "Failed" if failed else "Succeeded",
                          "conditions": _conditions(False, "PodFailed" if failed else "PodCompleted"),
                          "containerStatuses": _containers(pod, {"terminated": ended}, False)})

    def _end_deleted(self, pod, phase):
        """What a kubelet does at the end of a graceful deletion: its containers are killed, then the object goes."""
        if phase not in _ENDED:
            self._finish(pod, failed=True, exit_code=143)
        meta = pod["metadata"]
        if meta.get("deletionGracePeriodSeconds") != 0:
            self.client.delete("pods", meta["namespace"], meta["name"], grace=0, uid=meta["uid"])
        self.running_since.pop(meta["uid"], None)
