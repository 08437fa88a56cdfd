# SPDX-License-Identifier: Apache-2.0
"""As table.py, where the Job controller runs and the pods do: what it makes of a status that somebody gives a Job while it is
suspended. The pods that fail are those that the annotations of tests/e2e/pods.py and of tests/world/world.h name."""
import collections

from table import INVALID, START, create, get, job, patch, set_status

INDEX = "batch.kubernetes.io/job-completion-index"
INDEXED = {"completionMode": "Indexed"}


def suspended(fail=None, **spec):
    """A Job that is created suspended, and the step that waits until its controller has seen it."""
    body = job(managed=False, suspend=True, **spec)
    notes = {"world.test/duration": "50ms"}
    if fail:
        notes.update({"e2e.wharf.dev/fail": {"all": "always"}.get(fail, fail), "world.test/fail": fail})
    body["spec"]["template"]["metadata"] = {"annotations": notes}
    return [create(body), until(Suspended="True")]


def has_conditions(wanted):
    def holds(found):
        now = {item["type"]: item["status"] for item in found or []}
        return all(now.get(kind) == status for kind, status in wanted.items())
    return holds


def until(status=None, **wanted):
    """Waits for these conditions of the Job, and for members of its status."""
    return {"until": "${jobs}/a", "status": 200, "has": {"status": {
        **(status or {}), "conditions": has_conditions(wanted)}}}


def ran(*indexes):
    """The pods that there ever were, by index; None: a pod without one."""
    def same(items):
        found = collections.Counter(item["metadata"].get("annotations", {}).get(INDEX) for item in items or [])
        return found == collections.Counter(None if index is None else str(index) for index in indexes)
    return get("${pods}", has={"items": same})


def given(status, stays=None, **spec):
    """A suspended Job that is given this status, which stays, and is then resumed."""
    return suspended(**spec) + [
        set_status(status), until(stays or status, Suspended="True"), patch({"spec": {"suspend": False}})]


def reason(kind, why):
    return {"until": "${jobs}/a", "status": 200, "has": {"status": {"conditions": lambda found: any(
        item["type"] == kind and item["status"] == "True" and item["reason"] == why for item in found or [])}}}


DONE = {"completedIndexes": "0-4", "succeeded": 5}

