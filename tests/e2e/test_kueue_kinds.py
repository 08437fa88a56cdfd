# SPDX-License-Identifier: Apache-2.0
"""Kueue with objects other than Jobs: in the management cluster, and in the workers too for kinds in which it keeps its flavors
in a field of its own."""
import functools
import json
import os

import crds
import fixtures
import kinds
import kueue_server
import trainer_server
from kueue_server import QUEUE
from skip import Skip
from wait import until

_FRAMEWORKS = ("batch/job", "trainer.kubeflow.org/trainjob", "workload.codeflare.dev/appwrapper")
_KINDS = ("appwrappers", "trainjobs")
_ALL_FRAMEWORKS = ("batch/job", "jobset.x-k8s.io/jobset", "trainer.kubeflow.org/trainjob", "ray.io/rayjob",
                   "kubeflow.org/mpijob", "kubeflow.org/pytorchjob", "workload.codeflare.dev/appwrapper")
_QUEUED = ("jobsets", "trainjobs", "rayjobs", "mpijobs", "pytorchjobs", "appwrappers")
_EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")


def _queue(name, pool):
    """A queue of this name, whose flavor sends pods to a pool."""
    return f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata:
  name: {name}
spec:
  nodeLabels: {{{pool}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: {name}
spec:
  namespaceSelector: {{}}
  resourceGroups:
  - coveredResources: [cpu, memory, pods]
    flavors:
    - name: {name}
      resources:
      - {{name: cpu, nominalQuota: 100}}
      - {{name: memory, nominalQuota: 100Gi}}
      - {{name: pods, nominalQuota: 100}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata:
  name: {name}
spec:
  clusterQueue: {name}
"""


def _after_all(env):
    kueue_server.stop(env)


def _example(env, kind):
    return fixtures.Reader(os.path.dirname(env.host.wharf)).documents(os.path.join(_EXAMPLES, kind.lower() + ".yaml"))[0]


def _is_admitted(client, plural, namespace, name):
    found = client.get(plural, namespace, name)
    workload = kueue_server.workload_of(client, namespace, found["metadata"]["uid"])
    conditions = (workload or {}).get("status", {}).get("conditions", [])
    assert any(each["type"] == "Admitted" and each["status"] == "True" for each in conditions), conditions
    assert not found["spec"].get("suspend"), "it is suspended"
    return workload


def objects_of_all_kinds_get_their_mirror_once_they_are_admitted_and_their_flavor_reaches_it(env):
    all_kinds = _queue_one_of_each(env)
    for plural in _QUEUED:
        mirror = _mirror(env, plural)
        text = json.dumps(mirror["spec"])
        assert '"pool": "spot"' in text and "multikueue" not in text, f"{plural}: {text}"
        assert kueue_server.QUEUE not in mirror["metadata"]["labels"], mirror["metadata"]
    for plural in _QUEUED:
        _evict_and_admit_again(env, plural, all_kinds.fixtures[plural].kind)


def _queue_one_of_each(env):
    if not crds.real_folder():
        raise Skip("the projects' own CRDs are needed (WHARF_CRDS)")
    all_kinds = kinds.of(env)
    all_kinds.use()
    trainer_server.create_runtime([env.management])
    kueue_server.use(env, [env.clusters.management], _ALL_FRAMEWORKS)
    kueue_server.set_up(env.management, env.namespace, _queue("spot", "pool: spot"), "spot")
    for plural in _QUEUED:
        body = _example(env, all_kinds.fixtures[plural].kind)
        body["metadata"] = {"name": "queued", "labels": {kueue_server.QUEUE: "spot"}}
        env.management.create(plural, env.namespace, body)
    return all_kinds


def _mirror(env, plural):
    def has_one():
        found = [mirror for worker in env.workers for mirror in worker.admin.list(plural, env.namespace)]
        assert len(found) == 1, env.management.get(plural, env.namespace, "queued")
        return found[0]
    return until(has_one, f"the admitted object of {plural} to have a mirror")


def _evict_and_admit_again(env, plural, kind):
    """The mirror stops and resumes with its workload, which Kueue suspends and gives other labels."""
    field = ("spec", "runPolicy", "suspend") if plural in ("mpijobs", "pytorchjobs") else ("spec", "suspend")

    def mirror_is(suspended):
        found = _mirror(env, plural)
        assert bool(functools.reduce(lambda each, key: each.get(key) or {}, field, found)) == suspended, \
            (found["spec"], env.management.get(plural, env.namespace, "queued")["spec"])
        return found
    uid = mirror_is(False)["metadata"]["uid"]
    workload = next(found for found in env.management.list("workloads", env.namespace)
                    if found["metadata"]["ownerReferences"][0]["kind"] == kind)["metadata"]["name"]
    env.management.patch("workloads", env.namespace, workload, {"spec": {"active": False}})
    until(lambda: mirror_is(True), f"the mirror of the evicted object of {plural} to be suspended")
    env.management.patch("workloads", env.namespace, workload, {"spec": {"active": True}})
    found = until(lambda: mirror_is(False), f"the mirror of the object of {plural} that is admitted again to be resumed")
    assert found["metadata"]["uid"] == uid, "it has another mirror"


def appwrappers_and_trainjobs_pass_the_queue_of_the_management_cluster_and_then_that_of_their_worker(env):
    if not crds.real_folder():
        raise Skip("the projects' own CRDs are needed (WHARF_CRDS)")
    all_kinds = kinds.of(env)
    all_kinds.use()
    trainer_server.create_runtime([cluster.admin for cluster in env.clusters.all])
    kueue_server.use(env, env.clusters.all, _FRAMEWORKS)
    env.host.kill()   # it knows for a while that the management cluster had no Kueue
    all_kinds.use()
    kueue_server.set_up(env.management, env.namespace, _queue("all", "pool: spot"), "all")
    for worker in env.workers:   # a queue that catches what has no label
        kueue_server.set_up(worker.admin, env.namespace, _queue("default", "zone: a"), "default")
    for plural in _KINDS:
        body = _example(env, all_kinds.fixtures[plural].kind)
        body["metadata"] = {"name": "twice", "labels": {QUEUE: "all"}}
        env.management.create(plural, env.namespace, body)
    for plural in _KINDS:
        until(lambda plural=plural: _is_admitted(env.management, plural, env.namespace, "twice"),
              f"the object of {plural} to be admitted")
        worker = until(lambda plural=plural: [each for each in env.workers
                                              if each.admin.find(plural, env.namespace, "twice")], f"a mirror of {plural}")[0]
        workload = until(lambda plural=plural, worker=worker: _is_admitted(worker.admin, plural, env.namespace, "twice"),
                         f"the mirror of {plural} to be admitted by its worker's Kueue")
        assert workload["spec"]["queueName"] == "default", workload["spec"]
        mirror = worker.admin.get(plural, env.namespace, "twice")
        text = json.dumps(mirror["spec"])
        assert '"zone": "a"' in text, f"{plural} has not its worker's flavor: {text}"
        # Of an AppWrapper the worker's Kueue replaces what the first one wrote.
        assert plural == "appwrappers" or '"pool": "spot"' in text, f"{plural} has not the first flavor: {text}"
        # A change reaches the mirror, and nobody takes it back.
        env.management.patch(plural, env.namespace, "twice", {"metadata": {"labels": {"team": "x"}}})
        until(lambda plural=plural, worker=worker: worker.admin.get(plural, env.namespace, "twice")["metadata"]["labels"]
              .get("team") == "x", f"a label to be carried to the mirror of {plural}")
        _is_admitted(worker.admin, plural, env.namespace, "twice")
        uid = worker.admin.get(plural, env.namespace, "twice")["metadata"]["uid"]
        assert uid == mirror["metadata"]["uid"], "it was made anew"
        assert not [text for text in env.events("twice") if text.startswith(("MirrorRewritten", "Evicted"))], \
            env.events("twice")
