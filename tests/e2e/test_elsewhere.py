# SPDX-License-Identifier: Apache-2.0
"""Jobs that fail because of their worker run in another one; those that fail by themselves do not."""
import contextlib
import json
import time

from jobs import condition, counts, job
from wait import until

_RETRY = "{policy: ordered, retryElsewhere: {stuckFor: 2s}}"
_SECONDS = 10   # at most, from the failure to the run elsewhere


@contextlib.contextmanager
def _trouble(env, **how):
    """The nodes of the first worker: pulls=False or evicts=True."""
    kubelet, = [each for worker, each in zip(env.workers, env.kubelets) if worker is env.workers[0]]
    for name, value in how.items():
        setattr(kubelet, name, value)
    try:
        yield
    finally:
        kubelet.pulls, kubelet.evicts = True, False


def _moved(env, name, reason):
    first, second = env.workers[:2]
    assert env.placed(name, attempt=2) == second.name
    env.until_counts(name, ready=1)
    notes = env.job(name)["metadata"]["annotations"]
    assert notes["wharf.dev/retried"] == first.name, notes
    assert not env.mirror(first.name, name)
    env.until_event(name, f"RetriedElsewhere: attempt 1 .* in cluster {first.name}, {reason}")


def _workers(env):
    code, out, err = env.host.command("status", "workers", "-o", "json")
    assert code == 0, out + err
    return json.loads(out)["items"]


def an_image_that_one_worker_cannot_pull_runs_elsewhere(env):
    env.use_all(placement=_RETRY)
    with _trouble(env, pulls=False):
        env.submit(job("image", hold="all"))
        assert env.placed("image") == env.workers[0].name
        began = time.monotonic()
        _moved(env, "image", "ImagePullBackOff")
        assert time.monotonic() - began < _SECONDS, time.monotonic() - began
    env.release()
    env.until_finished("image")


def a_failure_of_a_node_is_no_failure_of_the_job(env):
    env.use_all(placement=_RETRY)
    env.submit(job("evicted", hold="all", backoffLimit=0))
    env.until_counts("evicted", ready=1)
    with _trouble(env, evicts=True):
        began = time.monotonic()
        _moved(env, "evicted", "Evicted")
        assert time.monotonic() - began < _SECONDS, time.monotonic() - began
    env.release()
    found = env.until_finished("evicted")
    assert not condition(found, "FailureTarget") and not condition(found, "Failed"), found["status"]
    assert counts(found)[2] == 1, found["status"]
    env.nothing_was_refused((422,))


def an_error_of_the_job_stays_where_it_is(env):
    env.use_all(placement=_RETRY)
    env.submit(job("wrong", fail="always", backoffLimit=1))
    failed = env.until_finished("wrong", "Failed")
    assert condition(failed, "Failed")["reason"] == "BackoffLimitExceeded", failed["status"]
    notes = failed["metadata"]["annotations"]
    assert notes["wharf.dev/attempt"] == "1" and "wharf.dev/retried" not in notes, notes


def a_host_that_is_killed_before_it_knows_the_reason_decides_the_same(env):
    env.use_all(placement=_RETRY)
    env.submit(job("killed", hold="all", backoffLimit=0))
    env.until_counts("killed", ready=1)
    with _trouble(env, evicts=True):
        with env.host.frozen():
            until(lambda: condition(env.mirror(env.workers[0].name, "killed") or {}, "Failed"), "the mirror to have failed")
            env.host.kill()
        env.use_all(placement=_RETRY)
        _moved(env, "killed", "Evicted")
    env.release()
    env.until_finished("killed")


def a_worker_where_many_fail_gets_nothing_new_until_an_operator_trusts_it(env):
    first, second = env.workers[:2]
    env.use_all(placement=_RETRY)
    names = [f"many-{number}" for number in range(3)]
    for name in names:
        env.submit(job(name, hold="all", backoffLimit=0))
        env.until_counts(name, ready=1)
    with _trouble(env, evicts=True):
        for name in names:
            assert env.placed(name, attempt=2) == second.name
    item = until(lambda: next((each for each in _workers(env) if each["failing"]), None), "the worker to be suspect")
    assert (item["name"], item["state"], item["failing"]) == (first.name, "Suspect", "Evicted"), item
    assert env.host.metrics()[("wharf_worker_failing", (("cluster", first.name),))] == 1
    env.submit(job("next", hold="all"))
    assert env.placed("next") == second.name
    code, out, err = env.host.command("uncordon", first.name)
    assert code == 0 and "uncordoned" in out, out + err
    env.submit(job("trusted", hold="all"))
    assert env.placed("trusted") == first.name
    env.release()
    for name in (*names, "next", "trusted"):
        env.until_finished(name)
