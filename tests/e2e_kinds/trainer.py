# SPDX-License-Identifier: Apache-2.0
"""Kubeflow Trainer, with JobSet below it."""
import json

import controllers
import jobset
from controllers import Project
from kind import KUEUE, Kind, by_conditions


def _start(controller):
    folder = controller.certificates("k8s-webhook-server/serving-certs")
    config = controller.write("config.yaml", json.dumps({
        "apiVersion": "config.trainer.kubeflow.org/v1alpha1", "kind": "Configuration", "leaderElection": {"leaderElect": False},
        "certManagement": {"enable": False}, "clientConnection": {"qps": 200, "burst": 400},
        "health": {"healthProbeBindAddress": controller.probed},
        "metrics": {"bindAddress": f"127.0.0.1:{controller.port()}", "secureServing": False},
        "statusServer": {"port": controller.port()},
        "webhook": {"host": "127.0.0.1", "port": controller.webhook_port}}))
    return [("manager", [f"--config={config}", "--zap-log-level=2"], {"TMPDIR": folder.rsplit("/", 2)[0]})]


PROJECT = Project("trainer", ("manager",), "kubeflow-system", "kubeflow-trainer-controller-manager", _start, needs=(jobset.PROJECT,),
                  healthy=lambda controller: controller.answers("/readyz"),
                  deaf=lambda version: controllers.order(version) < controllers.order("2.3.0"))


def _runtime(name, spec):
    """As the release's torch-distributed, but a pod's failure is at once one of its Job."""
    return {"kind": "TrainingRuntime", "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "metadata": {"name": name, "labels": {"trainer.kubeflow.org/framework": "torch"}}, "spec": {
                "mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": {**spec, "replicatedJobs": [{
                    "name": "node", "template": {
                        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                        "spec": {"backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never", "containers": [
                            {"name": "node", "image": "pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime"}]}}}}}]}}}}


def _setup(client, namespace):
    for runtime in (_runtime("once", {}), _runtime("restarted", {"failurePolicy": {"maxRestarts": 2}})):
        client.create("trainingruntimes", namespace, runtime)


def _patches(*names, pods):
    return [{"manager": "example.com/defaults", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
        {"name": name, "template": {"spec": {"template": {"metadata": {"annotations": pods}}}}} for name in names]}}}}]


def _templates(spec):
    return [job["template"]["spec"]["template"] for patch in spec["runtimePatches"]
            for job in patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]]


def _reference(name, kind="TrainingRuntime"):
    return {"apiGroup": "trainer.kubeflow.org", "kind": kind, "name": name}


def _body(pods):
    return {"kind": "TrainJob", "spec": {
        "runtimeRef": _reference("once"), "runtimePatches": _patches("node", pods=pods),
        "trainer": {"image": "kubeflowkatib/pytorch-mnist:v1beta1-45c5727", "numNodes": 2,
                    "command": ["torchrun", "/opt/pytorch-mnist/mnist.py", "--epochs=1"],
                    "resourcesPerNode": {"requests": {"cpu": "1"}}}}}


def _release_runtime(name, spec=None):
    def case(life):
        life.submit(patch={"spec": {"runtimeRef": _reference(name, "ClusterTrainingRuntime"), **(spec or {})}})
        life.until("succeeded")
    return case


# The nodes of an MPI runtime serve until the launcher has ended.
_MPI = {"runtimePatches": _patches("node", pods={"e2e.example.com/pods": "run"})}

KINDS = [Kind(
    "trainjobs", "trainer.kubeflow.org/v1alpha1", _body, by_conditions("Complete", jobset.all_ready("jobsStatus")), project=PROJECT, adapter="trainjob",
    managed_by=("/spec/managedBy", KUEUE), children=("jobsets", "jobs"), only_in_mirror=("/conditions/*/observedGeneration",),
    templates=_templates, refers=("trainingruntimes.trainer.kubeflow.org",), retry={"spec": {"runtimeRef": _reference("restarted")}}, setup=_setup,
    versions={"jobsets": ("jobset.x-k8s.io/v1alpha2", True), "trainingruntimes": ("trainer.kubeflow.org/v1alpha1", True)},
    cases={"torch-runtime": _release_runtime("torch-distributed"), "jax-runtime": _release_runtime("jax-distributed"),
           "deepspeed-runtime": _release_runtime("deepspeed-distributed", _MPI)})]
