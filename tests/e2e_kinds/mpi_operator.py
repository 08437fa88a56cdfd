# SPDX-License-Identifier: Apache-2.0
"""MPI Operator: MPIJob."""
from controllers import Project
from kind import KUEUE, Kind, by_conditions, condition
from nodes import PODS


def _start(_):
    return [("manager", ["--lock-namespace=mpi-operator", "--kube-api-qps=200", "--kube-api-burst=400", "--alsologtostderr"], {})]


# Its health check listens at port 8080.
PROJECT = Project("mpi-operator", ("manager",), "mpi-operator", "mpi-operator", _start, fixed_port=8080)


def _replicas(number, pods, container, **more):
    return {"replicas": number, "restartPolicy": "Never", "template": {"metadata": {"annotations": pods}, "spec": {"containers": [{
        "image": "mpioperator/mpi-pi:openmpi", "securityContext": {"runAsUser": 1000}, **container}]}}, **more}


def _body(pods):
    """The launcher decides; workers serve ssh until it has ended."""
    return {"kind": "MPIJob", "spec": {
        "slotsPerWorker": 1, "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": 0},
        "mpiReplicaSpecs": {
            "Launcher": _replicas(1, pods, {"name": "mpi-launcher", "command": ["mpirun"], "args": ["-n", "2", "/opt/pi"]}),
            "Worker": _replicas(2, {PODS: "run"}, {
                "name": "mpi-worker", "command": ["/usr/sbin/sshd"], "args": ["-De"]})}}}


# Until 0.8.0 the operator does not write the templates of a suspended MPIJob to the launcher's Job.
KINDS = [Kind(
    "mpijobs", "kubeflow.org/v2beta1", _body, by_conditions("Succeeded", lambda found: condition(found, "Running")),
    project=PROJECT, adapter="mpijob",
    managed_by=("/spec/runPolicy/managedBy", KUEUE), suspend=("/spec/runPolicy/suspend", True, False),
    children=("jobs", "services", "configmaps", "secrets"),
    only_in_mirror=("/replicaStatuses/*/selector", "/replicaStatuses/*/labelSelector"),
    retry={"spec": {"runPolicy": {"backoffLimit": 2}}}, ttl={"spec": {"runPolicy": {"ttlSecondsAfterFinished": 1}}},
    scale=({"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 3}}}},
           lambda found: found["status"]["replicaStatuses"]["Worker"].get("active") == 3),
    templates=lambda spec: [each["template"] for each in spec["mpiReplicaSpecs"].values()], versions={"services": ("v1", True)},
    since={"steered": "0.8.0"}, workers_since={"steered": (1, 36)})]
