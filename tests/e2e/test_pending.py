# SPDX-License-Identifier: Apache-2.0
"""Jobs whose mirrors do not start, that workers reject, and what a further attempt has still to do."""
import contextlib
import time

from jobs import condition, counts, finished, job
from skip import may_be_refused
from wait import until

_REJECTED = 403    # by a quota


@contextlib.contextmanager
def _full(env, *workers):
    """No pod of these workers finds a node."""
    kubelets = [kubelet for worker, kubelet in zip(env.workers, env.kubelets) if worker in workers]
    for kubelet in kubelets:
        kubelet.full = True
    try:
        yield
    finally:
        for kubelet in kubelets:
            kubelet.full = False


def jobs_that_do_not_start_are_withdrawn_and_run_elsewhere(env):
    first, second = env.workers
    env.use_all(placement="{policy: ordered, pendingTimeout: 4s}")
    with _full(env, first):
        for number in range(3):
            env.submit(job(f"job-{number}", hold="all"))
            assert env.placed(f"job-{number}") == first.name
        for number in range(3):
            assert env.placed(f"job-{number}", attempt=2) == second.name
            assert not env.mirror(first.name, f"job-{number}")
            assert not [pod for pod in first.admin.list("pods", env.namespace)
                        if pod["metadata"]["name"].startswith(f"job-{number}-")], "its pods are still there"
            env.until_event(f"job-{number}", r"Withdrawn: the mirror in cluster w1 did not start within 4s")
            env.until_counts(f"job-{number}", ready=1)
    env.release()
    for number in range(3):
        env.until_finished(f"job-{number}")
        assert env.job(f"job-{number}")["metadata"]["annotations"]["wharf.dev/attempt"] == "2"
    env.nothing_was_refused((422,))


def a_job_that_starts_in_time_stays(env):
    first, _ = env.workers
    env.use_all(placement="{policy: ordered, pendingTimeout: 6s}")
    with _full(env, first):
        env.submit(job("late", hold="all"))
        assert env.placed("late") == first.name
    env.until_counts("late", ready=1)
    env.submit(job("clock", run="8s"))    # longer than pendingTimeout
    env.until_finished("clock")
    assert env.job("late")["metadata"]["annotations"]["wharf.dev/attempt"] == "1"
    assert env.job("clock")["metadata"]["annotations"]["wharf.dev/attempt"] == "1"
    env.release()
    env.until_finished("late")


def a_job_that_no_worker_starts_fails_as_the_api_server_accepts(env):
    env.use_all(placement="{pendingTimeout: 2s, giveUpAfter: 12s}")
    with _full(env, *env.workers):
        env.submit(job("never", parallelism=2, completions=2))
        failed = env.until_finished("never", "Failed")
    for kind in ("FailureTarget", "Failed"):
        assert condition(failed, kind)["reason"] == "NoClusterAccepts", failed["status"]
    assert "w1 did not start; w2 did not start" in condition(failed, "Failed")["message"]
    assert counts(failed)[:2] == (0, 0) and failed["status"]["startTime"]
    env.until_no_mirror("never")
    env.until_event("never", "GaveUp: not started within 12s")
    env.nothing_was_refused((422,))


def _limit(env, worker, jobs):
    """A ResourceQuota for so many Jobs. No controller counts here: the test does."""
    name, status = "jobs", {"hard": {"count/jobs.batch": str(jobs)}, "used": {"count/jobs.batch": "0"}}
    if not worker.admin.find("resourcequotas", env.namespace, name):
        worker.admin.create("resourcequotas", env.namespace, {
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": {"hard": status["hard"]}})
    worker.admin.patch("resourcequotas", env.namespace, name, {"spec": {"hard": status["hard"]}})
    worker.admin.patch_status("resourcequotas", env.namespace, name, {"status": status})


@may_be_refused(("w1", "*", _REJECTED), ("w2", "*", _REJECTED))
def a_job_that_all_workers_reject_is_told_why_and_given_up(env):
    env.use_all(placement="{giveUpAfter: 15s}")
    for worker in env.workers:
        _limit(env, worker, 0)
    env.submit(job("rejected"))
    env.until_event("rejected", "Unschedulable: 0/2 workers accept it: w1 quota exceeded; w2 quota exceeded")
    failed = env.until_finished("rejected", "Failed")
    assert "w1 quota exceeded; w2 quota exceeded" in condition(failed, "Failed")["message"], failed["status"]
    assert env.pods_created("rejected") == {}


@may_be_refused(("w1", "*", _REJECTED), ("w2", "*", _REJECTED))
def a_changed_quota_is_used_at_once(env):
    env.use_all()
    _, second = env.workers
    for worker in env.workers:
        _limit(env, worker, 0)
    env.submit(job("waits"))
    # By the third rejection of each the next try is at least 20 s away.
    until(lambda: all(len(env.audits[worker.name].host(env.namespace, verb="create", name="waits")) >= 3
                      for worker in env.workers), "three rejections by each worker")
    _limit(env, second, 5)
    began = time.monotonic()
    assert env.placed("waits") == second.name
    env.until_finished("waits")
    assert time.monotonic() - began < 12, "the quota was not seen to change"


# A starting API server answers before its authorizer has read the roles.
@may_be_refused(("w1", "*", 403))
def a_further_attempt_of_a_job_has_what_is_left_to_do(env):
    env.use_all(workerLostTimeout="3s", placement="{policy: ordered}")
    first, second = env.workers
    rest = job("rest", run="2s", parallelism=1, completions=4, backoffLimit=6, activeDeadlineSeconds=600)
    fresh = job("fresh", run="2s", parallelism=1, completions=4, backoffLimit=6)
    fresh["metadata"]["annotations"] = {"wharf.dev/continue": "false"}
    before = {}
    for body in (rest, fresh):
        env.submit(body)
    for name in ("rest", "fresh"):
        assert env.placed(name) == first.name
        before[name] = env.until_job(name, "at its first success", lambda found: counts(found)[2] >= 1)
    first.lose()
    given = _goes_on(env, second, "rest")
    assert given["succeeded"] >= counts(before["rest"])[2], given
    assert env.placed("fresh", attempt=2) == second.name
    made = env.audits[second.name].host(env.namespace, verb="create", name="fresh")[0]["requestObject"]["spec"]
    assert made["completions"] <= 4 - counts(before["fresh"])[2], made
    for name in ("rest", "fresh"):
        found = env.until_job(name, "finished", finished)
        assert condition(found, "Complete") and counts(found)[2] == found["spec"]["completions"] == 4, found
        assert found["status"]["startTime"] == before[name]["status"]["startTime"]
    made = env.pods_created("rest")[second.name]
    assert made == 4 - given["succeeded"], f"{made} pods after {given}"
    env.nothing_was_refused((422,))
    first.bring_back()
    for name in ("rest", "fresh"):
        until(lambda name=name: not env.mirror(first.name, name), "the stale mirror to be gone")


def _goes_on(env, worker, name):
    """The status that its second attempt, in this worker, is given; the mirror's spec is whole, but for the deadline."""
    assert env.placed(name, attempt=2) == worker.name

    def resumed():
        found = env.mirror(worker.name, name)
        return found and found["metadata"]["annotations"].get("wharf.dev/progress") == "given" and found
    spec = until(resumed, "the second mirror to have the progress")["spec"]
    assert (spec["completions"], spec["backoffLimit"], spec["suspend"]) == (4, 6, False), spec
    assert 500 < spec["activeDeadlineSeconds"] < 600, spec
    patches = env.audits[worker.name].host(env.namespace, verb="patch", subresource="status", name=name)
    return patches[0]["requestObject"]["status"]
