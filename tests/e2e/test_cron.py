# SPDX-License-Identifier: Apache-2.0
"""CronJobs of the management cluster, whose Jobs are delegated. The real one begins with the run and ends here."""
from jobs import brief, job
from wait import until

_NAMESPACE = "cron"


def _cron_job(name, suspend):
    template = job(name)
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name},
            "spec": {"schedule": "* * * * *", "suspend": suspend, "successfulJobsHistoryLimit": 1000,   # none goes while they are looked at
                     "jobTemplate": {"metadata": {"labels": {"from": "cron"}}, "spec": template["spec"]}}}


def _before_all(env):
    for cluster in env.clusters.all:
        cluster.admin.create("namespaces", None, {"metadata": {"name": _NAMESPACE}})
    env.management.create("cronjobs", _NAMESPACE, _cron_job("minutely", suspend=False))


def a_job_made_from_a_cronjob_by_hand_completes_and_keeps_its_owner(env):
    env.host.use()
    owner = env.management.create("cronjobs", env.namespace, _cron_job("rarely", suspend=True))
    # As `kubectl create job --from=cronjob/rarely` does.
    body = {"apiVersion": "batch/v1", "kind": "Job", "spec": owner["spec"]["jobTemplate"]["spec"],
            "metadata": {"name": "by-hand", "annotations": {"cronjob.kubernetes.io/instantiate": "manual"},
                         "ownerReferences": [{"apiVersion": "batch/v1", "kind": "CronJob", "controller": True,
                                              "name": "rarely", "uid": owner["metadata"]["uid"]}]}}
    env.submit(body)
    worker = env.placed("by-hand")
    done = env.until_finished("by-hand")
    assert done["metadata"]["ownerReferences"] == body["metadata"]["ownerReferences"], brief(done)
    assert env.pods_created("by-hand") == {worker: 1}, env.pods_created("by-hand")
    env.management.delete("cronjobs", env.namespace, "rarely")
    until(lambda: not env.management.list("jobs", env.namespace), "the Job to go with its CronJob")
    env.until_no_mirror("by-hand")


def a_cronjobs_jobs_run_in_the_workers(env):
    env.host.use()
    env.namespace = _NAMESPACE

    def successful():
        status = env.management.get("cronjobs", _NAMESPACE, "minutely").get("status", {})
        assert status.get("lastSuccessfulTime"), status
        return True
    until(successful, "the CronJob to have succeeded")
    env.management.patch("cronjobs", _NAMESPACE, "minutely", {"spec": {"suspend": True}})
    made = env.management.list("jobs", _NAMESPACE)
    assert made, "the CronJob has no Job"
    for found in made:
        name = found["metadata"]["name"]
        env.until_finished(name)
        assert env.pods_created(name), f"{name} ran nowhere"
    assert not env.management.list("pods", _NAMESPACE), "it ran in the management cluster"
    env.management.delete("cronjobs", _NAMESPACE, "minutely")
