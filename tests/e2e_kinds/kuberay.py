# SPDX-License-Identifier: Apache-2.0
"""KubeRay. What it asks of Ray's own programs, ray_dashboard.py answers. Its optional webhooks are not installed, as with its
default release: they listen on a fixed port."""
import json

from controllers import Project
from kind import KUEUE, Kind, at, condition
from nodes import PODS
from ray_dashboard import Ray
from wait import until

_API = "ray.io/v1"
_RUN = {PODS: "run"}


def _start(controller):
    ray = Ray(controller.cluster)
    ray.start()
    controller.companions.append(ray)
    return [("manager", [f"--metrics-addr=127.0.0.1:{controller.port()}", f"--health-probe-bind-address=127.0.0.1:{controller.port()}",
                         "--enable-leader-election=false", "--reconcile-concurrency=4", "--qps=500", "--burst=1000"],
             {"HTTP_PROXY": f"http://127.0.0.1:{ray.port}", "http_proxy": f"http://127.0.0.1:{ray.port}", "NO_PROXY": "127.0.0.1",
              "no_proxy": "127.0.0.1"})]


# RayService counts the endpoints of its Service.
PROJECT = Project("kuberay", ("manager",), "default", "kuberay-operator", _start, kubernetes=("endpointslice-controller",))


def _pods(name, annotations, **more):
    return {"metadata": {"annotations": annotations}, "spec": {"containers": [{"name": name, "image": "rayproject/ray:2.52.0", **more}]}}


def _cluster(head=None, **group):
    """The spec of a RayCluster; `group` are further fields of its group of workers."""
    return {"rayVersion": "2.52.0", "headGroupSpec": {"rayStartParams": {}, "template": _pods(
        "ray-head", head or _RUN, ports=[{"containerPort": 6379, "name": "gcs-server"}, {"containerPort": 8265, "name": "dashboard"},
                                         {"containerPort": 10001, "name": "client"}, {"containerPort": 8000, "name": "serve"}])},
            "workerGroupSpecs": [{"groupName": "small-group", "replicas": 1, "minReplicas": 1, "maxReplicas": 5, "rayStartParams": {},
                                  "template": _pods("ray-worker", _RUN), **group}]}


# RayJob.

def _job(pods):
    evicts = pods[PODS] == "evict-once"
    submitter = _pods("submitter", _RUN)
    submitter["spec"]["restartPolicy"] = "Never"
    return {"kind": "RayJob", "spec": {
        "entrypoint": f"python sample_code.py {'succeed' if evicts else pods[PODS]}",
        "runtimeEnvYAML": "env_vars:\n  counter_name: test_counter\n", "submitterPodTemplate": submitter,
        "submitterConfig": {"backoffLimit": 0}, "shutdownAfterJobFinishes": True, "rayClusterSpec": _cluster({PODS: "evict-once-run"} if evicts else None)}}


def _job_phase(found):
    status = found.get("status", {})
    deployment, job = status.get("jobDeploymentStatus"), status.get("jobStatus")
    if deployment == "Running":
        return "running" if job == "RUNNING" else None
    return {"Complete": "succeeded" if job == "SUCCEEDED" else None, "Failed": "failed", "Suspended": "suspended"}.get(deployment)


def _in_mode(mode):
    def run(life):
        life.submit(pods="hold", patch={"spec": {"submissionMode": mode, "submitterPodTemplate": None, "submitterConfig": None}})
        life.until("running")
        life.end()
    return run


def _interactive(life):
    """The user submits the job, and tells KubeRay its id."""
    life.submit(patch={"spec": {"submissionMode": "InteractiveMode", "entrypoint": None, "runtimeEnvYAML": None,
                                "submitterPodTemplate": None, "submitterConfig": None}})
    waiting = life.until_status("waiting", lambda found: at(found, "/status/jobDeploymentStatus") == "Waiting")
    rays = (each for controller in life.scene.controllers if controller.cluster.name == life.placed_in()
            for each in controller.companions if isinstance(each, Ray))
    head = next(rays).find(waiting["status"]["dashboardURL"].rpartition(":")[0])
    life.change({"spec": {"jobId": head.submit({"entrypoint": "python sample_code.py hold"})}})
    life.until("running")
    life.end()


