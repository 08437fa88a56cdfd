# SPDX-License-Identifier: Apache-2.0
"""Workload kinds in difficult cases: a lost worker, nested kinds, Kueue, an old version."""
import os

import crds
import kinds
import kube
from compare import merge
from jobs import condition, job
from playable import playable
from skip import may_be_refused
from wait import until

# See test_loss.
_STARTING = 403
_QUEUE = "kueue.x-k8s.io/queue-name"


@may_be_refused(("w2", "*", _STARTING))
def workloads_of_all_kinds_are_placed_again_when_their_worker_is_lost(env):
    all_kinds = kinds.of(env)
    first, second = env.workers
    # Whatever is placed while the first worker is away is in the second one.
    all_kinds.use(workerLostTimeout="3s", mirrorRetention="2h")
    env.relay.cut()
    until(lambda: all_kinds.feed_is("lost", kinds.PLAIN, first.name), f"{first.name} to be unreachable")
    stories = {plural: _story_with_a_loss(all_kinds.fixtures[plural]) for plural in all_kinds.fixtures}
    all_kinds.stage(env.namespace)
    plays = {plural: all_kinds.play(plural, env.namespace) for plural in stories}
    all_kinds.together(lambda plural: plays[plural].play(stories[plural][0]), plays)
    assert {play.worker for play in plays.values()} == {second.name}
    env.relay.mend()
    for plural in plays:
        until(lambda plural=plural: all_kinds.feed_is("connected", plural, first.name),
              f"{plural} to be watched in {first.name}")
    second.lose()

    def go_on(plural):
        play = plays[plural]
        play.placed()
        assert (play.worker, play.attempt) == (first.name, 2), (play.worker, play.attempt)
        play.go_on(playable(stories[plural][1], play.began))
    all_kinds.together(go_on, plays)
    second.bring_back()
    for plural, play in plays.items():
        until(lambda plural=plural, play=play: second.admin.find(plural, env.namespace, play.name) is None,
              f"the stale mirror of {plural} to be gone")
    all_kinds.together(lambda plural: plays[plural].delete(), plays)


def _story_with_a_loss(fixture):
    """(steps before a loss, steps after it) of a story that has one; a first status and nothing if none has."""
    for steps in fixture.stories.values():
        for number, step in enumerate(steps[:-1]):
            if step.get("lost") and number and "status" in steps[number + 1] and not steps[0].get("unplaced"):
                after = steps[number + 1:]
                end = next((index for index, each in enumerate(after) if each.get("lost")), len(after))
                return steps[:number], after[:end]
    return fixture.stories.get("succeeded", fixture.stories.get("running"))[:1], []


def the_job_inside_an_appwrapper_is_run_where_the_mirror_is_and_never_touched(env):
    kinds.of(env).use()
    inner = job("inside", run="0.2s")
    env.management.create("appwrappers", env.namespace, {
        "apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper",
        "metadata": {"name": "wrapped", "labels": {"team": "a"}},
        "spec": {"managedBy": "wharf.dev/host", "components": [
            {"podSets": [{"replicas": 1, "path": "template.spec.template"}], "template": inner}]}})
    wrapper = until(lambda: _mirror_anywhere(env, "appwrappers", "wrapped"), "the AppWrapper to have a mirror")
    worker = env.worker(wrapper["metadata"]["annotations"]["e2e"])
    component = wrapper["spec"]["components"][0]["template"]
    assert "managedBy" not in component["spec"], component["spec"]
    # As controllers do, all labels and annotations of the wrapper are copied, the host's marks too.
    meta = wrapper["metadata"]
    worker.admin.create("jobs", env.namespace, merge(component, {"metadata": {
        "labels": meta["labels"], "annotations": {key: value for key, value in meta["annotations"].items()
                                                  if key != "e2e"},
        "ownerReferences": [{"apiVersion": wrapper["apiVersion"], "kind": "AppWrapper", "name": "wrapped",
                             "uid": meta["uid"], "controller": True}]}}))
    until(lambda: condition(worker.admin.get("jobs", env.namespace, "inside"), "Complete"), "the Job to complete")
    worker.admin.patch_status("appwrappers", env.namespace, "wrapped", {"status": {"phase": "Succeeded"}})
    until(lambda: env.management.get("appwrappers", env.namespace, "wrapped").get("status", {}).get("phase")
          == "Succeeded", "the AppWrapper to have succeeded")
    until(lambda: not _mirror_anywhere(env, "appwrappers", "wrapped"), "its mirror to be gone")
    for audit in env.audits.values():
        assert not audit.host(env.namespace, resource="jobs"), audit.host(env.namespace, resource="jobs")
    assert not env.management.find("jobs", env.namespace, "inside")


