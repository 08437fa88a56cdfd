# SPDX-License-Identifier: Apache-2.0
"""Kueue in the management cluster for quota and preemption, dispatch by the host, no Kueue in the workers. The queue and
the Jobs are those of examples/kueue."""
import copy
import os
import sys
import threading

import fixtures
import kueue_server
import pods
from jobs import brief, condition, counts, finished
from kueue_server import PRIORITY
from wait import until

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e_bench"))

import kueue_objects as multikueue  # noqa: E402

_FAIR = {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}
_EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "kueue")


def _after_all(env):
    kueue_server.stop(env)


def _use(env, example, *queues):
    env.host.use()
    _use_kueue(env)
    for queue in queues:
        kueue_server.set_up(env.management, env.namespace, kueue_server.read(os.path.join(_EXAMPLES, example)), queue)


def _use_kueue(env):
    """One configuration for the tests of Jobs: fair sharing changes nothing for a queue without a cohort."""
    kueue_server.use(env, [env.clusters.management], fairSharing=_FAIR)


def _documents(env, *path):
    return fixtures.Reader(os.path.dirname(env.host.wharf)).documents(os.path.join(_EXAMPLES, *path))


def _job(env, name, labels=None, notes=None, **spec):
    """The example, with annotations for pods.py."""
    body = copy.deepcopy(_documents(env, "job.yaml")[0])
    body["metadata"]["name"] = name
    body["metadata"]["labels"].update(labels or {})
    body["spec"].update(spec)
    body["spec"]["template"]["metadata"] = {"annotations": notes or {}}
    body["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 1
    return body


class _Counter(threading.Thread):
    """The greatest number of mirrors that were neither suspended nor finished, and of pods that had not ended."""

    def __init__(self, env):
        super().__init__(daemon=True)
        self.env, self.mirrors, self.pods, self.ended = env, 0, 0, threading.Event()

    def run(self):
        while not self.ended.wait(0.02):
            mirrors = [found for worker in self.env.workers for found in worker.admin.list("jobs", self.env.namespace)
                       if not finished(found) and not found["spec"].get("suspend")]
            running = [pod for worker in self.env.workers for pod in worker.admin.list("pods", self.env.namespace)
                       if pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")]
            self.mirrors, self.pods = max(self.mirrors, len(mirrors)), max(self.pods, len(running))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()


def twenty_jobs_in_a_quota_of_four_never_have_more_than_four_mirrors(env):
    _use(env, "quota.yaml", "research")
    names = [f"q{number}" for number in range(20)]
    with _Counter(env) as counter:
        for name in names:
            env.submit(_job(env, name, notes={pods.RUN: "0.3s"}))
        for name in names:
            env.until_finished(name)
    assert 2 <= counter.mirrors <= 4 and 2 <= counter.pods <= 4, (counter.mirrors, counter.pods)
    for name in names:
        assert len(env.mirrors_that_ran(name)) == 1, brief(env.job(name))


def a_job_that_is_preempted_stops_in_its_worker_and_goes_on_there(env):
    _use(env, "quota.yaml", "research")
    env.submit(_job(env, "low", notes={pods.HOLD: "all"}, parallelism=4, completions=4))
    worker = env.placed("low")
    env.until_counts("low", active=4, ready=4)
    uid = env.mirror(worker, "low")["metadata"]["uid"]
    env.submit(_job(env, "urgent", {PRIORITY: "urgent"}, {pods.RUN: "1s"}, parallelism=2, completions=2))
    env.until_job("low", "suspended, with no pods", lambda found: condition(found, "Suspended") and counts(found)[0] == 0)
    assert env.mirror(worker, "low")["spec"]["suspend"]
    env.until_finished("urgent")
    env.until_counts("low", active=4, ready=4)
    assert env.mirror(worker, "low")["metadata"]["uid"] == uid, "it has another mirror"
    env.release()
    env.until_finished("low")


def two_teams_share_a_cohort_fairly(env):
    _use(env, "fair.yaml", "blue", "green")
    queue = kueue_server.QUEUE
    for number in range(4):
        env.submit(_job(env, f"blue-{number}", {queue: "blue"}, {pods.HOLD: "all"}))
    for number in range(4):
        env.until_counts(f"blue-{number}", active=1)
    for number in range(4):
        env.submit(_job(env, f"green-{number}", {queue: "green"}, {pods.HOLD: "all"}))

    def shares():
        running = [name.partition("-")[0] for name in _running(env)]
        assert (running.count("blue"), running.count("green")) == (2, 2), running
        return True
    until(shares, "both teams to have two pods")
    env.release()
    for number in range(4):
        env.until_finished(f"blue-{number}")
        env.until_finished(f"green-{number}")


def _running(env):
    return [pod["metadata"]["ownerReferences"][0]["name"] for worker in env.workers
            for pod in worker.admin.list("pods", env.namespace) if pod.get("status", {}).get("phase") == "Running"
            and "deletionTimestamp" not in pod["metadata"]]


def a_job_in_a_queue_that_multikueue_dispatches_is_told_why_it_never_runs(env):
    env.host.use()
    _use_kueue(env)
    assets, _ = kueue_server.find()
    multikueue.install_workers(env.workers, assets)
    try:
        until(lambda: multikueue.queues(env.clusters.management, env.workers) or True, "the queue to be there")
        multikueue.local_queue(env.clusters.management, env.namespace)
        until(lambda: kueue_server.is_active(env.management, "localqueues", env.namespace, multikueue.QUEUE),
              "its queue to be active")
        env.submit(_job(env, "ours", {kueue_server.QUEUE: multikueue.QUEUE}))
        env.until_event("ours", f"^KueueCheck: never runs in queue {multikueue.QUEUE}: .*{multikueue.QUEUE}: The owner is "
                                "not managed by Kueue")
        text = env.host.explain("job/ours", env.namespace)
        assert "never runs in queue" in text, text
        assert not env.mirrors("ours")
        env.delete_all()
    finally:
        kueue_server.uninstall(env.workers, assets)
