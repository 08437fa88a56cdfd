# SPDX-License-Identifier: Apache-2.0
"""What the host refuses to do: namespaces that are not permitted, workers that drop fields, kinds whose API lacks managedBy,
lost workers that are waited for, and a management cluster that is restored while no host runs."""
import json
import re
import subprocess
import time

import policies
from jobs import brief, job
from skip import may_be_refused
from wait import until

_STARTING = 403   # see test_loss
_CHURN = 60


def a_job_in_kube_system_stays_and_is_told_why(env):
    env.use_all()
    body = job("system")
    env.management.create("jobs", "kube-system", body)
    try:
        def told():
            return [event for event in env.management.list("events", "kube-system")
                    if event["reason"] == "NamespaceDenied" and event["involvedObject"]["name"] == "system"]
        until(told, "it to be told")
        assert "kube-system" in told()[0]["message"], told()
        time.sleep(2)
        found = env.management.get("jobs", "kube-system", "system")
        assert "wharf.dev/cluster" not in found["metadata"].get("annotations", {}), brief(found)
        assert len(told()) == 1 and told()[0].get("count", 1) <= 1, told()
        assert 'wharf_workloads_waiting{reason="namespace"} 1' in env.host.fetch("/metrics")[1]
    finally:
        env.management.delete("jobs", "kube-system", "system")


def what_runs_in_a_namespace_that_is_denied_later_runs_to_its_end(env):
    env.use_all()
    env.submit(job("early", hold="all"))
    worker = env.placed("early")
    env.until_counts("early", ready=1)
    env.host.reconfigure(namespaces=f"{{deny: [{env.namespace}]}}")
    env.submit(job("late"))
    env.until_event("late", "does not permit namespace")
    env.release()
    env.until_finished("early")
    assert list(env.pods_created("early")) == [worker], env.pods_created("early")
    assert "wharf.dev/cluster" not in env.job("late")["metadata"].get("annotations", {}), brief(env.job("late"))
    env.host.reconfigure()
    env.until_finished("late")


# Where there is nothing to drop, a label shows that the policy is in force.
_IS_THERE = "has(object.spec.activeDeadlineSeconds)"
_DROPS = f"op: {_IS_THERE} ? 'remove' : 'add', value: 'yes', " \
         f"path: {_IS_THERE} ? '/spec/activeDeadlineSeconds' : '/metadata/labels/policed'"


def _dropped(stored):
    return stored["metadata"].get("labels", {}).get("policed") == "yes"


def a_field_that_a_worker_drops_is_named(env):
    env.use_all()
    first = env.workers[0]
    with policies.mutating(first, env.namespace, _DROPS, _dropped):
        names = [f"dropped-{number}" for number in range(4)]
        for name in names:
            env.submit(job(name, hold="all", activeDeadlineSeconds=3600))
        there = [name for name in names if env.placed(name) == first.name]
        assert there, "none was placed there"
        for name in there:
            env.until_event(name, r"cluster w1 does not keep /spec/activeDeadlineSeconds of the mirror")
        env.release()
        for name in names:
            env.until_finished(name)


def where_fields_are_required_a_worker_that_drops_them_gets_nothing(env):
    env.use_all(placement="{requireFields: true}")
    first, second = env.workers
    with policies.mutating(first, env.namespace, _DROPS, _dropped):
        names = [f"required-{number}" for number in range(4)]
        for name in names:
            env.submit(job(name, activeDeadlineSeconds=3600))
        for name in names:
            env.until_finished(name)
            assert list(env.pods_created(name)) == [second.name], env.pods_created(name)
            assert len(env.mirrors_that_ran(name)) == 1, env.mirrors_that_ran(name)
        assert not [name for name in names if env.mirror(first.name, name)]
        assert any("does not keep /spec/activeDeadlineSeconds" in text for name in names for text in env.events(name))


def _wait_for_event(env, name, pattern, since, limit):
    """How long after `since` the Event came."""
    until(lambda: any(re.search(pattern, text) for text in env.events(name)), f"{pattern} on {name}", timeout=limit + 20, every=0.05)
    took = time.monotonic() - since
    assert took < limit, f"told after {took:.1f} s, not within {limit} s"
    return took


