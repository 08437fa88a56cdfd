# SPDX-License-Identifier: Apache-2.0
"""The part of Spark's drivers in one cluster, whose pods run nothing: a driver that runs makes its executors, and takes them away
at its end. They are of the driver pod, so they go with it."""
import json
import threading
import traceback

import kube
from nodes import PODS

_ROLE = "spark-role"
_COPIED = ("spark-app-selector", "sparkoperator.k8s.io/")


class Drivers(threading.Thread):
    def __init__(self, cluster):
        super().__init__(name="spark-" + cluster.name, daemon=True)
        self.client, self.error, self.ended, self.stream = cluster.admin, None, False, None

    def stop(self):
        self.ended = True
        if self.stream:
            self.stream.close()

    def check(self):
        assert not self.error, self.error

    def release(self, namespace):
        """Only drivers are held, by the nodes."""

    def run(self):
        while not self.ended:
            try:
                self.stream = self.client.watch("pods")
                for line in self.stream:
                    self._seen(json.loads(line))
            except (kube.Unreachable, OSError, kube.ApiError):
                threading.Event().wait(0.2)   # the server restarts
            except Exception:   # raised by check(), in the test's own thread
                self.error = traceback.format_exc()
                return

    def _seen(self, event):
        pod = event["object"]
        if event["type"] not in ("ADDED", "MODIFIED") or pod["metadata"].get("labels", {}).get(_ROLE) != "driver":
            return
        meta, phase = pod["metadata"], pod["status"].get("phase")
        try:
            if phase == "Running" and not meta.get("deletionTimestamp"):
                self.client.create("pods", meta["namespace"], _executor(meta))
            elif phase in ("Succeeded", "Failed"):
                self.client.delete("pods", meta["namespace"], _name(meta))
        except kube.ApiError as error:
            # There already, gone already, or the namespace or the application is going.
            if error.code not in (403, 404, 409) and "not found" not in str(error):
                raise


def _name(driver):
    return f"{driver['name']}-exec-1"


def _executor(driver):
    labels = {name: value for name, value in driver["labels"].items() if name.startswith(_COPIED)}
    return {"metadata": {"name": _name(driver), "annotations": {PODS: "run"},
                         "labels": {**labels, _ROLE: "executor", "spark-exec-id": "1"}, "ownerReferences": [{
                             "apiVersion": "v1", "kind": "Pod", "name": driver["name"], "uid": driver["uid"], "controller": True}]},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "spark-kubernetes-executor", "image": "spark", "args": ["executor"]}]}}
