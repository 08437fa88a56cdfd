# SPDX-License-Identifier: Apache-2.0
"""Attempts that go on where the former one was: what a worker's Job controller has counted does not run again."""
import contextlib
import http.client
import json
import threading

import kube
from jobs import condition, counts, finished, indexed, job
from skip import may_be_refused
from test_fence import FENCING, _allow, _guard, _knows_the_guard
from wait import until

_INDEX = "batch.kubernetes.io/job-completion-index"
_MARK = "wharf.dev/progress"


def _indexes(text):
    """{0, 1, 2, 5} of "0-2,5"."""
    found = set()
    for part in filter(None, (text or "").split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


class _Watcher:
    """Independent of the host: what each mirror of one Job has counted, and which indexes got pods for it, in all workers. A mirror of
    a later attempt is made after the last news of the former one."""

    def __init__(self, env, name):
        self.env, self.name = env, name
        self.lock, self.ended, self.streams, self.threads = threading.Lock(), threading.Event(), [], []
        self.counted, self.ran, self.attempts = {}, {}, {}   # by the uid of the mirror
        self.fell = []

    def __enter__(self):
        for client in (self.env.management, *(worker.admin for worker in self.env.workers)):
            for plural, take in (("jobs", self._job), ("pods", self._pod)):
                thread = threading.Thread(target=self._follow, args=(client, plural, take), daemon=True)
                self.threads.append(thread)
                thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for stream in self.streams:
            with contextlib.suppress(OSError):
                stream.close()
        for thread in self.threads:
            thread.join(10)

    def _follow(self, client, plural, take):
        last = {}
        while not self.ended.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException, kube.ApiError, ValueError):
                stream = client.watch(plural, self.env.namespace)
                self.streams.append(stream)
                for line in stream:
                    found = json.loads(line)["object"]
                    with self.lock:
                        take(client, found, last)
            self.ended.wait(0.2)

    def _job(self, client, found, last):
        if found["metadata"].get("name") != self.name:
            return
        uid, done = found["metadata"]["uid"], _indexes(found.get("status", {}).get("completedIndexes"))
        if client is self.env.management:
            before = last.get(uid, (set(), 0, 0))
            now = (done, *counts(found)[2:])
            if not before[0] <= now[0] or before[1] > now[1] or before[2] > now[2]:
                self.fell.append((before, now))
            last[uid] = now
            return
        self.attempts[uid] = int(found["metadata"]["annotations"]["wharf.dev/attempt"])
        self.counted.setdefault(uid, set()).update(done)

    def _pod(self, client, found, _last):
        owner = (found["metadata"].get("ownerReferences") or [{}])[0]
        if client is not self.env.management and owner.get("name") == self.name:
            index = found["metadata"]["annotations"].get(_INDEX)
            self.ran.setdefault(owner["uid"], {})[found["metadata"]["uid"]] = int(index) if index else None

    def again(self, but=()):
        """{attempt: the indexes that ran in it although an earlier one, except those of `but`, had counted them}"""
        with self.lock:
            order, seen, found = sorted(self.attempts, key=self.attempts.get), set(), {}
            for uid in order:
                found[self.attempts[uid]] = seen & set(self.ran.get(uid, {}).values())
                seen |= self.counted[uid] if self.attempts[uid] not in but else set()
            return {attempt: indexes for attempt, indexes in found.items() if indexes}

    def ran_in(self, *attempts):
        """The indexes of all pods that these attempts had, sorted; without attempts: of all."""
        with self.lock:
            return sorted(index for uid, pods in self.ran.items() for index in pods.values()
                          if not attempts or self.attempts.get(uid) in attempts)

    def check(self, but=()):
        assert not self.again(but), f"counted indexes ran again: {self.again(but)}"
        assert not self.fell, f"the status fell: {self.fell}"


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
    with _Watcher(env, "moved") as watcher:
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
    with _Watcher(env, "bounded") as watcher:
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


def a_move_survives_kills_at_any_time(env):
    env.use_all()
    ended = threading.Event()

    def kill():
        while not ended.wait(1.5):
            env.host.kill()
            env.host.start()
    with _Watcher(env, "killed") as watcher:
        env.submit(indexed("killed", 40, parallelism=5, run="0.4s", backoffLimit=20))
        for number in range(1, 4):
            _await(env, "killed", 8 * number)
            thread = threading.Thread(target=kill, daemon=True)
            ended.clear()
            worker = env.job("killed")["metadata"]["annotations"]["wharf.dev/cluster"]
            assert env.host.command("drain", worker, "--policy", "move", "--no-wait")[0] == 0
            thread.start()
            attempt = str(number + 1)
            try:
                until(lambda attempt=attempt: finished(env.job("killed")) or (
                    env.job("killed")["metadata"]["annotations"]["wharf.dev/attempt"] == attempt and _marks(env, "killed") == ["given"]),
                    f"attempt {attempt} to go on")
            finally:
                ended.set()
                thread.join(60)
            assert env.host.command("uncordon", worker)[0] == 0
        env.until_finished("killed")
        assert env.job("killed")["status"]["completedIndexes"] == "0-39", env.job("killed")["status"]
        watcher.check()


# A starting API server answers before its authorizer has read the roles.
@may_be_refused(("w1", "*", 403))
def a_lost_worker_loses_only_what_was_not_seen(env):
    env.use_all(workerLostTimeout="3s", placement="{policy: ordered}")
    first, second = env.workers
    with _Watcher(env, "lost") as watcher:
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
        with _Watcher(env, "cut") as watcher:
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
