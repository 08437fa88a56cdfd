# SPDX-License-Identifier: Apache-2.0
"""Claims that the host does not believe: Workloads of Kueue and Leases of guards that somebody else wrote, ClusterProfiles
without an address. And the rights that `wharf rbac` prints, against everything that the host has sent."""
import contextlib
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import crds
import kube
import kueue_server
import manifests
import test_fence
import test_logs
import test_workers
from audit import code
from jobs import brief, finished, job
from kueue_server import QUEUE
from wait import until

_HERE = os.path.dirname(os.path.abspath(__file__))
_SYSTEM = "wharf-system"
_LONG_AGO, _FAR = "2026-01-01T00:00:00.000000Z", "2099-01-01T00:00:00.000000Z"

kube.know("leases", "coordination.k8s.io/v1")
kube.know("clusterprofiles", "multicluster.x-k8s.io/v1alpha1")


def _stop(env):
    if env.host.process.running():
        env.host.stop()


@contextlib.contextmanager
def _stopped(env):
    """At the end what runs is released, and the host stopped."""
    try:
        yield
    finally:
        env.release()
        _stop(env)


def _clear(env):
    """While the host runs."""
    env.delete_all()
    env.nothing_is_left_over()


# Kueue that lies: the kind is there, and no Kueue.

@contextlib.contextmanager
def _kind(clusters, group, version, plural, kind):
    """A kind with any spec and status, in these clusters, instead of the one that an earlier test has left there."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural}, "versions": [{
                "name": version, "served": True, "storage": True, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}}}]}}
    kube.know(plural, f"{group}/{version}")
    for cluster in clusters:
        if cluster.admin.find("customresourcedefinitions", None, f"{plural}.{group}"):
            crds.uninstall(cluster.admin, group, plural)
        cluster.admin.create("customresourcedefinitions", None, body)
    try:
        for cluster in clusters:
            crds.until_served(cluster.admin, group, plural, version)
        yield
    finally:
        with ThreadPoolExecutor(len(clusters)) as pool:   # each takes a moment
            list(pool.map(lambda cluster: crds.uninstall(cluster.admin, group, plural), clusters))


def _forge(client, namespace, name, owner, **status):
    """A Workload that claims this Job."""
    body = {"apiVersion": kueue_server.VERSION, "kind": "Workload", "metadata": {"name": name, "ownerReferences": [{
        "apiVersion": "batch/v1", "kind": "Job", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        "controller": True}]}, "spec": {"queueName": "q", "podSets": [{"name": "main", "count": 1, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "main", "image": "example.invalid/none"}]}}}]}}
    client.create("workloads", namespace, body)
    client.patch_status("workloads", namespace, name, {"status": status})


def _condition(kind, status, number=0, message="no quota"):
    return {"type": kind, "status": status, "reason": "Preempted" if kind == "Evicted" else "Pending", "message": message,
            "lastTransitionTime": f"2098-01-01T00:{number // 60:02}:{number % 60:02}Z"}


_REJECTED = {"admissionChecks": [{"name": "forged", "state": "Rejected", "message": "never", "lastTransitionTime": "2026-01-01T00:00:00Z",
                                  "podSetUpdates": []}]}


def workloads_of_kueue_that_lie_change_nothing_but_their_own_job(env):
    """In the management cluster and in a worker, from another namespace, which is not believed, and from the Job's own."""
    _stop(env)
    with _kind(env.clusters.all, "kueue.x-k8s.io", "v1beta2", "workloads", "Workload"), _stopped(env):
        env.use_all()
        other = env.namespace + "-other"
        for cluster in env.clusters.all:
            cluster.admin.create("namespaces", None, {"metadata": {"name": other}})
        for name, labels in (("victim", {QUEUE: "q"}), ("bystander", {})):
            env.submit(job(name, hold="all", labels=labels))
        worker = env.worker(env.placed("victim"))
        env.until_counts("victim", ready=1)
        mirror = env.mirror(worker.name, "victim")
        # Nobody in another namespace says anything of it.
        for client, owner in ((env.management, env.job("victim")), (worker.admin, mirror)):
            _forge(client, other, "foreign", owner, conditions=[_condition("Evicted", "True", message="FOREIGN")], **_REJECTED)
        # Its worker's Kueue is believed, as far as that goes: it has evicted this one again and again.
        _forge(worker.admin, env.namespace, "own", mirror, conditions=[_condition("QuotaReserved", "False")])
        for number in range(60):
            worker.admin.patch_status("workloads", env.namespace, "own", {"status": {"conditions": [
                _condition("Evicted", "True", number, f"\u001b[2J\u202e {number} " + "x" * 1000)]}})
        env.until_event("victim", "^EvictedInWorker: .*Preempted")
        # A suspended one is deactivated there, and active again; what is forged does not keep it from running.
        env.change("victim", {"spec": {"suspend": True}})
        until(lambda: worker.admin.get("workloads", env.namespace, "own")["spec"].get("active") is False, "the Workload to be inactive")
        env.change("victim", {"spec": {"suspend": False}})
        until(lambda: worker.admin.get("workloads", env.namespace, "own")["spec"].get("active") is True, "the Workload to be active")
        env.release()
        for name in ("victim", "bystander"):
            done = env.until_finished(name)
            assert done["metadata"]["annotations"]["wharf.dev/attempt"] == "1", brief(done)
            assert sum(env.pods_created(name).values()) == 1, env.pods_created(name)
        told = env.events("victim")
        assert not [text for text in told if "FOREIGN" in text or "KueueCheck" in text], told
        assert len(told) < 40, f"{len(told)} Events: {told}"   # 25 on one object at once
        assert [text.split(":")[0] for text in env.events("bystander") if "Worker:" in text] == [], env.events("bystander")
        _clear(env)


