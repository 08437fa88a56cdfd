# SPDX-License-Identifier: Apache-2.0
"""Argo's executor for the pods of one cluster, which run nothing: it reports each node of a Workflow with a WorkflowTaskResult,
unfinished while the pod runs, and finished at its end."""
import kube
from pod_watcher import PodWatcher

_PREFIX = "workflows.argoproj.io/"
_RESULTS, _API = "workflowtaskresults", "argoproj.io/v1alpha1"


class Executor(PodWatcher):
    def __init__(self, cluster):
        super().__init__("argoexec", cluster)
        kube.know(_RESULTS, _API)

    def seen(self, event):
        pod = event["object"]
        if event["type"] not in ("ADDED", "MODIFIED"):
            return
        node = pod["metadata"].get("annotations", {}).get(_PREFIX + "node-id")
        phase = pod["status"].get("phase")
        if node and phase in ("Running", "Succeeded", "Failed"):
            try:
                self._report(pod["metadata"], node, phase != "Running")
            except kube.ApiError as error:
                if error.code not in (403, 404, 409):   # the namespace or the Workflow is going
                    raise

    def _report(self, pod, node, finished):
        labels = {_PREFIX + "workflow": pod["labels"][_PREFIX + "workflow"], _PREFIX + "report-outputs-completed": str(finished).lower()}
        if self.client.find(_RESULTS, pod["namespace"], node):
            self.client.patch(_RESULTS, pod["namespace"], node, {"metadata": {"labels": labels}})
        else:
            owner = {key: value for key, value in pod["ownerReferences"][0].items() if key in ("apiVersion", "kind", "name", "uid")}
            self.client.create(_RESULTS, pod["namespace"], {
                "apiVersion": _API, "kind": "WorkflowTaskResult", "metadata": {"name": node, "labels": labels, "ownerReferences": [owner]}})
