# SPDX-License-Identifier: Apache-2.0
"""LeaderWorkerSet, a kind that the generic adapter's settings describe. It has no managedBy: its controller would run what is
delegated, and so is not in the management cluster."""
import json

from controllers import Project
from kind import Kind, at, condition
from nodes import PODS

_SPACE, _API, _TEMPLATE = "lws-system", "leaderworkerset.x-k8s.io/v1", "/spec/leaderWorkerTemplate"


def _start(controller):
    config = controller.write("config.yaml", json.dumps({
        "apiVersion": "config.lws.x-k8s.io/v1alpha1", "kind": "Configuration", "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{controller.port()}"},
        "metrics": {"bindAddress": f"127.0.0.1:{controller.port()}"},
        "webhook": {"host": "127.0.0.1", "port": controller.webhook_port, "certDir": controller.certificates()}}))
    return [("manager", [f"--config={config}", "--zap-log-level=2"], {})]


PROJECT = Project("lws", ("manager",), _SPACE, "lws-controller-manager", _start, kubernetes=("statefulset-controller",), deaf=lambda version: True,
                  healthy=lambda controller: controller.accepts("leaderworkersets", _API, _body({PODS: "run"})))

# As in docs/generic.md.
_SETTINGS = {
    "group": "leaderworkerset.x-k8s.io", "versions": ["v1"], "kind": "LeaderWorkerSet", "plural": "leaderworkersets",
    "managedBy": {"field": "/metadata/annotations/example.com~1managed-by"},
    "carry": ["/spec/replicas", _TEMPLATE, "/spec/rolloutStrategy"],
    "pods": [{"template": _TEMPLATE + "/leaderTemplate", "fallback": _TEMPLATE + "/workerTemplate", "count": ["/spec/replicas"]},
             {"template": _TEMPLATE + "/workerTemplate", "count": ["/spec/replicas", _TEMPLATE + "/size"], "offset": -1}],
    "references": [{"name": _TEMPLATE + "/volumeClaimTemplates/*/spec/storageClassName", "kind": "StorageClass"}],
    "phases": [{"condition": "Available", "phase": "Active"},
               {"all": [{"condition": "Progressing"}, {"condition": "UpdateInProgress"}], "phase": "Active"},
               {"condition": "Progressing", "phase": "Pending"}],
    "neverFinishes": True,
    "observedGeneration": "/status/observedGeneration", "statusRemove": ["/status/conditions/*/observedGeneration"]}


def _pods(annotations):
    return {"metadata": {"annotations": annotations}, "spec": {"containers": [{
        "name": "nginx", "image": "nginxinc/nginx-unprivileged:1.27", "ports": [{"containerPort": 8080}],
        "resources": {"limits": {"cpu": "100m"}, "requests": {"cpu": "50m"}}}]}}


def _body(pods):
    """Pods run until something ends them."""
    ends = pods if pods[PODS].startswith("evict") else {PODS: "run"}
    return {"kind": "LeaderWorkerSet", "spec": {
        "replicas": 2, "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxUnavailable": 1}},
        "leaderWorkerTemplate": {"size": 2, "restartPolicy": "RecreateGroupOnPodRestart", "workerTemplate": _pods(ends)}}}


def _phase(found):
    wanted = at(found, "/spec/replicas")
    ready = all((at(found, f"/status/{each}") or 0) == wanted for each in ("replicas", "readyReplicas", "updatedReplicas"))
    return "running" if ready and condition(found, "Available") else None


def _conditions(found):
    return [each["type"] for each in found.get("status", {}).get("conditions", ())]


def _replicas(number):
    return lambda found: _phase(found) and (at(found, "/status/readyReplicas") or 0) == number


def _restart(life):
    """A group is made anew when one of its pods is."""
    life.submit(pods="evict-once-run")
    life.until("running")


def _to_zero_and_back(life):
    life.submit()
    life.until("running")
    life.change({"spec": {"replicas": 0}})
    life.until_status("without groups", _replicas(0))
    life.change({"spec": {"replicas": 1}})
    life.until_status("one group", _replicas(1))
    life.until("running")


def _scaled_as_by_an_autoscaler(life):
    """Over the scale subresource, which reads the copied status."""
    life.submit()
    life.until("running")
    path = f"/apis/{_API}/namespaces/{life.namespace}/leaderworkersets/{life.name}/scale"
    scale = life.management.call("GET", path)
    assert (scale["spec"]["replicas"], scale["status"]["replicas"]) == (2, 2) and scale["status"]["selector"], str(scale)
    life.changes += 1
    life.management.call("PUT", path, {**scale, "spec": {"replicas": 3}})
    life.until_status("scaled", _replicas(3))
    life.until("running")


def _rolling_update(life):
    life.submit()
    life.until("running")
    container = {**_pods({})["spec"]["containers"][0], "image": "nginxinc/nginx-unprivileged:1.28"}
    life.change({"spec": {"leaderWorkerTemplate": {"workerTemplate": {"spec": {"containers": [container]}}}}})
    life.until_status("updating", lambda found: "UpdateInProgress" in _conditions(found))
    life.until("running")
    assert all(pod["spec"]["containers"][0]["image"] == container["image"] for pod in life.children("pods")), "a pod is of the old template"


KINDS = [Kind(
    "leaderworkersets", _API, _body, _phase, project=PROJECT, adapter="generic", settings=_SETTINGS,
    managed_by=("/metadata/annotations/example.com~1managed-by", None), suspend=None, never_ends=True,
    only_in_mirror=("/observedGeneration", "/conditions/*/observedGeneration"),
    children=("statefulsets", "services", "controllerrevisions"),
    versions={"statefulsets": ("apps/v1", True), "controllerrevisions": ("apps/v1", True)},
    scale=({"spec": {"replicas": 3}}, _replicas(3)),
    cases={"group-restart": _restart, "scale-to-zero": _to_zero_and_back, "scale-subresource": _scaled_as_by_an_autoscaler,
           "rolling-update": _rolling_update})]
