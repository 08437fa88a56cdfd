# SPDX-License-Identifier: Apache-2.0
"""Attempts that go on where the former one was: what a worker's Job controller has counted does not run again."""
import kube
from audit import code
from jobs import condition, counts, finished, indexed, job
from skip import Skip, may_be_refused
from test_fence import FENCING, REPORTING, _allow, _allow_reports, _guard, _knows_the_guard
from wait import until
from watcher import INDEX, Watcher, indexes

_MARK = "wharf.dev/progress"


def _await(env, name, succeeded):
    env.until_job(name, f"with {succeeded} successes", lambda found: finished(found) or counts(found)[2] >= succeeded)


def _move(env, name):
    """Away from the worker that has it; False: it has finished."""
    worker = env.job(name)["metadata"]["annotations"]["wharf.dev/cluster"]
    attempt = int(env.job(name)["metadata"]["annotations"]["wharf.dev/attempt"])
    code, out, err = env.host.command("drain", worker, "--policy", "move", "--no-wait")
    assert code == 0, out + err

    def moved():
        found = env.job(name)
        return finished(found) or int(found["metadata"]["annotations"]["wharf.dev/attempt"]) > attempt
    until(moved, f"{name} to leave {worker}")
    code, out, err = env.host.command("uncordon", worker)
    assert code == 0, out + err
    return not finished(env.job(name))


def _marks(env, name):
    return [mirror["metadata"]["annotations"].get(_MARK) for mirror in env.mirrors(name).values()]


def indexes_that_were_counted_do_not_run_again_after_moves(env):
    env.use_all()
    with Watcher(env, "moved") as watcher:
        env.submit(indexed("moved", 60, parallelism=6, run="0.4s", backoffLimit=20))
        for number in range(1, 6):
            _await(env, "moved", 8 * number)
            if not _move(env, "moved"):
                break
        env.until_finished("moved")
        done = env.job("moved")
        assert done["status"]["completedIndexes"] == "0-59" and counts(done)[2] == 60, done["status"]
        assert int(done["metadata"]["annotations"]["wharf.dev/attempt"]) >= 4, done["metadata"]["annotations"]
        assert _marks(env, "moved") in ([], ["given"]), _marks(env, "moved")
        watcher.check()
        assert len(watcher.ran_in()) < 60 + 6 * 6, watcher.ran   # those that ran at a move, and were not counted


def counted_successes_and_failures_count_in_the_next_attempt(env):
    env.use_all()
    env.submit(job("plain", completions=6, parallelism=2, run="0.5s", backoffLimit=4))
    _await(env, "plain", 2)
    _move(env, "plain")
    env.submit(indexed("bounded", 6, parallelism=6, backoffLimitPerIndex=0, maxFailedIndexes=6, run="0.2s", fail="index:1,3",
                       hold="index:4,5"))
    env.until_job("bounded", "with two failed indexes", lambda found: found["status"].get("failedIndexes") == "1,3")
    env.until_job("bounded", "with two successes", lambda found: counts(found)[2] == 2)
    with Watcher(env, "bounded") as watcher:
        _move(env, "bounded")
        env.release()
        env.until_finished("plain")
        env.until_finished("bounded", "Failed")
        bounded = env.job("bounded")["status"]
        assert bounded["completedIndexes"] == "0,2,4,5" and bounded["failedIndexes"] == "1,3", bounded
        assert watcher.ran_in(2) == [4, 5], watcher.ran
    assert counts(env.job("plain"))[2] == 6, env.job("plain")["status"]
    made = sum(env.pods_created("plain").values())
    assert made <= 8, f"{made} pods for 6 completions and a move of at most two of them"


def _indexes_in(env, worker, name):
    """Of all pods that were created for this Job in this worker."""
    return sorted(int(entry["requestObject"]["metadata"]["annotations"][INDEX]) for entry in env.audits[worker.name].entries(env.namespace)
                  if entry["verb"] == "create" and entry["objectRef"]["resource"] == "pods" and code(entry) == 201
                  and entry["requestObject"]["metadata"]["ownerReferences"][0]["name"] == name)


