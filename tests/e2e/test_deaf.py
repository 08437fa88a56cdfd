# SPDX-License-Identifier: Apache-2.0
"""A controller in the management cluster that ignores managedBy, and so runs what is delegated there too."""
import kinds
import trainer_server
from jobs import job
from wait import until


def a_mirror_runs_to_its_end_although_a_deaf_trainer_fails_its_workload(env):
    all_kinds = kinds.of(env)
    all_kinds.use(mirrorRetention="2s")
    trainer_server.create_runtime([env.management])
    with trainer_server.Trainer(env.clusters.management):
        env.management.create("trainjobs", env.namespace, {
            "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "deaf"},
            "spec": {"managedBy": "kueue.x-k8s.io/multikueue", "runtimeRef": {"name": "torch-distributed"}}})
        worker = until(lambda: next((each for each in env.workers if each.admin.find("trainjobs", env.namespace, "deaf")), None),
                       "the TrainJob to have a mirror")
        uid = worker.admin.get("trainjobs", env.namespace, "deaf")["metadata"]["uid"]
        until(lambda: env.management.find("jobsets", env.namespace, "deaf"), "the management cluster's Trainer to make a JobSet")
        _finish(env.management, "jobsets", env.namespace, "Failed")
        env.until_event("deaf", "^AlsoRunHere: ")
        env.submit(job("ordinary"))   # finished later: its mirror is deleted later than the other would be
        env.until_finished("ordinary")
        until(lambda: not any(each.admin.find("jobs", env.namespace, "ordinary") for each in env.workers),
              "the mirror of a finished Job to be deleted")
        found = worker.admin.find("trainjobs", env.namespace, "deaf")
        assert found and found["metadata"]["uid"] == uid, "its running mirror was deleted"
    _finish(worker.admin, "trainjobs", env.namespace, "Complete")

    def is_complete():
        found = env.management.get("trainjobs", env.namespace, "deaf")
        assert [each["type"] for each in found["status"]["conditions"] if each["status"] == "True"] == ["Complete"], found["status"]
        return True
    until(is_complete, "the mirror's status to be that of the workload")
    env.management.delete("jobsets", env.namespace, "deaf")


def _finish(client, plural, namespace, word):
    condition = {"type": word, "status": "True", "reason": "Test", "message": "by the test",
                 "lastTransitionTime": "2026-01-01T00:00:00Z"}
    client.patch(plural, namespace, "deaf", {"status": {"conditions": [condition]}}, "status")
