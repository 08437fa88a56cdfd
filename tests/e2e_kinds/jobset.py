# SPDX-License-Identifier: Apache-2.0
"""JobSet."""
import json

from controllers import Project
from kind import Kind, condition


def _start(controller):
    config = controller.write("config.yaml", json.dumps({
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1", "kind": "Configuration", "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{controller.port()}"},
        "metrics": {"bindAddress": f"127.0.0.1:{controller.port()}"},
        "webhook": {"host": "127.0.0.1", "port": controller.webhook_port}}))
    folder = controller.certificates("k8s-webhook-server/serving-certs")
    return [("manager", [f"--config={config}", "--zap-log-level=2"], {"TMPDIR": folder.rsplit("/", 2)[0]})]


PROJECT = Project("jobset", ("manager",), "jobset-system", "jobset-controller-manager", _start)


def _phase(found):
    if condition(found, "Completed"):
        return "succeeded"
    if condition(found, "Failed"):
        return "failed"
    if condition(found, "Suspended"):
        return "suspended"
    jobs = found.get("status", {}).get("replicatedJobsStatus", ())
    return "running" if jobs and all(each.get("ready", 0) for each in jobs) else None


def _job(name, replicas, pods):
    return {"name": name, "replicas": replicas, "template": {"spec": {
        "parallelism": 2, "completions": 2, "backoffLimit": 0, "template": {
            "metadata": {"annotations": pods},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "bash", "image": "bash:latest", "command": ["sleep", "1"]}]}}}}}


def _body(pods):
    return {"kind": "JobSet", "spec": {"replicatedJobs": [_job("leader", 1, pods), _job("workers", 2, pods)]}}


KINDS = [Kind(
    "jobsets", "jobset.x-k8s.io/v1alpha2", _body, _phase, project=PROJECT, adapter="jobset", children=("jobs",),
    only_in_mirror=("/conditions/*/observedGeneration",), retry={"spec": {"failurePolicy": {"maxRestarts": 2}}},
    ttl={"spec": {"ttlSecondsAfterFinished": 1}})]