def the_rest_of_a_job_s_rules_hold_in_the_next_attempt(env):
    env.use_all(placement="{policy: ordered}")
    first, second = env.workers
    held = {"parallelism": 4, "hold": "index:2,3"}
    rule = {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [1]}}
    bodies = {
        "elastic": indexed("elastic", 4, **held),
        "replaced": indexed("replaced", 4, podReplacementPolicy="Failed", **held),
        "paused": indexed("paused", 4, **held),
        "enough": indexed("enough", 5, **{**held, "parallelism": 5, "hold": "index:2,3,4"}, successPolicy={"rules": [{"succeededCount": 3}]}),
        "most": indexed("most", 4, fail="index:1,3", backoffLimitPerIndex=0, maxFailedIndexes=1, **{**held, "hold": "index:3"}),
        "exit": indexed("exit", 4, fail="index:1", backoffLimitPerIndex=2, podFailurePolicy={"rules": [rule]}, **held)}
    ends = {"most": ("0,2", "1,3"), "exit": ("0,2,3", "1")}
    for body in bodies.values():
        env.submit(body)
    for name in bodies:
        assert env.placed(name) == first.name
        _await(env, name, 1 if name == "exit" else 2)
    for name in ends:
        env.until_job(name, "with a failed index", lambda found: found["status"].get("failedIndexes") == "1")
    env.change("paused", {"spec": {"suspend": True}})
    env.until_job("paused", "suspended", lambda found: condition(found, "Suspended"))
    assert env.host.command("drain", first.name, "--policy", "move", "--no-wait")[0] == 0
    try:
        until(lambda: not env.mirror(first.name, "paused"), "the suspended mirror to be gone")
        env.change("paused", {"spec": {"suspend": False}})
        for name in bodies:
            assert env.placed(name, attempt=2) == second.name
            until(lambda name=name: _marks(env, name) == ["given"], f"{name} to have its progress")
        env.change("elastic", {"spec": {"parallelism": 5, "completions": 5}})
        until(lambda: env.mirror(second.name, "elastic")["spec"]["completions"] == 5, "the change to be carried")
        env.release()
        for name in bodies:
            status = env.until_finished(name, "Failed" if name in ends else "Complete")["status"]
            assert name not in ends or (status["completedIndexes"], status["failedIndexes"]) == ends[name], status
            expected = {"elastic": [2, 3, 4], "enough": [2, 3, 4], "most": [3]}.get(name, [2, 3])
            assert _indexes_in(env, second, name) == expected, f"{name}: {_indexes_in(env, second, name)}"
        assert condition(env.job("enough"), "Complete")["reason"] == "SuccessPolicy", env.job("enough")["status"]
        assert condition(env.job("most"), "Failed")["reason"] == "MaxFailedIndexesExceeded", env.job("most")["status"]
    finally:
        assert env.host.command("uncordon", first.name)[0] == 0


def _writes_of_moves(env, marks):
    """How many writes the host has sent since the marks that moves consist of: deletions and creates of mirrors, placements, patches
    of mirrors and of their statuses."""
    return sum(len(audit.host(env.namespace, marks[name], subresource="" if name == "management" else None))
               for name, audit in env.audits.items())


def a_move_survives_a_kill_after_each_of_its_writes(env):
    env.use_all(workerLostTimeout="10s")   # as long waits a host that starts after the deletion and before the placement
    with Watcher(env, "killed") as watcher:
        env.submit(indexed("killed", 60, parallelism=5, run="0.4s", backoffLimit=20))
        for writes in range(6):   # a deletion, a placement, a create, the status, the resume
            _await(env, "killed", 8 * (writes + 1))
            worker = env.job("killed")["metadata"]["annotations"]["wharf.dev/cluster"]
            marks = {name: audit.mark() for name, audit in env.audits.items()}
            assert env.host.command("drain", worker, "--policy", "move", "--no-wait")[0] == 0
            try:
                until(lambda marks=marks, writes=writes: _writes_of_moves(env, marks) >= writes, f"{writes} writes", every=0.005)
                env.host.kill()
                assert not finished(env.job("killed")), "it was killed too late"
                env.host.start()
                attempt = str(writes + 2)
                until(lambda attempt=attempt: env.job("killed")["metadata"]["annotations"]["wharf.dev/attempt"] == attempt
                      and _marks(env, "killed") == ["given"], f"attempt {attempt} to go on")
            finally:
                failed, out, err = env.host.command("uncordon", worker)
                assert not failed, out + err
        env.until_finished("killed")
        assert env.job("killed")["status"]["completedIndexes"] == "0-59", env.job("killed")["status"]
        watcher.check()


