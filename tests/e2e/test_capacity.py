# SPDX-License-Identifier: Apache-2.0
"""Workloads are placed where their requests fit, by the nodes and pods of real API servers."""
import contextlib
import json

import kube
from jobs import job
from skip import may_be_refused
from wait import until

GPU = "nvidia.com/gpu"
_ROLE = "wharf-capacity"


def _asking(name, gpus, pods=1, **more):
    body = job(name, hold="all", parallelism=pods, completions=pods, **more)
    body["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {GPU: str(gpus)}}
    return body


def _add_node(worker, name, gpus, taints=()):
    worker.admin.create("nodes", None, {"metadata": {"name": name}})
    amounts = {"cpu": "8", "memory": "32Gi", "pods": "110", GPU: str(gpus)}
    worker.admin.patch_status("nodes", None, name, {"status": {
        "capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}})
    # The API server has tainted it as not ready.
    worker.admin.patch("nodes", None, name, {"spec": {"taints": list(taints) or None}})


@contextlib.contextmanager
def _nodes(env, gpus):
    """Each worker has the node that its pods are bound to, with so many GPUs."""
    try:
        for worker, count in zip(env.workers, gpus):
            _add_node(worker, "node-1", count)
        yield
    finally:
        env.delete_all()
        env.nothing_is_left_over()
        for worker in env.workers:
            for node in worker.admin.list("nodes"):
                worker.admin.delete("nodes", None, node["metadata"]["name"])


@contextlib.contextmanager
def _rights(env):
    for worker in env.workers:
        subjects = worker.admin.get("clusterrolebindings", None, "wharf-worker")["subjects"]
        group = "rbac.authorization.k8s.io"
        worker.admin.apply_yaml("clusterroles", None, _ROLE, json.dumps({
            "apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": _ROLE},
            "rules": [{"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list", "watch"]}]}))
        worker.admin.apply_yaml("clusterrolebindings", None, _ROLE, json.dumps({
            "apiVersion": f"{group}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": _ROLE},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": _ROLE}, "subjects": subjects}))
    try:
        yield
    finally:
        for worker in env.workers:
            with contextlib.suppress(kube.ApiError):
                worker.admin.delete("clusterrolebindings", None, _ROLE)


def _known(env, expected=1):
    for worker in env.workers:
        until(lambda worker=worker: env.host.metrics().get(
            ("wharf_worker_capacity_known", (("cluster", worker.name),))) == expected,
              f"what {worker.name} has left to be known: {expected}")


def _waits(env, name):
    assert "wharf.dev/cluster" not in env.job(name)["metadata"].get("annotations", {}), env.job(name)["metadata"]


def a_job_is_placed_where_its_gpus_are_and_waits_where_there_are_none_left(env):
    count = len(env.workers)
    with _rights(env), _nodes(env, [4] * count):
        env.host.use(placement='{capacity: true}')
        _known(env)
        for number in range(count):
            env.submit(_asking(f"runs-{number}", 3))
        placed = {env.placed(f"runs-{number}") for number in range(count)}
        assert len(placed) == count, placed   # each in a worker of its own
        for number in range(count):
            env.until_counts(f"runs-{number}", ready=1)
        env.submit(_asking("late", 2))
        env.submit(_asking("small", 1))   # passes it
        env.placed("small")
        first = env.workers[0].name
        env.until_event("late", rf"^Unschedulable: 0/{count} workers accept it: .*lacks [12] nvidia.com/gpu")
        text = env.host.explain("job/late", env.namespace)
        assert first in text and "lacks" in text, text
        _waits(env, "late")
        free = env.job("runs-0")["metadata"]["annotations"]["wharf.dev/cluster"]
        env.management.delete("jobs", env.namespace, "runs-0")
        assert env.placed("late") == free
        env.until_counts("late", ready=1)
        env.submit(_asking("large", 5))
        env.until_event("large", r"lacks \d nvidia.com/gpu")
        _waits(env, "large")
        _add_node(env.workers[1], "node-2", 8, [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}])
        env.until_event("large", r"lacks \d nvidia.com/gpu")
        _waits(env, "large")   # it does not tolerate the taint
        env.workers[1].admin.patch("nodes", None, "node-2", {"spec": {"taints": None}})
        assert env.placed("large") == env.workers[1].name


@may_be_refused(*((worker, "*", 403) for worker in ("w1", "w2")))
def a_worker_that_does_not_show_its_nodes_gets_nothing_by_capacity_until_the_right_is_granted(env):
    env.host.use()   # a watch that was permitted goes on
    count = len(env.workers)
    with _nodes(env, [4] * count):
        env.host.use(placement='{capacity: true}')
        _known(env, 0)
        until(lambda: env.host.logged("does not permit the host to watch its nodes and pods"), "it to be told")
        env.submit(_asking("waits", 3))
        env.until_event("waits", rf"^Unschedulable: 0/{count} workers accept it: .* free capacity is unknown")
        _waits(env, "waits")
        code, text, error = env.host.command("check", "--online")
        assert code != 0 and "may not list, watch nodes, expected the rights of wharf rbac" in text + error, text + error
        with _rights(env):
            until(lambda: env.job("waits")["metadata"].get("annotations", {}).get("wharf.dev/cluster"),
                  "it to be placed once the right is granted", timeout=60)
            env.until_counts("waits", ready=1)
    env.host.use()