# Leases that claim to be a guard's.

def a_forged_lease_of_a_guard_is_no_guard(env):
    """Written once, with whatever times and holder: a guard is one that goes on counting. And the host's own Lease, that
    somebody has taken."""
    _stop(env)
    test_fence._allow(env)
    first = env.workers[0]
    leases = first.admin
    forged = {"guard.wharf.dev/forged": "7 4070908800000 10 0-of-1:1a2b3c4d:0", "guard.wharf.dev/huge": "9" * 5000,
              "guard.wharf.dev/odd": "-1 x 10 1-of-0:zz:-5! 0-of-99999:0:0"}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
             "metadata": {"name": "wharf-guard-e2e", "labels": {"wharf.dev/origin": "e2e"}, "annotations": forged},
             "spec": {"holderIdentity": "somebody", "renewTime": _FAR, "acquireTime": _LONG_AGO, "leaseDurationSeconds": 2147483647}}
    if leases.find("leases", _SYSTEM, "wharf-guard-e2e"):
        leases.delete("leases", _SYSTEM, "wharf-guard-e2e")
    leases.create("leases", _SYSTEM, lease)
    with _stopped(env):
        since = env.host.log_size()
        env.use_all(fencing="{enabled: true, fenceAfter: 10s, withoutGuard: wait}", workerLostTimeout="28s")
        until(lambda: leases.find("leases", _SYSTEM, "wharf-fence-e2e"), "the host's own Lease")
        leases.patch("leases", _SYSTEM, "wharf-fence-e2e", {"spec": {"holderIdentity": "somebody", "renewTime": _FAR}})
        names = [f"claimed-{number}" for number in range(3)]
        there = env.run_held(names)
        until(lambda: leases.get("leases", _SYSTEM, "wharf-fence-e2e")["spec"]["holderIdentity"] != "somebody",
              "the host to have its Lease again")
        env.relay.cut()
        env.until_event(there[0], "WorkerLost.*no guard was seen there, so the workload will not run in another worker")
        assert not env.host.logged("the worker has a guard", since)
        env.relay.mend()
        env.release()
        for name in names:
            assert env.until_finished(name)["metadata"]["annotations"]["wharf.dev/attempt"] == "1"
            assert sum(env.pods_created(name).values()) == 1, env.pods_created(name)
        _clear(env)
    leases.delete("leases", _SYSTEM, "wharf-guard-e2e")


# The printed rights.

def _profile(env, name, worker=None):
    """A ClusterProfile that offers this worker, or no address."""
    client, cluster = env.management, {}
    if worker:
        cluster = {"server": f"https://127.0.0.1:{worker.port}",
                   "certificate-authority-data": test_workers._encode(test_workers._read(worker.authority.certificate))}
    client.create("clusterprofiles", _SYSTEM, {"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
                                               "metadata": {"name": name}, "spec": {}})
    client.patch_status("clusterprofiles", _SYSTEM, name, {"status": {"accessProviders": [{"name": "ours", "cluster": cluster}]}})