# A starting API server answers before its authorizer has read the roles.
@may_be_refused(("w1", "*", 403))
def a_lost_worker_loses_only_what_was_not_seen(env):
    env.use_all(workerLostTimeout="3s", placement="{policy: ordered}")
    first, second = env.workers
    with Watcher(env, "lost") as watcher:
        env.submit(indexed("lost", 12, parallelism=3, run="0.5s", hold="index:9,10,11"))
        assert env.placed("lost") == first.name
        _await(env, "lost", 9)
        first.lose()
        assert env.placed("lost", attempt=2) == second.name
        env.release()
        env.until_finished("lost")
        assert env.job("lost")["status"]["completedIndexes"] == "0-11"
        watcher.check()
        assert watcher.ran_in(2) == [9, 10, 11], watcher.ran
    first.bring_back()
    until(lambda: not env.mirror(first.name, "lost"), "the stale mirror to be gone")


def a_fenced_worker_s_progress_is_given(env):
    env.host.stop()
    _allow(env)
    first = env.workers[0]
    with _guard(env, first):
        since = env.host.log_size()
        env.use_all(**{**FENCING, "placement": "{policy: ordered}"})
        _knows_the_guard(env, since)
        with Watcher(env, "cut") as watcher:
            env.submit(indexed("cut", 6, parallelism=6, hold="index:4,5"))
            assert env.placed("cut") == first.name
            _await(env, "cut", 4)
            env.relay.cut()
            assert env.placed("cut", attempt=2) == env.workers[1].name
            env.release()
            env.until_finished("cut")
            watcher.check()
        env.relay.mend()
        until(lambda: not env.mirror(first.name, "cut"), "the stale mirror to be gone")


def what_a_worker_counts_after_the_cut_does_not_run_again_with_reports(env):
    env.host.stop()
    _allow(env)
    first, second = env.workers
    with _guard(env, first, *_allow_reports(env, first)) as guard:
        since = env.host.log_size()
        env.use_all(**{**REPORTING, "placement": "{policy: ordered}"})
        _knows_the_guard(env, since)
        with Watcher(env, "unseen") as watcher:
            env.submit(indexed("unseen", 40, parallelism=2, run="1s", backoffLimit=20))
            assert env.placed("unseen") == first.name
            _await(env, "unseen", 2)
            env.relay.cut()
            seen = indexes(env.job("unseen")["status"]["completedIndexes"])
            assert env.placed("unseen", attempt=2) == second.name
            counted = indexes(env.mirror(first.name, "unseen")["status"]["completedIndexes"])
            assert len(counted) >= len(seen) + 4, (seen, counted)
            given = indexes(env.job("unseen")["status"]["completedIndexes"])
            assert counted <= given, (counted, given)
            env.until_finished("unseen")
            watcher.check()
            assert not counted & set(watcher.ran_in(2)), (counted, watcher.ran)
            name = f"wharf-guard.e2e.{first.name}"
            assert env.management.get("configmaps", "wharf-system", name)["data"], "no report"
            env.relay.mend()
            until(lambda: not env.mirror(first.name, "unseen"), "the stale mirror to be gone")
            until(lambda: not env.management.get("configmaps", "wharf-system", name).get("data"), "the report to be emptied")
        guard.check()