@may_be_refused(("w2", "*", _STARTING))
def a_worker_whose_api_server_is_stopped_is_told_while_its_watches_are_open(env):
    env.use_all(workerLostTimeout="10m")
    second = env.workers[1]   # reached without a relay
    names = [f"stopped-{number}" for number in range(4)]
    there = sorted(set(names) - set(env.run_held(names)))
    assert there, f"none was placed in {second.name}"
    began = time.monotonic()
    second.api.child.terminate()
    # At once by a refused request or an idle connection that is closed, else by the probe after ten seconds of silence.
    took = _wait_for_event(env, there[0], "accepts no connection since .*; open watches continue", began, 12)
    assert second.api.running(), "the API server has ended: it kept no watch open"
    print(f"        a worker whose API server was stopped was told after {took:.2f} s")
    for name in there:
        env.until_event(name, "WorkerLost")
        assert env.job(name)["metadata"]["annotations"]["wharf.dev/attempt"] == "1", brief(env.job(name))
    second.lose()
    second.bring_back()
    _until_used_again(env, second)
    env.release()
    for name in names:
        env.until_finished(name)
        assert sum(env.pods_created(name).values()) == 1, env.pods_created(name)


@may_be_refused(("w1", "*", _STARTING))
def a_worker_that_refuses_connections_is_told_at_once_and_used_again_at_once(env):
    env.use_all(onWorkerLost="wait", workerLostTimeout="2s")
    first = env.workers[0]
    names = [f"lost-{number}" for number in range(4)]
    there = env.run_held(names)
    began = time.monotonic()
    env.relay.cut()
    took = _wait_for_event(env, there[0], "waits until the worker is back", began, 2)
    print(f"        refused connections were told after {took:.2f} s")
    env.submit(job("other"))   # one lost cluster does not stop others
    env.until_finished("other")
    time.sleep(5)   # longer than workerLostTimeout
    for name in there:
        assert env.job(name)["metadata"]["annotations"]["wharf.dev/attempt"] == "1", brief(env.job(name))
    began = time.monotonic()
    env.relay.mend()
    _until_used_again(env, first)
    took = time.monotonic() - began
    print(f"        a worker that accepts connections again was used after {took:.1f} s")
    assert took < 5, f"used again after {took:.1f} s"
    env.release()
    for name in names:
        env.until_finished(name)
        assert sum(env.pods_created(name).values()) == 1, env.pods_created(name)


@may_be_refused(("w1", "*", _STARTING))
def a_connection_that_is_refused_for_a_moment_is_not_told_as_a_loss(env):
    env.use_all(workerLostTimeout="10m")
    first = env.workers[0]
    names = [f"moment-{number}" for number in range(4)]
    env.run_held(names)
    rounds = short = 0
    while short < 3:
        rounds += 1
        assert rounds <= 12, "the machine is too slow for this"
        told = _losses_told(env, names)
        began = time.monotonic()
        env.relay.cut()
        time.sleep(0.4)
        env.relay.mend()
        took = time.monotonic() - began
        _until_used_again(env, first)
        time.sleep(2)
        if took < 0.7:   # a busy machine may have made it longer than a moment: four attempts take 0.75 s
            short += 1
            assert _losses_told(env, names) == told, f"after {took:.2f} s: {[env.events(name) for name in names]}"
    env.release()
    for name in names:
        env.until_finished(name)


def _until_used_again(env, worker):
    until(lambda: env.host.feed(worker.name, "jobs.batch", "connected"), "the worker to be used again", timeout=30, every=0.05)


def _losses_told(env, names):
    return [text for name in names for text in env.events(name) if "WorkerLost" in text]


def a_silent_network_is_told_within_45_seconds(env):
    env.use_all(workerLostTimeout="10m")
    names = [f"silent-{number}" for number in range(2)]
    there = env.run_held(names)
    began = time.monotonic()
    with env.relay.silent():
        took = _wait_for_event(env, there[0], "will run in another worker after 10m", began, 52)
        print(f"        a silent network was told after {took:.1f} s")
        env.submit(job("other"))
        env.until_finished("other")
    env.release()
    for name in names:
        env.until_finished(name)
        assert sum(env.pods_created(name).values()) == 1, env.pods_created(name)


