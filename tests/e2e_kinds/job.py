# SPDX-License-Identifier: Apache-2.0
"""Job, whose controller is kube-controller-manager."""
from kind import Kind, by_conditions
from wait import until

PROJECT = None


def _is_running(found):
    status = found.get("status", {})
    return status.get("ready", 0) == status.get("active") == found.get("spec", {}).get("parallelism")


def _body(pods):
    return {"kind": "Job", "spec": {"parallelism": 2, "completions": 4, "backoffLimit": 0, "template": {
        "metadata": {"annotations": pods},
        "spec": {"restartPolicy": "Never", "containers": [
            {"name": "pi", "image": "perl:5.34.0", "command": ["perl", "-Mbignum=bpi", "-wle", "print bpi(2000)"]}]}}}}


def _status_rule(status):
    """A mirror that is created after a resume was never suspended itself."""
    conditions = [each for each in status.get("conditions", ()) if (each["type"], each["status"]) != ("Suspended", "False")]
    return {**{key: value for key, value in status.items() if key != "conditions"}, **({"conditions": conditions} if conditions else {})}


def _own_status(status):
    """Between two mirrors, and between a resume and the first mirror, nothing is active."""
    ended = {"Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"} & {each["type"] for each in status.get("conditions", ())}
    return not ended and not any(status.get(count) for count in ("active", "ready", "terminating"))


def _time_to_live(life):
    """The management cluster itself deletes the Job."""
    life.submit(patch={"spec": {"ttlSecondsAfterFinished": 2}})
    until(lambda: not life.management.find("jobs", life.namespace, life.name), "the Job to be deleted after its TTL")
    life.deleted = True
    assert life.shown("succeeded"), "the Job was deleted before its end was shown"


def _indexed(life):
    life.submit(pods="hold", patch={"spec": {"completionMode": "Indexed", "completions": 2}})
    life.until("running")
    life.change({"spec": {"parallelism": 3, "completions": 3}})
    life.until_status("scaled", lambda found: found["status"].get("ready") == 3)
    life.end()
    assert life.workload()["status"]["completedIndexes"] == "0-2"


def _indexes_that_fail(life):
    """One index fails and is not retried, the others succeed: the Job fails with both."""
    life.submit(pods="fail-once", patch={"spec": {
        "completionMode": "Indexed", "backoffLimit": None, "backoffLimitPerIndex": 0}})
    found = life.until("failed")
    assert found["status"]["failedIndexes"] and found["status"]["succeeded"] == 3, found["status"]


def _success_policy(life):
    life.submit(pods="hold", patch={"spec": {"completionMode": "Indexed", "completions": 2, "successPolicy": {
        "rules": [{"succeededCount": 1}]}}})
    life.until("running")
    life.end()


KINDS = [Kind(
    "jobs", "batch/v1", _body, by_conditions("Complete", _is_running), adapter="job",
    only_in_mirror=("/uncountedTerminatedPods",), first_kept=("/startTime",),
    templates=lambda spec: [spec["template"]], workers_since={"steered": (1, 36)},   # without a feature gate
    status_rule=_status_rule, own_status=_own_status,
    retry={"spec": {"backoffLimit": 2}},
    scale=({"spec": {"parallelism": 3}}, lambda found: found["status"].get("ready") == 3),
    cases={"ttl": _time_to_live, "indexed-scale": _indexed, "failed-indexes": _indexes_that_fail, "success-policy": _success_policy})]
