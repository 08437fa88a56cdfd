# SPDX-License-Identifier: Apache-2.0
"""Where workloads go: policies, labels of workers and namespaces, pins, limits, and why nothing gets one."""
import contextlib
import re

from jobs import job
from skip import may_be_refused
from wait import until

_RULES = ("[{namespaceSelector: {matchLabels: {tier: gold}}, workerSelector: {matchLabels: {gpu: h100}}}, "
          "{kinds: [jobs.batch], namespaces: ['*'], policy: ordered}]")


@contextlib.contextmanager
def _workers(env, **settings):
    """What the configuration says of each worker, besides its name and kubeconfig."""
    env.host.worker_settings = settings
    try:
        yield
    finally:
        env.host.worker_settings = {}
        if env.host.process.running():
            env.host.reconfigure()


def _submit(env, name, hold=None, **annotations):
    body = job(name, hold=hold)
    body["metadata"]["annotations"] = {f"wharf.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    env.submit(body)


def _cluster(env, name):
    return env.job(name)["metadata"].get("annotations", {}).get("wharf.dev/cluster")


def _told(env, name, reason):
    return [event["message"] for event in env.management.list("events", env.namespace)
            if event["reason"] == reason and event["involvedObject"]["name"] == name]


def _why(env, name, *parts):
    """Its Event names each worker with its reason."""
    def probe():
        notes = _told(env, name, "Unschedulable")
        assert any(all(part in note for part in parts) for note in notes), notes
        return True
    until(probe, f"{name} to be told why no worker gets it")


def workloads_go_where_they_may_and_wait_for_room(env):
    first, second = (worker.name for worker in env.workers[:2])
    with _workers(env, **{first: "labels: {gpu: h100, zone: a}, maxActive: 2", second: "labels: {zone: b}, maxActive: 1"}):
        env.use_all(placement="{policy: ordered}")
        for name in ("a", "b", "c", "d"):
            _submit(env, name, hold="all")
            if name != "d":
                env.placed(name)
        assert [_cluster(env, name) for name in "abc"] == [first, first, second]
        _why(env, "d", "0/2 workers accept it", f"{first} full (2 of 2)", f"{second} full (1 of 1)")
        assert not _cluster(env, "d"), "the annotation names a cluster before one was chosen"
        _submit(env, "pinned", cluster_names=second)
        _submit(env, "chosen", cluster_selector="gpu in (h100,h200),!spot")
        _submit(env, "nowhere", cluster_selector="gpu=b200")
        _why(env, "pinned", f"{first} not among its cluster-names", f"{second} full (1 of 1)")
        _why(env, "nowhere", f"{first} not matched by its selector", f"{second} not matched by its selector")
        out = env.host.explain("job/pinned", env.namespace)
        assert f"{second} full" in out and "is full: 1 workloads are there" in out, out
        env.management.delete("jobs", env.namespace, "c")   # room in the second worker: for the first that waits
        assert env.placed("d") == second
        # The limit is raised while it runs.
        env.host.worker_settings[second] = "labels: {zone: b}, maxActive: {total: 9, kinds: {jobs.batch: 2}}"
        env.host.reconfigure(placement="{policy: ordered}")
        assert env.placed("pinned") == second
        env.management.delete("jobs", env.namespace, "a")
        assert env.placed("chosen") == first
        # A worker that gets the label.
        env.host.worker_settings[first] = "labels: {gpu: b200}, maxActive: 9"
        env.host.reconfigure(placement="{policy: ordered}")
        assert env.placed("nowhere") == first
        env.release()
        for name in ("b", "d", "pinned", "chosen", "nowhere"):
            env.until_finished(name)


@may_be_refused(("management", "*", 403))   # before the right is granted
def a_rule_selects_by_the_labels_of_namespaces(env):
    first, second = (worker.name for worker in env.workers[:2])
    settings = {"placement": f"{{rules: {_RULES}}}"}
    with _workers(env, **{first: "labels: {gpu: a100}", second: "labels: {gpu: h100}"}):
        env.host.use(**settings)
        out = env.host.rights("management", "--user", "wharf")
        right = re.search(r"resources: \[namespaces\]\n *verbs: \[(get, list, watch)\]", out)
        assert right, out
        _submit(env, "undecided")
        _why(env, "undecided", f"{first} not decided yet", f"{second} not decided yet")
        code, _, err = env.host.command("check", "--online")
        assert code != 0 and "namespaces" in err, err
        with _granted(env):
            until(lambda: _cluster(env, "undecided") == first, "the namespace without labels to go by order", 180)
            env.management.patch("namespaces", None, env.namespace, {"metadata": {"labels": {"tier": "gold"}}})

            def gold():
                gold.count += 1
                _submit(env, f"gold{gold.count}")
                return env.placed(f"gold{gold.count}") == second
            gold.count = 0
            until(gold, "the label of the namespace to decide")
            env.management.patch("namespaces", None, env.namespace, {"metadata": {"labels": {"tier": None}}})
            env.until_finished("undecided")


@contextlib.contextmanager
def _granted(env):
    role = "e2e-namespaces"
    bindings = env.management.get("clusterrolebindings", None, "wharf-management")
    env.management.create("clusterroles", None, {"metadata": {"name": role}, "rules": [
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]}]})
    env.management.create("clusterrolebindings", None, {
        "metadata": {"name": role}, "subjects": bindings["subjects"],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}})
    try:
        yield
    finally:
        env.management.delete("clusterrolebindings", None, role)
        env.management.delete("clusterroles", None, role)