CASES = [
    ("an Indexed Job runs the indexes that are missing", given(
        {"completedIndexes": "0-4,7", "succeeded": 6}, completions=10, parallelism=3, **INDEXED) + [
            until({"completedIndexes": "0-9", "succeeded": 10, "failed": None}, Complete="True", Suspended="False"),
            ran(5, 6, 8, 9)]),
    ("it does so before its controller has seen it suspended", [
        *suspended(completions=4, parallelism=4, **INDEXED)[:1], set_status({"completedIndexes": "0,2", "succeeded": 2}),
        patch({"spec": {"suspend": False}}), until({"completedIndexes": "0-3", "succeeded": 4}, Complete="True"), ran(1, 3)]),
    ("indexes that failed do not run again", given(
        {"completedIndexes": "0-2", "succeeded": 3, "failedIndexes": "3,4", "failed": 4}, completions=8, parallelism=8,
        backoffLimitPerIndex=1, **INDEXED) + [
            reason("Failed", "FailedIndexes"),
            until({"completedIndexes": "0-2,5-7", "failedIndexes": "3,4", "succeeded": 6, "failed": 4}), ran(5, 6, 7)]),
    ("given failed indexes count against maxFailedIndexes", given(
        {"completedIndexes": "0", "succeeded": 1, "failedIndexes": "3", "failed": 1}, fail="index:2", completions=5,
        parallelism=5, backoffLimitPerIndex=0, maxFailedIndexes=1, **INDEXED) + [
            reason("Failed", "MaxFailedIndexesExceeded"), until({"failedIndexes": "2,3"})]),
    ("a Job without indexes runs as many pods as are missing", given({"succeeded": 4}, completions=6, parallelism=3) + [
        until({"succeeded": 6}, Complete="True"), ran(None, None)]),
    ("a work queue that had a success needs no pod", given(
        {"succeeded": 1}, stays={"succeeded": 1}, parallelism=2) + [
            until({"succeeded": 1}, Complete="True", SuccessCriteriaMet="True"), ran()]),
    ("given failures count against the whole backoffLimit", given(
        {"failed": 2}, fail="all", completions=1, parallelism=1, backoffLimit=2) + [
            reason("Failed", "BackoffLimitExceeded"), until({"failed": 3, "succeeded": None}), ran(None)]),
    ("more failures than allowed fail it without a pod", suspended(completions=1, parallelism=1, backoffLimit=2) + [
        set_status({"failed": 3}), until(FailureTarget="True"), patch({"spec": {"suspend": False}}),
        reason("Failed", "BackoffLimitExceeded"), until({"failed": 3}), ran()]),
    # A finished Job has a startTime, which one that is suspended does not get.
    ("when all is given it is decided while it is suspended, and Complete once it is resumed", suspended(
        completions=5, parallelism=2, **INDEXED) + [
            set_status(DONE), until({**DONE, "startTime": None}, SuccessCriteriaMet="True", Suspended="True"),
            patch({"spec": {"suspend": False}}), until(DONE, Complete="True", Suspended="True"), ran()]),
    ("succeeded of an elastic Job is put right by the indexes", suspended(completions=5, parallelism=5, **INDEXED) + [
        set_status({"completedIndexes": "0-2", "succeeded": 5}), patch({"spec": {"suspend": False}}),
        until(DONE, Complete="True"), ran(3, 4)]),
    ("that of another only counts once the indexes have reached it", suspended(
        completions=5, parallelism=3, **INDEXED) + [
            set_status({"completedIndexes": "0-2", "succeeded": 5}), patch({"spec": {"suspend": False}}),
            until(DONE, Complete="True"), ran(3, 4)]),
    ("more successes than completions are believed", suspended(completions=5, parallelism=5) + [
        set_status({"succeeded": 9}), until(SuccessCriteriaMet="True"), patch({"spec": {"suspend": False}}),
        until({"succeeded": 9}, Complete="True"), ran()]),
    ("a list in another form than the controller's is read", given(
        {"completedIndexes": "0,1,2", "succeeded": 3}, stays={"succeeded": 3}, completions=5, parallelism=5, **INDEXED) + [
            until(DONE, Complete="True"), ran(3, 4)]),
    ("the time of a start that is given is written over at the resume", given(
        {"startTime": START}, completions=1, parallelism=1) + [
            until({"startTime": lambda time: time != START}, Complete="True"), ran(None)]),
    ("but the deadline counts from it once", given(
        {"startTime": START}, completions=1, parallelism=1, activeDeadlineSeconds=600) + [
            reason("Failed", "DeadlineExceeded"), ran()]),
    ("what the API server refuses leaves no trace", suspended(completions=5, parallelism=5) + [
        set_status({"completedIndexes": "0-2", "succeeded": 3}, 422, causes=[("status.completedIndexes", INVALID)]),
        patch({"spec": {"suspend": False}}), until({"succeeded": 5}, Complete="True"), ran(*[None] * 5)]),
    ("indexes beyond completions, and of both lists, are refused", suspended(
        completions=5, parallelism=5, backoffLimitPerIndex=0, **INDEXED) + [
            set_status({"completedIndexes": "0-9", "succeeded": 10}, 422, causes=[("status.completedIndexes", INVALID)]),
            set_status({"completedIndexes": "0-2", "succeeded": 3, "failedIndexes": "2", "failed": 1}, 422, causes=[
                ("status.failedIndexes", INVALID)]),
            patch({"spec": {"suspend": False}}), until(DONE, Complete="True"), ran(0, 1, 2, 3, 4)]),
]
