# SPDX-License-Identifier: Apache-2.0
"""The part of Spark's drivers in one cluster, whose pods run nothing: a driver that runs makes its executors, and takes them away
at its end. They are of the driver pod, so they go with it."""
import kube
from nodes import PODS
from pod_watcher import PodWatcher

_ROLE = "spark-role"
_COPIED = ("spark-app-selector", "sparkoperator.k8s.io/")


class Drivers(PodWatcher):
    def __init__(self, cluster):
        super().__init__("spark", cluster)

    def seen(self, event):
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