@may_be_refused(("w2", "*", 422))
def a_worker_that_refuses_statuses_starts_from_nothing_and_says_so(env):
    env.use_all(placement="{policy: ordered}")
    first, second = env.workers
    policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "no-statuses"},
              "spec": {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": [{
                  "apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs/status"], "operations": ["UPDATE"]}]},
                  "validations": [{"expression": "request.userInfo.username != 'system:serviceaccount:wharf-system:wharf'",
                                   "message": "statuses are the controller's"}]}}
    binding = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
               "metadata": {"name": "no-statuses"}, "spec": {"policyName": "no-statuses", "validationActions": ["Deny"]}}
    kube.know("validatingadmissionpolicies", "admissionregistration.k8s.io/v1", namespaced=False)
    kube.know("validatingadmissionpolicybindings", "admissionregistration.k8s.io/v1", namespaced=False)
    second.admin.create("validatingadmissionpolicies", None, policy)
    second.admin.create("validatingadmissionpolicybindings", None, binding)
    try:
        env.submit(indexed("refused", 5, parallelism=5, hold="index:3,4"))
        assert env.placed("refused") == first.name
        _await(env, "refused", 3)
        _move(env, "refused")
        env.until_event("refused", "ProgressRefused: attempt 2 in cluster w2 starts from nothing.*statuses are the controller's")
        env.release()
        env.until_finished("refused")
        assert counts(env.job("refused"))[2] == 5
        assert sum(env.pods_created("refused").values()) == 10, env.pods_created("refused")
    finally:
        second.admin.delete("validatingadmissionpolicybindings", None, "no-statuses")
        second.admin.delete("validatingadmissionpolicies", None, "no-statuses")


def it_is_off_where_the_workload_says_so(env):
    env.use_all()
    body = indexed("anew", 4, parallelism=4, hold="index:2,3")
    body["metadata"]["annotations"] = {"wharf.dev/continue": "false"}
    env.submit(body)
    _await(env, "anew", 2)
    _move(env, "anew")
    assert _marks(env, "anew") in ([], [None])
    env.release()
    env.until_finished("anew")
    assert sum(env.pods_created("anew").values()) == 8, env.pods_created("anew")
    assert condition(env.job("anew"), "Complete") and counts(env.job("anew"))[2] == 4


def a_gang_goes_on_with_as_many_pods_as_are_left(env):
    if not env.clusters.management.gates:
        raise Skip("needs Kubernetes 1.37 in all clusters")
    gangs = next((worker for worker in env.workers if worker.gates), None)
    if not gangs:
        raise Skip("no worker has Kubernetes 1.37")
    kube.know("podgroups", "scheduling.k8s.io/v1beta1")
    env.use_all()
    env.submit(indexed("gang", 4, parallelism=4, hold="index:2,3", scheduling={"schedulingPolicy": {"gang": {"minCount": 4}}}))
    assert env.placed("gang") == gangs.name
    _await(env, "gang", 2)
    assert env.host.command("drain", gangs.name, "--policy", "move", "--no-wait")[0] == 0
    try:
        until(lambda: not env.mirror(gangs.name, "gang"), "the mirror to be gone")
    finally:
        assert env.host.command("uncordon", gangs.name)[0] == 0

    def runs_again():
        found = env.mirror(gangs.name, "gang")
        return found and found["metadata"]["annotations"].get(_MARK) == "given" and counts(found)[1] == 2 and found
    mirror = until(runs_again, "two pods to run again")
    groups = [group for group in gangs.admin.list("podgroups", env.namespace)
              if group["metadata"]["ownerReferences"][0]["uid"] == mirror["metadata"]["uid"]]
    assert [group["spec"]["schedulingPolicy"] for group in groups] == [{"gang": {"minCount": 2}}], groups
    running = [pod["spec"].get("schedulingGroup") for pod in gangs.admin.list("pods", env.namespace)
               if pod["metadata"]["ownerReferences"][0]["uid"] == mirror["metadata"]["uid"]]
    assert running == [{"podGroupName": groups[0]["metadata"]["name"]}] * 2, running
    env.release()
    assert env.until_finished("gang")["status"]["completedIndexes"] == "0-3"
    assert env.job("gang")["spec"]["scheduling"]["schedulingPolicy"]["gang"]["minCount"] == 4
