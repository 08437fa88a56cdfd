# SPDX-License-Identifier: Apache-2.0
"""Workers that go away and come back."""
from jobs import brief, condition, counts, indexed, job
from skip import may_be_refused
from wait import until

# A starting API server answers before its authorizer has read the roles: allowed requests are forbidden for a moment.
_STARTING = 403


@may_be_refused(("w1", "*", _STARTING))
def jobs_of_a_lost_worker_finish_elsewhere_and_stale_mirrors_are_deleted(env):
    env.use_all(workerLostTimeout="3s")
    first, second = env.workers
    wanted = _submit_all_shapes(env)
    lost = [name for name in wanted if env.placed(name) == first.name]
    assert len(lost) >= 3, f"only {lost} are on {first.name}"
    for name, counted in wanted.items():
        env.until_counts(name, **counted)
    before = {name: env.job(name) for name in lost}
    first.lose()
    for name in lost:
        assert env.placed(name, attempt=2) == second.name
    env.release()
    done = {name: env.until_finished(name) for name in wanted}
    for name in lost:
        _nothing_was_taken_back(before[name], done[name])
    env.nothing_was_refused((422,))
    first.bring_back()
    _no_stale_mirror(env, first, lost)
    for name, found in done.items():
        assert env.job(name)["status"] == found["status"], f"{name} changed after it had finished"


def _submit_all_shapes(env):
    """Jobs with counted successes, counted failures and running pods. {name: counts}."""
    wanted = {}
    for number in range(2):
        for name, body, counted in (
                (f"plain-{number}", job(f"plain-{number}", hold="all", parallelism=2, completions=2), {"ready": 2}),
                (f"half-{number}", indexed(f"half-{number}", 4, parallelism=4, hold="index:2,3"),
                 {"ready": 2, "succeeded": 2}),
                (f"once-{number}", job(f"once-{number}", hold="all", fail="once", parallelism=2, completions=2),
                 {"ready": 2, "failed": 1})):
            env.submit(body)
            env.placed(name)
            wanted[name] = counted
    env.submit(indexed("per-index", 3, parallelism=3, hold="index:0,2", fail="index:1", backoffLimitPerIndex=0,
                       maxFailedIndexes=2))
    env.submit(job("asleep", suspend=True, hold="all"))
    env.until_job("asleep", "suspended", lambda found: condition(found, "Suspended"))
    env.change("asleep", {"spec": {"suspend": False}})
    wanted["asleep"] = {"ready": 1}
    return wanted


def _nothing_was_taken_back(before, after):
    assert after["status"]["startTime"] == before["status"]["startTime"], f"{brief(before)}\n{brief(after)}"
    assert counts(after)[2] >= counts(before)[2] and counts(after)[3] >= counts(before)[3], \
        f"{brief(before)}\n{brief(after)}"
    assert counts(after)[:2] == (0, 0), brief(after)


def _no_stale_mirror(env, worker, names):
    def probe():
        left = [name for name in names if env.mirror(worker.name, name)]
        pods = [pod["metadata"]["name"] for pod in worker.admin.list("pods", env.namespace)
                if pod["metadata"].get("labels", {}).get("batch.kubernetes.io/job-name") in names]
        assert not left and not pods, f"left: {left} {pods}"
        return True
    until(probe, f"the stale mirrors in {worker.name} to be gone")


def a_worker_that_is_away_for_a_moment_keeps_its_jobs(env):
    env.use_all()
    names = [f"kept-{number}" for number in range(4)]
    for name in names:
        env.submit(job(name, hold="all"))
    places = {name: env.placed(name) for name in names}
    first = env.workers[0].name
    away = [name for name in names if places[name] == first]
    assert away, places
    for name in names:
        env.until_counts(name, ready=1)
    env.relay.cut()
    env.release()
    # The worker finishes them while it is cut off; everything else continues meanwhile.
    for name in away:
        until(lambda name=name: condition(env.mirror(first, name), "Complete"), f"{name} to complete in {first}")
    for name in set(names) - set(away):
        env.until_finished(name)
    assert not condition(env.job(away[0]), "Complete"), "the cut had no effect"
    env.relay.mend()
    for name in away:
        done = env.until_finished(name)
        assert done["metadata"]["annotations"]["wharf.dev/attempt"] == "1", brief(done)
        assert env.pods_created(name) == {first: 1}, env.pods_created(name)


def a_job_deleted_while_its_worker_is_away_leaves_nothing_there(env):
    env.use_all()
    names = [f"gone-{number}" for number in range(2)]
    for name in names:
        env.submit(job(name, hold="all"))
    places = {name: env.placed(name) for name in names}
    first = env.workers[0].name
    assert first in places.values(), places
    env.relay.cut()
    for name in names:
        env.management.delete("jobs", env.namespace, name)
    until(lambda: not env.management.list("jobs", env.namespace), "the Jobs to be gone at home")
    until(lambda: not [name for name in names if places[name] != first and env.mirrors(name)],
          "the reachable mirrors to be gone")
    assert [name for name in names if env.mirror(first, name)], "the cut had no effect"
    env.relay.mend()
    for name in names:
        env.until_no_mirror(name)


@may_be_refused(("management", "*", _STARTING))
def a_lost_management_cluster_stops_no_job_and_is_caught_up_with(env):
    env.host.use()
    env.submit(job("onward", hold="all", completions=2, parallelism=2))
    worker = env.placed("onward")
    env.until_counts("onward", ready=2)
    env.clusters.management.lose()
    env.release()
    until(lambda: condition(env.mirror(worker, "onward") or {}, "Complete"), "the mirror to complete")
    assert env.host.process.running(), "the host has ended"
    env.clusters.management.bring_back()
    done = env.until_finished("onward")
    assert counts(done) == (0, 0, 2, 0), brief(done)
    assert env.pods_created("onward") == {worker: 2}, env.pods_created("onward")