def _unchanged(life):
    """KubeRay writes the mirror whole, in its own form, and the host leaves that as it is."""
    life.submit(patch={"spec": {"suspend": False}})
    life.until_end()
    assert life.changes_of_mirrors() == 0, f"the host changed the mirror {life.changes_of_mirrors()} times, and the workload is as it was"


def _deletes_itself(strategy, kept):
    """The mirror stays, with `kept` in place of a policy that deletes the RayJob itself."""
    def run(life):
        life.submit(patch={"spec": {"shutdownAfterJobFinishes": False, "deletionStrategy": strategy}})
        life.until("succeeded")
        life.until_mirrors_are_gone()
        assert {json.dumps(at(mirror, "/spec/deletionStrategy"), sort_keys=True) for mirror in life.history()} == \
            {json.dumps(kept, sort_keys=True)}, "the mirror has another deletionStrategy"
        life.until("succeeded")
    return run


def _rules(*rules):
    return {"deletionRules": [{"policy": policy, "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": after}} for policy, after in rules]}


def _deadline(life):
    life.submit(pods="hold")
    life.until("running")
    life.change({"spec": {"activeDeadlineSeconds": 1}})
    life.until("failed")


JOB = Kind(
    "rayjobs", _API, _job, _job_phase, project=PROJECT, adapter="rayjob", managed_by=("/spec/managedBy", KUEUE),
    children=("rayclusters", "jobs", "services"), versions={"rayclusters": (_API, True)}, only_in_mirror=("/observedGeneration",),
    retry={"spec": {"backoffLimit": 1}}, ttl={"spec": {"ttlSecondsAfterFinished": 1}},
    own_status=lambda status: set(status) <= {"failed", "succeeded"},
    cases={
        "http-mode": _in_mode("HTTPMode"), "sidecar-mode": _in_mode("SidecarMode"), "interactive-mode": _interactive,
        "deadline": _deadline, "unchanged": _unchanged,
        "deletes-itself": _deletes_itself({"onSuccess": {"policy": "DeleteSelf"}, "onFailure": {"policy": "DeleteNone"}},
                                          {"onSuccess": {"policy": "DeleteCluster"}, "onFailure": {"policy": "DeleteNone"}}),
        "deletion-rules": _deletes_itself(_rules(("DeleteWorkers", 0), ("DeleteSelf", 0)), _rules(("DeleteWorkers", 0), ("DeleteCluster", 0))),
    })


# RayCluster.

def _ray_cluster(_):
    return {"kind": "RayCluster", "spec": _cluster()}


def _cluster_phase(found):
    return {"ready": "running", "suspended": "suspended"}.get(found.get("status", {}).get("state"))


def _has_workers(count):
    return lambda found: {found["status"].get(each) for each in ("desiredWorkerReplicas", "availableWorkerReplicas")} == {count}


def _group(**fields):
    return {"spec": {"workerGroupSpecs": _cluster(**fields)["workerGroupSpecs"]}}


def _suspended_group(life):
    life.submit()
    life.until("running")
    life.change(_group(suspend=True))
    life.until_status("without workers", lambda found: not found["status"].get("desiredWorkerReplicas"))
    life.change(_group(suspend=False))
    life.until_status("with a worker", _has_workers(1))
    life.until("running")


def _autoscaled(life):
    """The autoscaler in the worker changes replicas of the mirror; the host leaves them as they are."""
    life.submit(patch={"spec": {"enableInTreeAutoscaling": True}})
    life.until("running")
    worker = next(each for each in life.scene.clusters.workers if each.name == life.placed_in())
    path = f"/apis/{_API}/namespaces/{life.namespace}/rayclusters/{life.workload()['metadata']['name']}"
    worker.admin.call("PATCH", path, [{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 3}],
                      content_type="application/json-patch+json")
    life.until_status("scaled up", _has_workers(3))
    life.change(_group(maxReplicas=7))

    def has_both():
        group = worker.admin.call("GET", path)["spec"]["workerGroupSpecs"][0]
        return (group["replicas"], group["maxReplicas"]) == (3, 7)
    until(has_both, "the mirror to have the new maxReplicas and the autoscaler's replicas")
    life.until_status("of that size", _has_workers(3))


