# SPDX-License-Identifier: Apache-2.0
"""Kueue in the workers: mirrors are queued, preempted and suspended there, and the workload tells."""
import json
import time

import kueue_server
import pods
from jobs import condition, counts, job
from kueue_server import PRIORITY, QUEUE
from wait import until

_QUOTA = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata:
  name: any
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata:
  name: urgent
value: 1000
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: worker
spec:
  namespaceSelector: {}
  preemption:
    withinClusterQueue: LowerPriority
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: any
      resources:
      - {name: cpu, nominalQuota: 2}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata:
  name: worker
spec:
  clusterQueue: worker
"""


def _after_all(env):
    kueue_server.stop(env)


def _use(env):
    env.use_all()
    kueue_server.use(env, env.workers)
    for worker in env.workers:
        kueue_server.set_up(worker.admin, env.namespace, _QUOTA, "worker")


def _job(name, cpu, labels=None, **more):
    body = job(name, labels={QUEUE: "worker", **(labels or {})}, **more)
    body["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": str(cpu)}}
    return body


def _fill(env):
    """A Job in each worker that takes its quota: {worker: name}."""
    placed = {}
    for name in ("first", "second"):
        env.submit(_job(name, 2, hold="all"))
        placed[env.placed(name)] = name
        env.until_counts(name, active=1)
    assert len(placed) == 2, placed
    return placed


def _workload(env, worker, name):
    mirror = env.mirror(worker, name)
    return mirror and kueue_server.workload_of(env.worker(worker).admin, env.namespace, mirror["metadata"]["uid"])


def _explain(env, name):
    return env.host.explain(f"job/{name}", env.namespace)


def a_mirror_that_is_queued_or_preempted_in_its_worker_is_told_with_kueues_reason(env):
    _use(env)
    placed = _fill(env)
    env.submit(_job("third", 1))
    worker = env.placed("third")
    env.until_event("third", f"^QueuedInWorker: queued by the Kueue of cluster {worker} in worker: .*insufficient unused quota")

    def told():
        text = _explain(env, "third")
        assert f"suspended by Kueue in {worker} since " in text and "insufficient unused quota for cpu" in text, text
        return True
    until(told, "wharf explain to say why it is queued")
    code, text = env.host.fetch("/api/v1/workloads?name=third")
    assert code == 200, text
    waiting = json.loads(text)["items"][0]["waiting"]
    assert (waiting["reason"], waiting["cluster"]) == ("queued", worker) and "insufficient" in waiting["detail"], waiting
    env.submit(_job("urgent", 2, {PRIORITY: "urgent"}, run="3s"))
    other = env.placed("urgent")
    assert other != worker, "it is not in the worker with fewer Jobs"
    victim = placed[other]
    env.until_event(victim, f"^EvictedInWorker: the Kueue of cluster {other} has evicted the mirror \\(Preempted\\): Preempted to acc")
    env.until_job(victim, "without pods", lambda found: condition(found, "Suspended") and counts(found)[0] == 0)
    env.until_finished("urgent")
    env.until_counts(victim, active=1)
    env.release()
    for name in ("first", "second", "third"):
        env.until_finished(name)


def a_suspended_workload_is_deactivated_in_its_workers_queue_and_activated_when_it_is_resumed(env):
    _use(env)
    env.submit(_job("held", 1, hold="all"))
    worker = env.placed("held")
    env.until_counts("held", active=1)
    env.change("held", {"spec": {"suspend": True}})
    env.until_job("held", "suspended", lambda found: condition(found, "Suspended") and counts(found)[0] == 0)
    inactive = until(lambda: _workload(env, worker, "held")["spec"].get("active") is False, "its Workload to be inactive")
    assert inactive
    uid = env.mirror(worker, "held")["metadata"]["uid"]
    made = len(env.pods_created("held"))
    ended = time.monotonic() + 2
    while time.monotonic() < ended:   # nothing resumes it meanwhile
        assert env.mirror(worker, "held")["spec"]["suspend"]
        time.sleep(0.05)
    assert len(env.pods_created("held")) == made
    env.change("held", {"spec": {"suspend": False}})
    env.until_counts("held", active=1)
    assert env.mirror(worker, "held")["metadata"]["uid"] == uid
    assert _workload(env, worker, "held")["spec"]["active"] is True
    env.release()
    env.until_finished("held")
    assert not [text for text in env.events("held") if text.startswith(("MirrorRewritten", "Evicted"))], env.events("held")


def a_job_passes_the_queue_of_the_management_cluster_and_then_that_of_its_worker(env):
    kueue_server.use(env, env.clusters.all)
    env.host.kill()   # it knows for a while that the management cluster had no Kueue
    env.host.use()
    kueue_server.set_up(env.management, env.namespace, _QUOTA.replace("name: worker", "name: all").replace(
        "clusterQueue: worker", "clusterQueue: all"), "all")
    for worker in env.workers:   # a queue that catches what has no label
        kueue_server.set_up(worker.admin, env.namespace, _QUOTA.replace(
            "kind: LocalQueue\nmetadata:\n  name: worker", "kind: LocalQueue\nmetadata:\n  name: default"), "default")
    env.submit(_job("twice", 1, {QUEUE: "all"}, hold="all"))
    worker = env.placed("twice")
    env.until_counts("twice", active=1)
    mirror = env.mirror(worker, "twice")
    assert mirror["metadata"]["labels"][QUEUE] == "default", mirror["metadata"]
    assert _workload(env, worker, "twice")["spec"]["queueName"] == "default"
    env.change("twice", {"metadata": {"labels": {"team": "x"}}})
    until(lambda: env.mirror(worker, "twice")["metadata"]["labels"].get("team") == "x", "a change to be carried")
    # Both quotas are free for another one.
    env.submit(_job("third", 2, {QUEUE: "all"}))
    env.release()
    env.until_finished("twice")
    env.until_finished("third")
