# SPDX-License-Identifier: Apache-2.0
"""What happens to a mirror's pods is seen on its workload."""
import time

from jobs import job
from wait import until


def _pods(env, worker, name, count):
    """The pods of the mirror, once there are so many."""
    def probe():
        found = env.worker(worker).admin.list("pods", env.namespace, selector=f"batch.kubernetes.io/job-name={name}")
        assert len(found) == count, [pod["metadata"]["name"] for pod in found]
        return found
    return until(probe, f"{count} pods of {name}")


def _happens(env, worker, pod, reason, message, kind="Warning"):
    """An Event as kubelets and the scheduler write them."""
    now, meta = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), pod["metadata"]
    env.worker(worker).admin.create("events", env.namespace, {
        "metadata": {"generateName": meta["name"] + "."}, "type": kind, "reason": reason, "message": message,
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": env.namespace, "name": meta["name"],
                           "uid": meta["uid"]},
        "count": 1, "source": {"component": "test"}, "firstTimestamp": now, "lastTimestamp": now})


def _watched(env, worker):
    """From its first mirror on."""
    until(lambda: env.host.metrics().get(("wharf_pod_events_watched", (("cluster", worker),))) == 1,
          f"the Events of pods to be watched in {worker}")


def events_of_pods_are_told_on_the_workload_with_their_number(env):
    env.host.use()
    env.submit(job("trouble", hold="all", parallelism=3, completions=3))
    worker = env.placed("trouble")
    _watched(env, worker)
    pods = _pods(env, worker, "trouble", 3)
    _happens(env, worker, pods[0], "Pulled", "all is well", kind="Normal")
    with env.host.frozen():   # what comes within two seconds is told together
        for pod in pods:
            _happens(env, worker, pod, "FailedScheduling", "0/5 nodes are available: 5 Insufficient nvidia.com/gpu.")
    env.until_event("trouble", f"^FailedScheduling: {worker}: 3 pods: 0/5 nodes are available")
    name = pods[1]["metadata"]["name"]
    _happens(env, worker, pods[1], "Failed", f'Error: ImagePullBackOff in pod {name}')
    env.until_event("trouble", f"^Failed: {worker}: pod {name}: Error: ImagePullBackOff")
    assert not [text for text in env.events("trouble") if "all is well" in text], env.events("trouble")
    reads = [entry for resource in ("pods", "jobs") for entry in env.audits[worker].reads(env.namespace, resource)]
    assert 1 <= len(reads) <= 4, reads  # each pod, and their Job, once


def normal_events_are_told_too_where_all_are_asked_for(env):
    env.host.use(podEvents="all")
    env.submit(job("talkative", hold="all"))
    worker = env.placed("talkative")
    _watched(env, worker)
    pod, = _pods(env, worker, "talkative", 1)
    _happens(env, worker, pod, "Preempted", "Preempted by a pod on node n1", kind="Normal")
    env.until_event("talkative", f"^Preempted: {worker}: pod {pod['metadata']['name']}: Preempted by a pod on node n1")


def a_container_that_exceeded_its_memory_limit_is_told_though_no_event_exists_for_it(env):
    env.host.use()
    body = job("hungry", hold="all", backoffLimit=6)
    body["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"memory": "64Mi"}}
    env.submit(body)
    worker = env.placed("hungry")
    _watched(env, worker)
    pod, = _pods(env, worker, "hungry", 1)
    env.until_counts("hungry", ready=1)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    killed = {"exitCode": 137, "reason": "OOMKilled", "startedAt": now, "finishedAt": now}
    env.worker(worker).admin.patch_status("pods", env.namespace, pod["metadata"]["name"], {"status": {
        "phase": "Failed", "containerStatuses": [{
            "name": "main", "image": "example.invalid/none", "imageID": "", "restartCount": 0, "ready": False,
            "started": False, "state": {"terminated": killed}}]}})
    name = pod["metadata"]["name"]
    env.until_event("hungry", rf"^OOMKilled: {worker}: pod {name}: container main was killed because it exceeded its "
                              r"memory limit \(64Mi\)")


def without_pod_events_no_pod_is_looked_at(env):
    env.host.use(podEvents="none")
    env.submit(job("quiet", hold="all"))
    worker = env.placed("quiet")
    pod, = _pods(env, worker, "quiet", 1)
    _happens(env, worker, pod, "FailedMount", "no such volume")
    env.release()
    env.until_finished("quiet")
    assert not [text for text in env.events("quiet") if "FailedMount" in text], env.events("quiet")
    assert not env.audits[worker].reads(env.namespace, "pods"), env.audits[worker].reads(env.namespace, "pods")
