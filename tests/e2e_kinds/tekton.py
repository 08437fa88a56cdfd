# SPDX-License-Identifier: Apache-2.0
"""Tekton Pipelines."""
import json

import kube
import lives
from controllers import Project
from kind import Kind
from nodes import SAYS
from wait import until

_SPACE, _VERSION = "tekton-pipelines", "tekton.dev/v1"


def _program(controller, program, deployment, **ports):
    arguments, environment = controller.container(deployment)
    return program, ["-disable-ha", *arguments], {
        **environment, "SYSTEM_NAMESPACE": _SPACE, "KUBECONFIG": controller.kubeconfig(deployment),
        "METRICS_PROMETHEUS_HOST": "127.0.0.1",
        **{name: str(port) for name, port in ports.items()},
        **{name: str(controller.port()) for name in ("METRICS_PROMETHEUS_PORT", "PROFILING_PORT", "PROBES_PORT")}}


def _start(controller):
    return [_program(controller, "controller", "tekton-pipelines-controller"),
            _program(controller, "webhook", "tekton-pipelines-webhook", WEBHOOK_PORT=controller.webhook_port)]


def _healthy(controller):
    """The webhook accepts a Task; it writes its own certificate into the webhooks' configurations."""
    try:
        controller.cluster.admin.call("POST", f"/apis/{_VERSION}/namespaces/{_SPACE}/tasks", _task("example"), query={"dryRun": "All"})
        return True
    except kube.ApiError as error:
        assert error.code != 500, error
        raise


PROJECT = Project("tekton", ("controller", "webhook"), _SPACE, "tekton-pipelines-controller", _start, services=True, healthy=_healthy)


def _task(name, **results):
    """Sums two numbers."""
    said = [{"key": key, "value": value, "type": 1} for key, value in results.items()]
    return {"apiVersion": _VERSION, "kind": "Task", "metadata": {"name": name, "annotations": {SAYS: json.dumps(said)}}, "spec": {
        "params": [{"name": "a", "type": "string", "default": "1"}, {"name": "b", "type": "string", "default": "1"}],
        "results": [{"name": key, "description": "The sum of the two provided integers"} for key in results],
        "steps": [{"name": "sum", "image": "bash:latest", "script": (
            "#!/usr/bin/env bash\necho -n $(( $(params.a) + $(params.b) )) | tee $(results.sum.path)\n" if results else
            "#!/usr/bin/env bash\necho -n $(( $(params.a) + $(params.b) ))\n")}]}}


def _pipeline(name, **more):
    """The second task takes the result of the first."""
    return {"apiVersion": _VERSION, "kind": "Pipeline", "metadata": {"name": name}, "spec": {
        "params": [{"name": each, "type": "string", "default": "1"} for each in "ab"],
        "results": [{"name": "total", "value": "$(tasks.second.results.sum)"}],
        "tasks": [{"name": "first", "taskRef": {"name": "sum"}, "params": _params("$(params.a)", "$(params.b)"), **more},
                  {"name": "second", "taskRef": {"name": "sum"}, "params": _params("$(tasks.first.results.sum)", "1"), **more}]}}


def _params(*values):
    return [{"name": name, "value": value} for name, value in zip("ab", values)]


def _setup(client, namespace):
    # Without the account of its namespace a run fails at once.
    until(lambda: client.find("serviceaccounts", namespace, "default"), "the ServiceAccount default to be made")
    for plural, body in (("tasks", _task("sum", sum="12")), ("pipelines", _pipeline("sums")),
                         ("pipelines", _pipeline("sums-with-retries", retries=1))):
        if not client.find(plural, namespace, body["metadata"]["name"]):
            client.create(plural, namespace, body)


def _phase(pending):
    def phase(found):
        status = found.get("status", {})
        succeeded = next((each for each in status.get("conditions", ()) if each["type"] == "Succeeded"), {})
        if succeeded.get("status") != "Unknown":
            return {"True": "succeeded", "False": "failed"}.get(succeeded.get("status"))
        if succeeded.get("reason") == pending:
            return "suspended"
        return "running" if succeeded.get("reason") == "Running" and (status.get("childReferences") or status.get("podName")) else None
    return phase


def _pipelinerun(pods):
    return {"kind": "PipelineRun", "metadata": {"annotations": pods}, "spec": {
        "pipelineRef": {"name": "sums"}, "params": _params("2", "10")}}


def _taskrun(pods):
    return {"kind": "TaskRun", "metadata": {"annotations": pods}, "spec": {
        "taskRef": {"name": "sum"}, "params": _params("2", "10")}}


