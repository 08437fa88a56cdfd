# SPDX-License-Identifier: Apache-2.0
"""The first steps of users: the manifests, and the commands that check a configuration."""
import manifests
from audit import HOST_USERS
from jobs import job
from wait import until


def the_manifests_are_accepted_as_they_are(env):
    for file in ("namespace.yaml", "rbac-management.yaml", "deployment.yaml"):
        manifests.apply(env.management, file, dry_run=True)
    for file in ("rbac-worker.yaml", "rbac-worker-namespaces.yaml"):
        manifests.apply(env.workers[0].admin, file, dry_run=True)


def an_online_check_finds_these_clusters_and_rights_enough(env):
    env.host.use()
    code, out, err = env.host.command("check", "--online")
    assert code == 0, f"exit {code}\n{out}{err}"


def an_online_check_names_the_cluster_that_does_not_answer(env):
    env.host.use()
    env.relay.cut()
    try:
        code, out, err = env.host.command("check", "--online")
    finally:
        env.relay.mend()
    assert code == 1, f"exit {code}\n{out}{err}"
    assert env.workers[0].name in out + err, out + err


def a_namespace_that_a_worker_lacks_is_made_if_the_configuration_says_so(env):
    for worker in env.workers:
        manifests.apply(worker.admin, "rbac-worker-namespaces.yaml")
    for worker, user in zip(env.workers, HOST_USERS):
        until(lambda worker=worker, user=user: env.may(worker, "create", "namespaces", user), f"the right in {worker.name}")
    env.host.use(createNamespaces="true")
    fresh = env.namespace + "-fresh"
    env.management.create("namespaces", None, {"metadata": {"name": fresh}})
    env.namespace = fresh
    env.submit(job("first"))
    env.until_finished("first")
    env.until_no_mirror("first")
    for worker in env.workers:
        manifests.delete(worker.admin, "rbac-worker-namespaces.yaml")
