# SPDX-License-Identifier: Apache-2.0
"""JobSet."""
import json

import controllers
from controllers import Project
from kind import Kind, by_conditions
from nodes import PODS
from wait import until

_GATED = "0.12.0"   # the first version with these gates


def _start(controller):
    gates = controllers.order(controller.found.version) >= controllers.order(_GATED)
    config = controller.write("config.yaml", json.dumps({
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1", "kind": "Configuration", "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False}, **({"featureGates": {"ElasticJobSet": True, "RestartJob": True}} if gates else {}),
        "health": {"healthProbeBindAddress": f"127.0.0.1:{controller.port()}"},
        "metrics": {"bindAddress": f"127.0.0.1:{controller.port()}"},
        "webhook": {"host": "127.0.0.1", "port": controller.webhook_port}}))
    folder = controller.certificates("k8s-webhook-server/serving-certs")
    return [("manager", [f"--config={config}", "--zap-log-level=2"], {"TMPDIR": folder.rsplit("/", 2)[0]})]


PROJECT = Project("jobset", ("manager",), "jobset-system", "jobset-controller-manager", _start)


def all_ready(field):
    """is_running of by_conditions: each item of this list of the status counts ready Jobs."""
    def check(found):
        jobs = found.get("status", {}).get(field, ())
        return jobs and all(each.get("ready", 0) for each in jobs)
    return check


def _job(name, replicas, pods, number=2, mounts=(), **more):
    return {"name": name, "replicas": replicas, "template": {"spec": {
        "parallelism": number, "completions": number, "backoffLimit": 0, "template": {
            "metadata": {"annotations": pods},
            "spec": {"restartPolicy": "Never", "containers": [
                {"name": "bash", "image": "bash:latest", "command": ["sleep", "1"],
                 "volumeMounts": [{"name": each, "mountPath": "/workspace/" + each} for each in mounts]}]}}}}, **more}


def _body(pods):
    return {"kind": "JobSet", "spec": {"replicatedJobs": [_job("leader", 1, pods), _job("workers", 2, pods)]}}


def _ends(end):
    return {PODS: end}


def _example(phase, *jobs, **spec):
    """One of the project's examples, whose end is this phase."""
    def case(life):
        life.submit(patch={"spec": {"replicatedJobs": list(jobs), **spec}})
        life.until(phase)
    return case


def _rule(action, *targets):
    return {"name": action.lower(), "action": action, "targetReplicatedJobs": list(targets)}


def _elastic(life):
    """The workers get another pod while they run."""
    life.submit(patch={"spec": {"replicatedJobs": [_job("driver", 1, _ends("hold"), 1), _job("workers", 1, _ends("hold"))]}})
    jobs = life.until("running")["spec"]["replicatedJobs"]
    jobs[1]["template"]["spec"].update(parallelism=3, completions=3)
    life.change({"spec": {"replicatedJobs": jobs}})
    until(lambda: [job for job in life.children("jobs") if job.get("status", {}).get("ready") == 3], "the workers to be three")
    life.end()


_CASES = {
    "depends-on": _example(
        "succeeded", _job("initializer", 1, _ends("succeed"), 1),
        _job("launcher", 1, _ends("succeed"), 1, dependsOn=[{"name": "initializer", "status": "Complete"}]),
        _job("worker", 1, _ends("succeed"), 4, dependsOn=[{"name": "launcher", "status": "Complete"}])),
    "coordinator": _example(
        "succeeded", _job("workers", 1, _ends("succeed"), 4), _job("driver", 1, _ends("succeed"), 1),
        coordinator={"replicatedJob": "driver", "jobIndex": 0, "podIndex": 0}),
    "startup-policy": _example(
        "succeeded", _job("driver", 1, _ends("succeed"), 1), _job("workers", 1, _ends("succeed"), 4),
        startupPolicy={"startupPolicyOrder": "InOrder"}),
    "success-policy": _example(
        "succeeded", _job("leader", 1, _ends("run"), 1), _job("workers", 1, _ends("succeed")),
        successPolicy={"operator": "All", "targetReplicatedJobs": ["workers"]}),
    "blocking-recreate": _example(
        "succeeded", _job("leader", 1, _ends("fail-once")), _job("workers", 1, _ends("succeed")),
        failurePolicy={"restartStrategy": "BlockingRecreate", "maxRestarts": 3}),
    "fail-jobset": _example(
        "failed", _job("leader", 1, _ends("fail")), _job("workers", 1, _ends("run")),
        failurePolicy={"maxRestarts": 3, "rules": [_rule("FailJobSet", "leader")]}),
    "restart-job": _example(
        "succeeded", _job("rj-leader", 1, _ends("succeed")), _job("rj-worker", 1, _ends("fail-once")),
        failurePolicy={"maxRestarts": 2, "rules": [_rule("RestartJobSet", "rj-leader"), _rule("RestartJob", "rj-worker")]}),
    "volume-claims": _example(
        "succeeded", _job("initializer", 1, _ends("succeed"), 1, ("initializer",)),
        _job("node", 1, _ends("succeed"), 3, ("initializer",), dependsOn=[{"name": "initializer", "status": "Complete"}]),
        volumeClaimPolicies=[{"templates": [{"metadata": {"name": "initializer"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}]),
    "elastic": _elastic,
}


KINDS = [Kind(
    "jobsets", "jobset.x-k8s.io/v1alpha2", _body, by_conditions("Completed", all_ready("replicatedJobsStatus")),
    project=PROJECT, adapter="jobset", children=("jobs", "persistentvolumeclaims"),
    versions={"persistentvolumeclaims": ("v1", True)}, only_in_mirror=("/conditions/*/observedGeneration",),
    templates=lambda spec: [job["template"]["spec"]["template"] for job in spec["replicatedJobs"]],
    retry={"spec": {"failurePolicy": {"maxRestarts": 2}}},
    ttl={"spec": {"ttlSecondsAfterFinished": 1}}, cases=_CASES, first_kept=("/replicatedJobsStatus/*/succeeded",), since={"elastic": _GATED, "restart-job": _GATED})]