def _plugin(worker):
    path = worker.write("profile-plugin", f'#!/bin/sh\nexec {sys.executable} -B {_HERE}/token_plugin.py "$@"\n')
    os.chmod(path, 0o700)
    return path, {"apiVersion": "client.authentication.k8s.io/v1", "command": path, "interactiveMode": "Never",
                  "provideClusterInfo": True, "args": [worker.admin_config, worker.path("profile-runs"), "600"]}


def _printed(env, role):
    return json.loads(env.host.rights(role, "-o", "json", "--user", "wharf", *(["--exec"] if role == "worker" else [])))["items"]


def _apply(client, items):
    for item in items:
        client.apply_yaml(item["kind"].lower() + "s", item["metadata"].get("namespace"), item["metadata"]["name"], json.dumps(item))


def _rights(items):
    """{(namespace or "", verb, resource.group)} of the host itself."""
    bound = {item["roleRef"]["name"] for item in items if item["kind"].endswith("Binding")
             and "wharf" in [subject["name"] for subject in item["subjects"]]}
    return {(item["metadata"].get("namespace", ""), verb, resource + (group and "." + group))
            for item in items if item["kind"] in ("Role", "ClusterRole") and item["metadata"]["name"] in bound
            for rule in item["rules"] for group in rule.get("apiGroups", []) for resource in rule["resources"] for verb in rule["verbs"]}


def _used(audit):
    """The same of what the host has sent since the cluster began."""
    found = set()
    for entry in audit.by_host():
        what = entry.get("objectRef", {})
        resource = "/".join(filter(None, (what.get("resource"), what.get("subresource"))))
        right = entry["verb"], resource + (what.get("apiGroup") and "." + what["apiGroup"] or "")
        if code(entry) != 403:
            found |= {("", *right), (what.get("namespace", ""), *right)}
    return found


_JOBS, _WORKLOADS_OF = "jobs.batch", "workloads.kueue.x-k8s.io"

# What another test uses: it is compared where that one has run.
_BY_TEST = {
    ("management", "patch configmaps"): "a_worker_joins_by_a_secret_is_cordoned_and_leaves_while_jobs_run",
    ("management", "patch secrets"): "a_token_in_a_secret_is_renewed_when_four_fifths_of_its_life_are_over",
    ("worker", "patch jobs/status.batch"): "indexes_that_were_counted_do_not_run_again_after_moves",
    ("worker", "create serviceaccounts/token"): "a_token_in_a_secret_is_renewed_when_four_fifths_of_its_life_are_over",
    **{(cluster, f"{verb} {_WORKLOADS_OF}"): "workloads_of_kueue_that_lie_change_nothing_but_their_own_job"
       for cluster, verb in (("management", "watch"), ("worker", "watch"), ("worker", "patch"))},
}

# What no test has to use.
_LIST = "servers that do not stream lists (before Kubernetes 1.32) are asked for them"
_GET = "whoever may list may read: nothing more is granted"
_LOST = "read when an answer was lost, or by a new leader"
_UNSEEN = {
    **{("management", f"list {what}"): _LIST for what in (_JOBS, _WORKLOADS_OF, "configmaps", "secrets",
                                                          "clusterprofiles.multicluster.x-k8s.io")},
    **{("worker", f"list {what}"): _LIST for what in (_JOBS, _WORKLOADS_OF, "namespaces", "resourcequotas", "events")},
    **{("management", f"get {what}"): _GET for what in ("configmaps", "secrets", "clusterprofiles.multicluster.x-k8s.io")},
    ("management", f"get {_JOBS}"): _LOST, ("worker", f"get {_JOBS}"): _LOST,
    ("management", "patch events.events.k8s.io"): "an Event that happens again",
    ("management", "delete leases.coordination.k8s.io"): "replicas that share shards give theirs back",
    ("worker", "watch namespaces"): "after a rejection for the sake of a namespace",
    ("worker", "watch resourcequotas"): "after a rejection for the sake of a quota",
    ("worker", "create pods/exec"): "servers from Kubernetes 1.35 on demand it besides get, which is the request's verb",
}


@contextlib.contextmanager
def _host_without(env, worker):
    """The configuration has all workers but this one; rights and Secrets are afterwards as before."""
    former = dict(env.host.kubeconfigs)
    del env.host.kubeconfigs[worker.name]
    try:
        with _kind(env.clusters.all[:1], "multicluster.x-k8s.io", "v1alpha1", "clusterprofiles", "ClusterProfile"), _stopped(env):
            yield
    finally:
        env.host.kubeconfigs.update(former)
        env.host.settings = None
        if env.management.find("secrets", _SYSTEM, "wharf-seal"):
            env.management.delete("secrets", _SYSTEM, "wharf-seal")
        env._apply_rbac()


