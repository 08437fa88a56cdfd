# SPDX-License-Identifier: Apache-2.0
"""Clusters whose etcd was restored from a copy, or wiped, at the same address: their versions go back."""
import manifests
from jobs import brief, condition, job
from skip import may_be_refused
from test_hostile import _refused
from wait import until

_STARTING = 403   # see test_loss
_CHURN = 60


def _churn(cluster, namespace):
    """Raises the cluster's resourceVersion well above that of its copy."""
    for number in range(_CHURN):
        cluster.admin.create("configmaps", namespace, {"metadata": {"name": f"churn-{number}"}})


@may_be_refused(("w1", "*", _STARTING), ("w2", "*", _STARTING))
def a_worker_that_was_restored_from_a_copy_is_heard_again(env):
    env.host.use()
    first = env.workers[0]
    first.copy_data()
    env.use_all()
    _churn(first, env.namespace)
    names = [f"before-{number}" for number in range(4)]
    for name in names:
        env.submit(job(name, hold="all"))
    places = {name: env.placed(name) for name in names}
    assert first.name in places.values(), places
    env.submit(job("done"))
    done = env.until_finished("done")
    first.go_back()
    until(lambda: env.host.feed(first.name, "jobs.batch", "connected"), "the worker to be connected again")
    # What the copy does not have is placed again; what had finished is not.
    for name in names:
        if places[name] == first.name:
            env.placed(name, attempt=2)
    for number in range(4):
        env.submit(job(f"after-{number}", hold="all"))
        env.placed(f"after-{number}")
    env.release()
    for name in names + [f"after-{number}" for number in range(4)]:
        env.until_finished(name)
    assert env.job("done")["status"] == done["status"], brief(env.job("done"))


@may_be_refused(("management", "*", _STARTING))
def a_management_cluster_that_was_restored_from_a_copy_loses_no_mirror(env):
    _restored(env)


@may_be_refused(("management", "*", _STARTING))
def a_management_cluster_whose_revisions_were_bumped_when_it_was_restored_loses_no_mirror(env):
    _restored(env, bumped=True)


def _restored(env, **how):
    env.host.use(mirrorRetention="5m", massDeletion={"percent": 100})   # few mirrors, which go at once in the end
    management = env.clusters.management
    env.submit(job("old", hold="all"))
    oldest = env.placed("old")
    env.host.stop()   # a list without a workload, as the first one may be, lets the host hold orphans anyway
    env.host.start()
    management.copy_data()
    until(lambda: env.host.feed("management", "jobs.batch", "connected"), "management to be connected")
    _churn(management, env.namespace)
    env.submit(job("new", hold="all"))
    worker = env.placed("new")
    env.submit(job("finished"))
    elsewhere = env.placed("finished")
    env.until_finished("finished")
    # In a bumped list only what has changed since the copy gives the restore away.
    management.admin.patch("jobs", env.namespace, "old", {"metadata": {"labels": {"changed": "since"}}})
    until(lambda: "changed" in env.mirror(oldest, "old")["metadata"]["labels"], "the change to be carried")
    management.go_back(**how)
    until(lambda: env.host.feed("management", "jobs.batch", "connected"), "management to be connected again")
    env.submit(job("later"))
    env.until_finished("later")
    # Jobs that the copy does not know: their mirrors are held.
    assert env.mirror(worker, "new") and env.mirror(elsewhere, "finished"), "a mirror was deleted on old memory"
    env.release()
    env.until_finished("old")
    assert sum(env.pods_created("old").values()) == 1, env.pods_created("old")
    for name, where in (("new", worker), ("finished", elsewhere)):
        env.worker(where).admin.patch("jobs", env.namespace, name, {
            "metadata": {"annotations": {"wharf.dev/release": "true"}}})
        env.until_no_mirror(name)


@may_be_refused(("w1", "*", _STARTING), ("w1", "create", 404))
def a_worker_that_was_wiped_is_refused_and_its_jobs_run_elsewhere(env):
    env.use_all(workerLostTimeout="3s")
    first, second = env.workers
    names = [f"wiped-{number}" for number in range(4)]
    for name in names:
        env.submit(job(name, hold="all"))
    places = {name: env.placed(name) for name in names}
    assert first.name in places.values(), places
    first.go_back(wiped=True)
    for file in ("namespace.yaml", "rbac-worker.yaml"):
        manifests.apply(first.admin, file)
    first.admin.create("namespaces", None, {"metadata": {"name": env.namespace}})
    until(lambda: _refused(env, first.name), "the wiped worker to be refused")
    for name in names:
        if places[name] == first.name:
            assert env.placed(name, attempt=2) == second.name
    env.release()
    for name in names:
        env.until_finished(name)
        assert condition(env.job(name), "Complete")
    # A restart takes the cluster that answers now for the worker of this name.
    env.host.stop()
    env.host.start()
    until(lambda: not _refused(env, first.name) and env.host.feed(first.name, "jobs.batch", "connected"),
          "the worker to be used again")
