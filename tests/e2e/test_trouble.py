# SPDX-License-Identifier: Apache-2.0
"""Workers that reject a Job."""
import json

import kube
import manifests
from audit import code
from jobs import job
from skip import may_be_refused
from wait import until


def a_foreign_job_of_the_same_name_is_never_touched(env):
    env.use_all()
    first, second = env.workers
    names = [f"clash-{number}" for number in range(3)]
    foreign = {name: first.admin.create("jobs", env.namespace, job(name, managed_by=None, suspend=True))
               for name in names}
    until(lambda: all("status" in first.admin.get("jobs", env.namespace, name)
                      and first.admin.get("jobs", env.namespace, name)["status"].get("conditions")
                      for name in names), "the foreign Jobs to be settled")
    foreign = {name: first.admin.get("jobs", env.namespace, name) for name in names}
    for name in names:
        env.submit(job(name, hold="all"))
        env.until_job(name, f"placed in {second.name}", lambda found: found["metadata"].get(
            "annotations", {}).get("wharf.dev/cluster") == second.name)
    tried = until(lambda: [entry["objectRef"] for entry in env.audits[first.name].host(env.namespace, verb="create")],
                  f"a Job to have been offered to {first.name}")
    clashed = tried[0]["name"]
    env.until_event(clashed, "exist|conflict|foreign|same name")
    env.release()
    for name in names:
        env.until_finished(name)
    env.until_no_own_mirror(names)
    for name in names:
        assert first.admin.get("jobs", env.namespace, name) == foreign[name], f"{name} in {first.name} was touched"


def a_clash_in_every_worker_is_resolved_once_the_name_is_free(env):
    env.host.use()
    for worker in env.workers:
        worker.admin.create("jobs", env.namespace, job("taken", managed_by=None, suspend=True))
    env.submit(job("taken"))
    env.until_event("taken", "exist|conflict|foreign|same name")
    for worker in env.workers:
        worker.admin.delete("jobs", env.namespace, "taken")
    env.until_finished("taken")


def _allows_creating(env, worker):
    host = kube.Client(worker.port, worker.authority.certificate, *worker.host_certificate)
    answer = host.create("selfsubjectaccessreviews", None, {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"group": "batch", "resource": "jobs", "verb": "create",
                                        "namespace": env.namespace}}})
    return answer["status"]["allowed"]


@may_be_refused(("w1", "create", 403))
def a_worker_that_forbids_creating_is_passed_over(env):
    env.use_all()
    first, second = env.workers
    rules = first.admin.get("clusterroles", None, "wharf-worker")["rules"]
    fewer = json.loads(json.dumps(rules).replace('"create", ', ""))
    assert fewer != rules
    first.admin.patch("clusterroles", None, "wharf-worker", {"rules": fewer})
    try:
        until(lambda: not _allows_creating(env, first), f"{first.name} to forbid creating")
        for number in range(3):
            env.submit(job(f"barred-{number}", hold="all"))
            assert env.placed(f"barred-{number}") == second.name
        denied = until(lambda: [entry for entry in env.audits[first.name].host(env.namespace, verb="create") if code(entry) == 403],
                       f"a Job to have been offered to {first.name}")
        assert len(denied) <= 6, f"{len(denied)} attempts: that is a hot loop"
        env.release()
        for number in range(3):
            env.until_finished(f"barred-{number}")
        assert any(env.events(f"barred-{number}") for number in range(3)), "no Event says why"
    finally:
        manifests.apply(first.admin, "rbac-worker.yaml")
        until(lambda: _allows_creating(env, first), f"{first.name} to allow creating again")


def a_namespace_that_one_worker_lacks_leads_to_the_other(env):
    env.use_all()
    first, second = env.workers
    lacking = env.namespace + "-lacking"
    for client in (env.management, second.admin):
        client.create("namespaces", None, {"metadata": {"name": lacking}})
    env.namespace = lacking
    for number in range(3):
        env.submit(job(f"homeless-{number}", hold="all"))
        assert env.placed(f"homeless-{number}") == second.name
    until(lambda: [entry for entry in env.audits[first.name].host(lacking, verb="create") if code(entry) == 404],
          f"a Job to have been offered to {first.name}")
    env.release()
    for number in range(3):
        env.until_finished(f"homeless-{number}")
