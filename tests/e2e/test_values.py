# SPDX-License-Identifier: Apache-2.0
"""What the pods of a further attempt are told: its number, and values that the last status of the former attempts had."""
import json
import subprocess

import kube
from jobs import job
from wait import until

_RESOURCE, _GROUP, _PREVIOUS = "trainings", "train.example.com", "wharf.dev/previous"
_KIND = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{_RESOURCE}.{_GROUP}"},
    "spec": {"group": _GROUP, "scope": "Namespaced",
             "names": {"plural": _RESOURCE, "singular": "training", "kind": "Training", "listKind": "TrainingList"},
             "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {
                 "openAPIV3Schema": {"type": "object", "properties": {
                     "spec": {"type": "object", "properties": {
                         "managedBy": {"type": "string"},
                         "template": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}},
                     "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}}]}}
_MAY = [
    {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": _RESOURCE}, "rules": [
        {"apiGroups": [_GROUP], "resources": [_RESOURCE, f"{_RESOURCE}/status"], "verbs": ["*"]}]},
    {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": _RESOURCE},
     "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": _RESOURCE},
     "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "wharf"},
                  {"kind": "ServiceAccount", "namespace": "wharf-system", "name": "wharf"}]}]
_ADAPTERS = {"job": {}, "generic": {"settings": {"kinds": [{
    "group": _GROUP, "versions": ["v1"], "kind": "Training", "plural": _RESOURCE,
    "managedBy": {"field": "/spec/managedBy"}, "pods": [{"template": "/spec/template"}],
    "continuity": [{"field": "/status/checkpoint", "name": "CHECKPOINT"}, {"field": "/status/step", "name": "STEP"}],
    "phases": [{"condition": "Complete", "phase": "Succeeded"}]}]}}}


def _kubectl(env, cluster, *args):
    objects = {"apiVersion": "v1", "kind": "List", "items": [_KIND] + _MAY}
    done = subprocess.run([env.clusters.assets.tool("kubectl"), "--kubeconfig", cluster.admin_config, *args, "-f", "-"],
                          input=json.dumps(objects), text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def _variables(found):
    return {each["name"]: each.get("value") for each in found["spec"]["template"]["spec"]["containers"][0].get("env", [])}


def _mirror(env, name, attempt):
    """The worker with the mirror of this attempt, and the mirror."""
    def probe():
        notes = env.management.get(_RESOURCE, env.namespace, name)["metadata"].get("annotations", {})
        if notes.get("wharf.dev/attempt") != str(attempt):
            return None
        worker = env.worker(notes["wharf.dev/cluster"])
        found = worker.admin.find(_RESOURCE, env.namespace, name)
        same = found and found["metadata"]["annotations"].get("wharf.dev/attempt") == str(attempt)
        return (worker, found) if same else None
    return until(probe, f"a mirror of {name} in attempt {attempt}")


def _lose(env, name, attempt):
    """Deletes the mirror: the next attempt's."""
    worker, _ = _mirror(env, name, attempt)
    worker.admin.delete(_RESOURCE, env.namespace, name)
    return _mirror(env, name, attempt + 1)


def _go_on(env):
    env.management.create(_RESOURCE, env.namespace, {
        "apiVersion": f"{_GROUP}/v1", "kind": "Training", "metadata": {"name": "model"}, "spec": {
            "managedBy": "wharf.dev/host", "template": {"spec": {"containers": [
                {"name": "main", "image": "example.invalid/none", "env": [{"name": "MODE", "value": "train"}]}]}}}})
    worker, mirror = _mirror(env, "model", 1)
    assert _variables(mirror) == {"WHARF_ATTEMPT": "1", "MODE": "train"}, mirror["spec"]
    worker.admin.patch_status(_RESOURCE, env.namespace, "model", {"status": {"checkpoint": "s3://b/$(HOME)/7", "step": 1200}})
    until(lambda: env.management.get(_RESOURCE, env.namespace, "model").get("status", {}).get("step") == 1200,
          "the status to be copied")
    for attempt in (1, 2):   # the second one never has a status
        _, mirror = _lose(env, "model", attempt)
        assert _variables(mirror) == {
            "WHARF_ATTEMPT": str(attempt + 1), "WHARF_PREVIOUS_CHECKPOINT": "s3://b/$$(HOME)/7", "WHARF_PREVIOUS_STEP": "1200",
            "MODE": "train"}, mirror["spec"]
    found = env.management.get(_RESOURCE, env.namespace, "model")
    assert json.loads(found["metadata"]["annotations"][_PREVIOUS]) == {
        "CHECKPOINT": "s3://b/$(HOME)/7", "STEP": 1200, "uid": found["metadata"]["uid"]}, found
    assert _variables(found) == {"MODE": "train"}, found["spec"]
    worker, _ = _mirror(env, "model", 3)
    worker.admin.patch_status(_RESOURCE, env.namespace, "model", {"status": {"step": 1300, "conditions": [
        {"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})
    until(lambda: env.management.get(_RESOURCE, env.namespace, "model")["status"].get("conditions"), "the end to be copied")


def pods_of_a_further_attempt_get_the_checkpoint_that_the_last_status_named(env):
    kube.know(_RESOURCE, f"{_GROUP}/v1")
    for cluster in env.clusters.all:
        _kubectl(env, cluster, "apply", "--server-side")
    try:
        env.host.use(enabled=_ADAPTERS)
        env.host.until_takes_work((worker.name for worker in env.workers), f"{_RESOURCE}.{_GROUP}")
        _go_on(env)
        env.management.delete(_RESOURCE, env.namespace, "model")
        until(lambda: not any(worker.admin.list(_RESOURCE, env.namespace) for worker in env.workers), "the mirrors to be gone")
    finally:
        env.host.stop()   # it would see the kind go
        for cluster in env.clusters.all:
            _kubectl(env, cluster, "delete")


def _first_pod(env, worker, name):
    def probe():
        owner = env.mirror(worker.name, name)["metadata"]["uid"]
        return next((pod for pod in worker.admin.list("pods", env.namespace)
                     if owner in (each["uid"] for each in pod["metadata"].get("ownerReferences", []))), None)
    return until(probe, f"a pod of {name}")


def a_job_may_ask_for_the_number_of_its_attempt(env):
    env.use_all()
    body = job("counted", hold="all")
    body["metadata"]["annotations"] = {"wharf.dev/attempt-env": "true"}
    env.submit(body)
    env.submit(job("silent", hold="all"))
    for attempt in (1, 2):
        for name in ("counted", "silent"):
            worker = env.worker(env.placed(name, attempt=attempt))
            wanted = [{"name": "WHARF_ATTEMPT", "value": str(attempt)}] if name == "counted" else []
            assert _first_pod(env, worker, name)["spec"]["containers"][0].get("env", []) == wanted
            env.until_counts(name, ready=1)
            if attempt == 1:
                worker.admin.delete("jobs", env.namespace, name)
    env.release()
    for name in ("counted", "silent"):
        env.until_finished(name)
    env.nothing_was_refused((422,))