def _reason(life):
    return life.workload()["status"]["conditions"][0]["reason"]


def _ends_with(patch, reason, submitted=None):
    """A running one fails for this reason after this change; or by itself after a time, with what it was made with."""
    def case(life):
        life.submit(pods="hold", patch=submitted)
        life.until("running")
        if patch:
            life.change(patch)
        life.until("failed")
        assert _reason(life) == reason, f"expected reason {reason}, found {_reason(life)}"
    return case


def _stopped(life):
    """The task that runs ends by itself, and no other begins."""
    life.submit(pods="hold")
    life.until("running")
    life.change(_change_of_status("StoppedRunFinally"))
    life.until_carried("the stop to be carried", lambda mirror: mirror["spec"].get("status") == "StoppedRunFinally")
    life.release()
    life.until("failed")
    skipped = [each["name"] for each in life.workload()["status"].get("skippedTasks", ())]
    assert skipped == ["second"], f"skipped are {skipped}"


def _cancelled_while_pending(pending, cancelled, reason):
    """It is placed then, for its own controller to say that it is cancelled."""
    def case(life):
        life.submit(patch=_change_of_status(pending))
        life.until("suspended")
        life.change(_change_of_status(cancelled))
        life.until("failed")
        assert _reason(life) == reason, f"expected reason {reason}, found {_reason(life)}"
    return case


def _change_of_status(value):
    return {"spec": {"status": value}}


def _without_its_definition(spec, reason):
    """What it refers to is not in the worker."""
    def case(life):
        life.submit(patch={"spec": spec})
        life.until("failed")
        assert _reason(life) == reason, f"expected reason {reason}, found {_reason(life)}"
    return case


def _results(pointer, name):
    def case(life):
        life.submit()
        life.until("succeeded")
        found = life.workload()["status"].get(pointer)
        assert [(each["name"], each["value"]) for each in found or ()] == [(name, "12")], f"/status/{pointer} is {found}"
    return case


_ONCE = "its webhook refuses to make a run pending that has started"
_KNOWN = {"tasks": (_VERSION, True), "pipelines": (_VERSION, True)}
KINDS = [
    Kind("pipelineruns", _VERSION, _pipelinerun, _phase("PipelineRunPending"), project=PROJECT, adapter="pipelinerun",
         refers=("pipelines.tekton.dev", "tasks.tekton.dev"), suspend=("/spec/status", "PipelineRunPending", None), children=("taskruns",), only_in_mirror=("/observedGeneration",),
         retry={"spec": {"pipelineRef": {"name": "sums-with-retries"}}}, setup=_setup, versions={**_KNOWN, "taskruns": (_VERSION, True)},
         skip={"suspend-resume": _ONCE}, cases={
             "cancelled": _ends_with(_change_of_status("Cancelled"), "Cancelled"),
             "stopped": _stopped,
             "cancelled-pending": _cancelled_while_pending("PipelineRunPending", "Cancelled", "Cancelled"),
             "cancelled-finally": _ends_with(_change_of_status("CancelledRunFinally"), "Cancelled"),
             "timeout": _ends_with(None, "PipelineRunTimeout", {"spec": {"timeouts": {"pipeline": "5s"}}}),
             "no-pipeline": _without_its_definition({"pipelineRef": {"name": "absent"}}, "CouldntGetPipeline"),
             "relabelled": lives.relabelled, "results": _results("results", "total")}),
    Kind("taskruns", _VERSION, _taskrun, _phase("TaskRunPending"), project=PROJECT, adapter="pipelinerun",
         refers=("tasks.tekton.dev",), suspend=("/spec/status", "TaskRunPending", None), only_in_mirror=("/observedGeneration",), retry={"spec": {"retries": 1}},
         setup=_setup, versions=_KNOWN, skip={"suspend-resume": _ONCE}, cases={
             "cancelled": _ends_with({"spec": {"status": "TaskRunCancelled", "statusMessage": "not needed"}}, "TaskRunCancelled"),
             "cancelled-pending": _cancelled_while_pending("TaskRunPending", "TaskRunCancelled", "TaskRunCancelled"),
             "timeout": _ends_with(None, "TaskRunTimeout", {"spec": {"timeout": "5s"}}),
             "no-task": _without_its_definition({"taskRef": {"name": "absent"}}, "TaskRunResolutionFailed"),
             "relabelled": lives.relabelled, "results": _results("results", "sum")})]
