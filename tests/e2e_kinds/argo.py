# SPDX-License-Identifier: Apache-2.0
"""Argo Workflows, which the generic adapter's settings describe. The management cluster's controller has no instance id, and so
leaves the Workflows alone that name one. argo_executor.py plays the executor, which runs in the pods of Workflows."""
from argo_executor import Executor
from controllers import Project
from kind import Kind, at

_SPACE, _API = "argo", "argoproj.io/v1alpha1"
_CONFIG = "workflow-controller-configmap"


def _start(controller):
    executor = Executor(controller.cluster)
    executor.start()
    controller.companions.append(executor)
    off = "enabled: false\n"
    controller.cluster.admin.patch("configmaps", _SPACE, _CONFIG, {"data": {"metricsConfig": off, "telemetryConfig": off}})
    return [("controller", [f"--namespace={_SPACE}", "--qps=500", "--burst=1000", "--executor-image=argoproj/argoexec:v4.1.2"], {
        "LEADER_ELECTION_DISABLE": "true"})]


PROJECT = Project("argo", ("controller",), _SPACE, "argo", _start)


def _step(name):
    return {"name": name, "template": "print-message", "arguments": {"parameters": [{"name": "message", "value": name}]}}


def _body(pods):
    """Two steps, one after the other."""
    return {"kind": "Workflow", "spec": {
        "entrypoint": "hello-hello", "podMetadata": {"annotations": pods}, "templates": [
            {"name": "hello-hello", "steps": [[_step("hello1")], [_step("hello2")]]},
            {"name": "print-message", "inputs": {"parameters": [{"name": "message"}]},
             "container": {"image": "busybox", "command": ["echo"], "args": ["{{inputs.parameters.message}}"]}}]}}


def _phase(found):
    phase = at(found, "/status/phase")
    if phase is None and at(found, "/spec/suspend"):
        return "suspended"
    pods = [node["phase"] for node in (at(found, "/status/nodes") or {}).values() if node["type"] == "Pod"]
    if phase == "Running":
        return "running" if "Running" in pods else None
    return {"Succeeded": "succeeded", "Failed": "failed", "Error": "failed"}.get(phase)


def _succeeded(number):
    def check(found):
        return number == sum(1 for node in (at(found, "/status/nodes") or {}).values() if node["type"] == "Pod" and node["phase"] == "Succeeded")
    return check


def _suspend(life):
    """Pods that run go on to their end; the next step waits."""
    life.submit(pods="hold")
    life.until("running")
    life.change_suspend(True)
    life.until_carried("the suspension to be carried", lambda mirror: mirror["spec"].get("suspend"))
    life.release()
    life.until_status("after its first step", _succeeded(1))
    assert len(life.children("pods")) == 1, "the next step runs"
    life.change_suspend(False)
    life.until("succeeded")


def _shut_down(how):
    """The signal of the controller needs a kubelet, so the pods end by the test's."""
    def case(life):
        life.submit(pods="hold-fail")
        life.until("running")
        life.change({"spec": {"shutdown": how}})
        life.until_carried("the shutdown to be carried", lambda mirror: mirror["spec"].get("shutdown") == how)
        life.release()
        life.until("failed")
        message = at(life.workload(), "/status/message") or ""
        assert f"Stopped with strategy '{how}'" in message, message
    return case


_RETRIES = {"spec": {"templateDefaults": {"retryStrategy": {"limit": 2, "retryPolicy": "Always"}}}}
KINDS = [Kind(
    "workflows", _API, _body, _phase, project=PROJECT, adapter="generic", subresource=False, suspend=("/spec/suspend", True, None),
    managed_by=("/metadata/labels/workflows.argoproj.io~1controller-instanceid", "wharf"), children=("workflowtaskresults",),
    versions={"workflowtaskresults": (_API, True)}, retry=_RETRIES, ttl={"spec": {"ttlStrategy": {"secondsAfterCompletion": 1}}},
    skip={"suspend-resume": "pods of a suspended Workflow run on; see `suspended-between-steps`"},
    cases={"suspended-between-steps": _suspend, "terminated": _shut_down("Terminate"), "stopped": _shut_down("Stop")})]