def the_rights_that_are_printed_are_all_that_the_host_needs_and_all_that_it_uses(env):
    """A life with most features, with these rights alone; workers from the configuration, and from a ClusterProfile."""
    second = env.workers[1]
    _stop(env)
    for lease in env.management.list("leases", _SYSTEM):   # that of a host which was killed would be waited for
        env.management.delete("leases", _SYSTEM, lease["metadata"]["name"])
    command, plugin = _plugin(second)
    profiles = {"namespace": _SYSTEM, "accessProviders": [{"name": "ours", "execConfig": plugin}]}
    settings = {"workersFrom": json.dumps({"secrets": True, "clusterProfiles": profiles}), "seal": "{secret: {}}",
                "credentialPlugins": json.dumps({"allow": [command]}), "podEvents": "all", "createNamespaces": "true",
                "fencing": "{enabled: true}", "workerLostTimeout": "12m", "leaderElection": "{enabled: true}"}
    with _host_without(env, second):
        _profile(env, second.name, second)
        _profile(env, "bad")
        env.host._write_config({**env.host.defaults, **settings}, {"job": {}})
        printed = {role: _printed(env, role) for role in ("management", "worker")}
        for cluster in env.clusters.all:
            _apply(cluster.admin, printed["management" if cluster is env.clusters.management else "worker"])
        env.host.use(**settings)
        env.host.until_takes_work(worker.name for worker in env.workers)   # the second one is the ClusterProfile's
        until(lambda: env.host.metrics().get(("wharf_worker_sources_refused", ())) == 1, "the bad ClusterProfile to be refused")
        _live(env, ("", "create", "pods/exec") in _rights(printed["worker"]))
        env.host.stop()   # a watch is in the audit log when it has ended
        env.nothing_was_refused((401, 403))
        _compare(env, printed)


def _live(env, exec_):
    """Jobs that run in both workers, one in a namespace that they lack, and a caller who asks for everything about one."""
    names, elsewhere = [f"life-{number}" for number in range(4)], env.namespace + "-new"
    env.run_held(names)
    env.management.create("namespaces", None, {"metadata": {"name": elsewhere}})
    env.management.create("jobs", elsewhere, job("apart"))
    caller = test_logs._user(env, "caller", test_logs._EXEC)
    for name in names:
        env.host.explain(f"job/{name}", env.namespace)
        # No kubelet is there: the worker's API server is asked all the same.
        test_logs._run(env, caller, "logs", f"job/{name}")
        if exec_:
            test_logs._run(env, caller, "exec", f"job/{name}", "--", "true")
        env.change(name, {"metadata": {"labels": {"changed": "yes"}}})
        until(lambda name=name: any(mirror["metadata"]["labels"].get("changed") for mirror in env.mirrors(name).values()),
              f"the change of {name} to reach its mirror")
    env.submit(job("broken", fail="always", backoffLimit=0))
    until(lambda: env.management.find("configmaps", env.namespace, "wharf-last-words"), "last words to be kept")
    env.release()
    for name in (*names, "broken"):
        env.until_finished(name, "Failed" if name == "broken" else "Complete")
        env.until_no_mirror(name)
        env.management.delete("jobs", env.namespace, name)
    until(lambda: not env.management.find("configmaps", env.namespace, "wharf-last-words"), "last words to be forgotten")
    until(lambda: finished(env.management.get("jobs", elsewhere, "apart")), "the Job of a new namespace to be finished")
    env.management.delete("namespaces", None, elsewhere)


def _compare(env, printed):
    """Used in a worker is used in one of them, of any lane."""
    for role, clusters in (("management", env.clusters.all[:1]), ("worker", env.workers)):
        rights = _rights(printed[role])
        assert len(rights) > 15, rights
        used = set().union(*(_used(audit) for cluster in clusters for audit in env.audits_of_all_lanes(cluster)))
        unused = {f"{verb} {what}" for _, verb, what in rights - used}
        wrong = {right for right in unused if (role, right) not in _UNSEEN
                 and (_BY_TEST.get((role, right)) in env.selected or (role, right) not in _BY_TEST)}
        assert not wrong, f"{role}: printed and never used: {sorted(wrong)}"
        known = {right for place, right in (*_UNSEEN, *_BY_TEST) if place == role}
        assert known <= {f"{verb} {what}" for _, verb, what in rights}, f"{role}: not printed any more: {sorted(known)}"