def _mirror_anywhere(env, plural, name):
    for worker in env.workers:
        found = worker.admin.find(plural, env.namespace, name)
        if found:
            found["metadata"]["annotations"]["e2e"] = worker.name
            return found
    return None


def a_workload_that_kueue_owns_is_left_alone(env):
    all_kinds = kinds.of(env)
    all_kinds.use()
    kube.know("workloads", "kueue.x-k8s.io/v1beta1")
    kube.know("admissionchecks", "kueue.x-k8s.io/v1beta1", namespaced=False)
    crds.install([env.management], {os.path.join(crds.OWN, "other", f"kueue.x-k8s.io_{plural}.yaml"): "v1beta1"
                                    for plural in ("workloads", "admissionchecks")})
    base = all_kinds.fixtures["rayjobs"].workload
    # Kueue's webhook suspends what is queued; it is resumed once its Workload is there.
    for name in ("owned", "free"):
        made = env.management.create("rayjobs", env.namespace, merge(base, {
            "metadata": {"name": name, "namespace": env.namespace, "labels": {_QUEUE: "research"}},
            "spec": {"suspend": True}}))
        if name == "owned":
            _create_kueue_workload(env, made)
        env.management.patch("rayjobs", env.namespace, name, {"spec": {"suspend": False}})
    until(lambda: _mirror_anywhere(env, "rayjobs", "free"), "the RayJob that Kueue does not own to have a mirror")
    env.until_event("owned", "^OwnedByKueue: ")
    env.until_event("free", "^Dispatched: ")
    assert not _mirror_anywhere(env, "rayjobs", "owned")
    notes = env.management.get("rayjobs", env.namespace, "owned")["metadata"].get("annotations", {})
    assert "wharf.dev/cluster" not in notes, notes
    env.management.delete("workloads", env.namespace, "rayjob-owned-1a2b3")
    env.management.delete("admissionchecks", None, "elsewhere")


def _create_kueue_workload(env, owner):
    """A Workload that is admitted by a MultiKueue."""
    meta = owner["metadata"]
    env.management.create("admissionchecks", None, {
        "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "AdmissionCheck", "metadata": {"name": "elsewhere"},
        "spec": {"controllerName": "kueue.x-k8s.io/multikueue"}})
    env.management.create("workloads", env.namespace, {
        "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", "spec": {"queueName": "research"},
        "metadata": {"name": "rayjob-owned-1a2b3", "labels": {"kueue.x-k8s.io/job-uid": meta["uid"]},
                     "ownerReferences": [{"apiVersion": owner["apiVersion"], "kind": owner["kind"],
                                          "name": meta["name"], "uid": meta["uid"], "controller": True}]}})
    env.management.patch_status("workloads", env.namespace, "rayjob-owned-1a2b3", {"status": {"admissionChecks": [
        {"name": "elsewhere", "state": "Pending", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"}]}})


def a_kind_that_is_served_in_an_older_version_only_is_used_in_that_version(env):
    all_kinds = kinds.of(env)
    all_kinds.use()
    env.host.stop()
    fixture = all_kinds.fixtures["mpijobs"]
    for cluster in env.clusters.all:
        crds.uninstall(cluster.admin, fixture.group, fixture.plural)
    path = os.path.join(crds.OWN, "other", "kubeflow.org_mpijobs.yaml")
    crds.install([cluster.admin for cluster in env.clusters.all], {path: "v1"})
    fixture.version, fixture.api_version = "v1", "kubeflow.org/v1"
    fixture.workload["apiVersion"] = fixture.api_version
    kube.know("mpijobs", fixture.api_version)
    env.host.start()
    all_kinds.stage(env.namespace)
    play = all_kinds.play("mpijobs", env.namespace)
    play.play(fixture.stories["suspended"][:1])
    assert play.mirror()["apiVersion"] == "kubeflow.org/v1"
    play.end()