@may_be_refused(("management", "*", _STARTING))
def a_management_cluster_that_is_restored_while_the_host_is_down_loses_no_mirror(env):
    env.host.use(mirrorRetention="5m")
    management = env.clusters.management
    env.submit(job("old", hold="all"))
    env.placed("old")
    management.copy_data()
    until(lambda: env.host.feed("management", "jobs.batch", "connected"), "management to be connected")
    for number in range(_CHURN):
        management.admin.create("configmaps", env.namespace, {"metadata": {"name": f"churn-{number}"}})
    env.submit(job("new", hold="all"))
    worker = env.placed("new")
    env.host.stop()
    management.go_back()
    env.host.start()
    until(lambda: env.host.feed("management", "jobs.batch", "connected"), "management to be connected again")
    env.submit(job("later"))
    env.until_finished("later")
    time.sleep(4)   # longer than an orphan is looked at
    assert env.mirror(worker, "new"), "the mirror of a workload that the backup does not have was deleted"
    assert re.search(r'wharf_orphans_held\{cluster="' + worker + r'"\} 1', env.host.fetch("/metrics")[1])
    env.release()
    env.until_finished("old")
    assert sum(env.pods_created("old").values()) == 1, env.pods_created("old")
    env.worker(worker).admin.patch("jobs", env.namespace, "new", {
        "metadata": {"annotations": {"wharf.dev/release": "true"}}})
    env.until_no_mirror("new")


_THINGS = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "oldthings.example.com"},
    "spec": {"group": "example.com", "scope": "Namespaced",
             "names": {"plural": "oldthings", "singular": "oldthing", "kind": "OldThing", "listKind": "OldThingList"},
             "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {
                 "openAPIV3Schema": {"type": "object", "properties": {
                     "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                     "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}}]}}
_MAY = [
    {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "oldthings"}, "rules": [
        {"apiGroups": ["example.com"], "resources": ["oldthings", "oldthings/status"], "verbs": ["*"]}]},
    {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "oldthings"},
     "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "oldthings"},
     "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "wharf"}]}]
_GENERIC = {"generic": {"settings": {"kinds": [{
    "group": "example.com", "versions": ["v1"], "kind": "OldThing", "plural": "oldthings",
    "managedBy": {"field": "/spec/managedBy"}, "phases": [{"condition": "Complete", "phase": "Succeeded"}]}]}}, "job": {}}


def a_kind_whose_api_lacks_managed_by_is_told(env):
    kubectl = [env.clusters.assets.tool("kubectl"), "--kubeconfig", env.clusters.management.admin_config]
    objects = {"apiVersion": "v1", "kind": "List", "items": [_THINGS] + _MAY}
    done = subprocess.run(kubectl + ["apply", "--server-side", "-f", "-"], input=json.dumps(objects), text=True,
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    try:
        env.host.use(enabled=_GENERIC)
        metric = 'wharf_kind_managed_by_missing{kind="oldthings.example.com"} 1'
        until(lambda: metric in env.host.fetch("/metrics")[1], "the metric", timeout=60)
        assert 'wharf_kind_managed_by_missing{kind="jobs.batch"} 0' in env.host.fetch("/metrics")[1]
        line = "the kind is not handled: the API of the management cluster does not have the field /spec/managedBy"
        until(lambda: env.host.logged(line), "the line in the log")
        checked = subprocess.run([env.host.wharf, "check", "--online", "--config", env.host.config], capture_output=True,
                                 text=True, timeout=120, check=False)
        assert checked.returncode == 1 and "has no field /spec/managedBy" in checked.stderr, checked.stderr
        assert "jobs.batch" not in checked.stderr, checked.stderr
        env.submit(job("meanwhile"))
        env.until_finished("meanwhile")
    finally:
        subprocess.run(kubectl + ["delete", "-f", "-"], input=json.dumps(objects), text=True, capture_output=True, timeout=60,
                       check=False)
