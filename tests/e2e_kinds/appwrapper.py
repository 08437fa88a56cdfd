# SPDX-License-Identifier: Apache-2.0
"""AppWrapper."""
import base64
import json
import os

import jobset
import lives
from compare import merge
from controllers import Project
from kind import Kind, condition
from nodes import PODS
from wait import until

_SPACE, _VERSION = "appwrapper-system", "workload.codeflare.dev/v1beta2"
_CONFIG, _SECRET = "appwrapper-operator-config", "appwrapper-webhook-server-cert"
_CERTIFICATES = "k8s-webhook-server/serving-certs"   # below TMPDIR


def _start(controller):
    os.makedirs(controller.path(_CERTIFICATES), exist_ok=True)
    controller.cluster.admin.patch("configmaps", _SPACE, _CONFIG, {"data": {"config.yaml": json.dumps({
        "controllerManager": {"health": {"bindAddress": ":8081"}, "metrics": {"bindAddress": ":8443"}, "leaderElection": False},
        "certManagement": {"certificateDir": controller.path(_CERTIFICATES)}})}})
    return [("manager", [], {"NAMESPACE": _SPACE, "TMPDIR": controller.path("")})]


def _mount(controller):
    """As a kubelet does: the controller writes its Secret, and waits for its files."""
    secret = controller.cluster.admin.get("secrets", _SPACE, _SECRET)
    for name, value in secret.get("data", {}).items():
        path = controller.path(f"{_CERTIFICATES}/{name}")
        if not os.path.exists(path):
            with open(path + ".new", "wb") as file:
                file.write(base64.b64decode(value))
            os.rename(path + ".new", path)


def _healthy(controller):
    _mount(controller)
    return controller.accepts("appwrappers", _VERSION, _body({}))


PROJECT = Project("appwrapper", ("manager",), _SPACE, "appwrapper-controller-manager", _start, services=True, healthy=_healthy,
                  fixed_port=9443, needs=(jobset.PROJECT,))


def _setup(client, namespace):
    """Its webhook asks whether the user who makes an AppWrapper may make what is wrapped; in workers that is the host."""
    if client.find("roles", namespace, "wraps"):
        return
    client.create("roles", namespace, {"metadata": {"name": "wraps"}, "rules": [
        {"apiGroups": [""], "resources": ["pods", "services"], "verbs": ["create"]},
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create"]},
        {"apiGroups": ["jobset.x-k8s.io"], "resources": ["jobsets"], "verbs": ["create"]}]})
    _bind(client, namespace)


def _bind(client, namespace):
    client.create("rolebindings", namespace, {
        "metadata": {"name": "wraps"}, "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "wharf"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "wraps"}})


def _phase(found):
    phase = found.get("status", {}).get("phase")
    if phase == "Failed":
        return None if condition(found, "ResourcesDeployed") else "failed"
    if phase == "Running":
        return "running" if condition(found, "PodsReady") else None
    return {"Succeeded": "succeeded", "Suspended": "suspended"}.get(phase)


_POD = {"restartPolicy": "Never", "containers": [{
    "name": "busybox", "image": "busybox:1.36", "command": ["sh", "-c", "sleep 600"], "resources": {"requests": {"cpu": 1}}}]}


_JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sample-job"}, "spec": {
    "backoffLimit": 0, "template": {"spec": _POD}}}


def _annotations(**settings):
    return {f"workload.codeflare.dev.appwrapper/{name}": value for name, value in settings.items()}


def _body(pods):
    return {"kind": "AppWrapper", "metadata": {"annotations": _annotations(retryLimit="0", failureGracePeriodDuration="1s")},
            "spec": _wraps(merge(_JOB, {"spec": {"template": {"metadata": {"annotations": pods}}}}))}


def _wraps(*templates):
    return {"components": [{"template": template} for template in templates]}


def _succeeds(*templates):
    def case(life):
        life.submit(patch={"spec": _wraps(*templates)})
        life.until("succeeded")
    return case


def _without_rights(life):
    """The host may not make what is wrapped, and says so; later it may."""
    clients = [worker.admin for worker in life.scene.clusters.workers]
    for client in clients:
        client.delete("rolebindings", life.namespace, "wraps")
    life.may_be_refused = (403,)
    life.submit(patch={"spec": _wraps(_WRAPPED_POD)})
    life.until_event("User wharf is not authorized to create pods")
    for client in clients:
        _bind(client, life.namespace)
    life.until("succeeded")


def _kept_after_failure(life):
    """Failed is its phase while its components still run."""
    life.submit(pods="fail", patch={"metadata": {"annotations": _annotations(deletionOnFailureGracePeriodDuration="5s")}})
    life.until_status("failed with its components", lambda found: found.get("status", {}).get("phase") == "Failed"
                      and condition(found, "ResourcesDeployed"))
    life.until("failed")


def _wrapped_time_to_live(life):
    """Of a component that ends before the others: without it they would fail."""
    job = {**_JOB, "spec": {**_JOB["spec"], "ttlSecondsAfterFinished": 0}}
    pod = {**_WRAPPED_POD, "metadata": {"name": "sample-pod", "annotations": {PODS: "hold"}}}
    life.submit(patch={"spec": _wraps(job, pod)})
    life.until("running")
    worker = next(each for each in life.scene.clusters.workers if each.name == life.placed_in())
    until(lambda: condition(worker.admin.get("jobs", life.namespace, _JOB["metadata"]["name"]), "Complete"), "the Job to be complete")
    life.end()


_WRAPPED_POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "sample-pod", "labels": {"app": "sample"}}, "spec": _POD}
_WRAPPED_SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "sample"}, "spec": {
    "selector": {"app": "sample"}, "ports": [{"port": 80}]}}
# A manager that the mirror must not have: nobody would run the JobSet there.
_WRAPPED_JOBSET = merge(jobset.KINDS[0].body({}), {
    "apiVersion": "jobset.x-k8s.io/v1alpha2", "metadata": {"name": "sample-jobset"}, "spec": {"managedBy": "wharf.dev/host"}})


KINDS = [Kind(
    "appwrappers", _VERSION, _body, _phase, project=PROJECT, adapter="appwrapper", children=("jobs", "jobsets"), setup=_setup,
    retry={"metadata": {"annotations": _annotations(retryLimit="2", retryPausePeriodDuration="1s")}},
    ttl={"metadata": {"annotations": _annotations(successTTLDuration="1s")}}, versions={"jobsets": ("jobset.x-k8s.io/v1alpha2", True)},
    cases={"relabelled": lives.relabelled, "jobset": _succeeds(_WRAPPED_JOBSET), "no-rights": _without_rights,
           "pod-and-service": _succeeds(_WRAPPED_SERVICE, _WRAPPED_POD), "kept-after-failure": _kept_after_failure,
           "wrapped-ttl": _wrapped_time_to_live})]