CLUSTER = Kind(
    "rayclusters", _API, _ray_cluster, _cluster_phase, project=PROJECT, adapter="rayjob", managed_by=("/spec/managedBy", KUEUE),
    children=("services",), only_in_mirror=("/observedGeneration",), never_ends=True,
    scale=(_group(replicas=3), _has_workers(3)), cases={"suspended-group": _suspended_group, "autoscaler": _autoscaled})


# RayService.

def _applications(*applications):
    return json.dumps({"applications": [
        {"name": name, "import_path": path, "route_prefix": "/" + name, "deployments": [{"name": "MangoStand", "num_replicas": replicas}]}
        for name, path, replicas in applications]}, indent=1)


_FRUIT = ("fruit_app", "fruit.deployment_graph", 2)


def _service(_):
    return {"kind": "RayService", "spec": {"serveConfigV2": _applications(_FRUIT), "rayClusterConfig": _cluster()}}


def _shown(found, *names):
    """Whether these applications run, in the only RayCluster."""
    status = found.get("status", {})
    running = at(status, "/activeServiceStatus/applicationStatuses") or {}
    return sorted(running) == sorted(names) and all(each["status"] == "RUNNING" for each in running.values()) \
        and not at(status, "/pendingServiceStatus/rayClusterName")


def _service_phase(found):
    if condition(found, "Suspended"):
        return "suspended"
    names = at(found, "/status/activeServiceStatus/applicationStatuses") or {}
    return "running" if names and condition(found, "Ready") and _shown(found, *names) else None


def _resumed(status):
    """As the host writes it before there is a mirror."""
    return "activeServiceStatus" not in status and any(each["reason"] == "RayServiceResumed" for each in status["conditions"])


def _new_applications(life):
    life.submit()
    life.until("running")
    life.change({"spec": {"serveConfigV2": _applications(("fruit_app", "missing.graph", 2))}})
    life.until_status("failing", lambda found: at(found, "/status/activeServiceStatus/applicationStatuses/fruit_app/status") == "DEPLOY_FAILED")
    life.change({"spec": {"serveConfigV2": _applications(_FRUIT, ("math_app", "conditional_dag.serve_dag", 1))}})
    life.until_status("with two applications", lambda found: _shown(found, "fruit_app", "math_app"))
    life.until("running")


def _new_cluster(life):
    life.submit()
    first = at(life.until("running"), "/status/activeServiceStatus/rayClusterName")
    changed = _cluster()
    changed["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]["image"] = "rayproject/ray:2.53.0"
    life.change({"spec": {"rayClusterConfig": changed, "rayClusterDeletionDelaySeconds": 1}})
    life.until_status("in another RayCluster", lambda found: at(found, "/status/activeServiceStatus/rayClusterName") not in (None, first))
    life.until("running")


# A RayService applies no new number of replicas to a RayCluster that runs (they are the autoscaler's), but a new group.
_TWO_GROUPS = {"workerGroupSpecs": [group for name in ("small-group", "large-group")
                                    for group in _cluster(groupName=name)["workerGroupSpecs"]]}


def _two_workers_serve(found):
    """And the head. KubeRay does not write the new number of workers into the status of the RayService."""
    return at(found, "/status/numServeEndpoints") == 3


SERVICE = Kind(
    "rayservices", _API, _service, _service_phase, project=PROJECT, adapter="rayjob", managed_by=("/spec/managedBy", KUEUE),
    children=("rayclusters", "services"), versions={"rayclusters": (_API, True)},
    only_in_mirror=("/observedGeneration", "/conditions/*/observedGeneration"), never_ends=True,
    own_status=_resumed,
    scale=({"spec": {"rayClusterConfig": _TWO_GROUPS}}, _two_workers_serve),
    since={"suspend-resume": "1.7", "created-suspended": "1.7", "unchanged": "1.7"},
    cases={"unchanged": _unchanged, "new-applications": _new_applications, "new-cluster": _new_cluster})

KINDS = [JOB, CLUSTER, SERVICE]
