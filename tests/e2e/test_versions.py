# SPDX-License-Identifier: Apache-2.0
"""Clusters of different versions, and with different features: no Job runs without a field that changes its scheduling."""
import policies
from jobs import brief, job
from skip import Skip
from wait import until

_GANG = {"schedulingPolicy": {"gang": {"minCount": 2}}}
# Where there is nothing to drop, a label shows that the policy is in force.
_IS_THERE = "has(object.spec.template.spec.tolerations)"
_DROPS = f"op: {_IS_THERE} ? 'remove' : 'add', value: 'yes', " \
         f"path: {_IS_THERE} ? '/spec/template/spec/tolerations' : '/metadata/labels/policed'"


def _tolerant(name):
    body = job(name)
    body["spec"]["template"]["spec"]["tolerations"] = [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]
    return body


def _dry_runs(env, worker):
    return env.audits[worker.name].host(env.namespace, verb="create", dry_run=True)


def by_default_a_worker_that_drops_what_changes_the_scheduling_gets_nothing(env):
    env.use_all()
    first, second = env.workers
    with policies.mutating(first, env.namespace, _DROPS, lambda stored: stored["metadata"].get("labels", {}).get("policed")):
        names = [f"tolerant-{number}" for number in range(4)]
        for name in names:
            env.submit(_tolerant(name))
            env.until_finished(name)
            assert list(env.pods_created(name)) == [second.name], env.pods_created(name)
        assert any("w1 rejected the mirror: the worker does not keep /spec/template/spec/tolerations" in text
                   for name in names for text in env.events(name))
        assert not env.audits[first.name].host(env.namespace, verb="delete"), "a mirror was created in w1"
        # The second worker was tried once.
        assert len(_dry_runs(env, second)) == 1, [entry["requestURI"] for entry in _dry_runs(env, second)]


def _gang(name, **more):
    return job(name, parallelism=2, completions=2, scheduling=_GANG, **more)


def _keeping(env):
    """The workers whose API server has spec.scheduling."""
    if not env.clusters.management.gates:
        raise Skip("needs Kubernetes 1.37 in the management cluster (--management FOLDER)")
    return [worker for worker in env.workers if worker.gates]


def a_job_with_a_gang_runs_only_where_the_api_server_keeps_the_gang(env):
    keeping = _keeping(env)
    if not keeping:
        raise Skip("no worker has Kubernetes 1.37")
    env.use_all()
    names = [f"gang-{number}" for number in range(4)]
    for name in names:
        env.submit(_gang(name, hold="all"))
    for name in names:
        env.until_counts(name, ready=2)
        assert list(env.mirrors(name)) == [keeping[0].name], env.mirrors(name).keys()
        assert env.mirrors(name)[keeping[0].name]["spec"]["scheduling"] == _GANG
    assert any("does not keep /spec/scheduling" in text for name in names for text in env.events(name))
    env.change(names[0], {"spec": {"scheduling": {"schedulingPolicy": {"gang": {"minCount": 1}}}}})
    until(lambda: env.mirrors(names[0])[keeping[0].name]["spec"]["scheduling"]["schedulingPolicy"]["gang"]["minCount"] == 1,
          "the size of the gang to be carried")
    env.release()
    for name in names:
        env.until_finished(name)


def a_job_with_a_gang_waits_where_no_api_server_keeps_the_gang(env):
    keeping = _keeping(env)
    dropping = [worker.name for worker in env.workers if worker not in keeping]
    if not dropping:
        raise Skip("all workers keep it")
    env.use_all()
    body = _gang("alone", only=",".join(dropping))
    env.submit(body)
    env.until_event("alone", "FieldsDropped: .*(does not keep /spec/scheduling|unknown field)")
    env.until_event("alone", f"Unschedulable: .*{dropping[0]} drops fields")
    out = env.host.explain("job/alone", env.namespace)
    assert "/spec/scheduling" in out, out
    body["metadata"]["namespace"] = env.namespace
    out = env.host.plan(body, "--cluster", dropping[0], code=1)
    assert f"# {dropping[0]} does not keep /spec/scheduling, which requireFields asks for: another worker is tried" in out, out
    assert not env.mirrors_that_ran("alone") and not env.mirrors("alone"), brief(env.job("alone"))
    env.host.reconfigure(placement="{requireFields: false}")
    env.change("alone", {"metadata": {"annotations": {"wharf.dev/retry": "1"}}})
    env.until_finished("alone")
    env.until_event("alone", "does not keep /spec/scheduling of the mirror")
    env.host.reconfigure()
