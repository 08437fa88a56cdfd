# SPDX-License-Identifier: Apache-2.0
"""Admission policies for the mirrors in one worker: in force while the context lasts."""
import contextlib
import json

import kube
from jobs import job
from skip import Skip
from wait import until

_API = "admissionregistration.k8s.io/v1"
_MIRRORS = [{"name": "marked", "expression":
             "has(object.metadata.labels) && 'wharf.dev/origin' in object.metadata.labels"}]


def _know(worker, plural):
    try:
        served = json.loads(worker.admin.raw("GET", "/apis/" + _API))["resources"]
    except kube.ApiError as error:
        raise Skip(f"no {_API}: {error}") from error
    if not any(resource["name"] == plural for resource in served):
        raise Skip(f"{_API} has no {plural}")
    kube.know(plural, _API, namespaced=False)


def _probe(client, namespace):
    """A marked Job in a dry run: (how it would be stored, None) or (None, why it is rejected)."""
    body = job("probe", managed_by=None, labels={"wharf.dev/origin": "probe"})
    try:
        return client.create("jobs", namespace, body, query={"dryRun": "All"}), None
    except kube.ApiError as error:
        return None, str(error)


@contextlib.contextmanager
def _policy(worker, namespace, kind, spec, binding, in_force, client=None):
    policies, bindings = kind, kind.replace("policies", "policybindings")
    for plural in (policies, bindings):
        _know(worker, plural)
    worker.admin.create(policies, None, {"metadata": {"name": "e2e"}, "spec": {
        "failurePolicy": "Fail", "matchConditions": _MIRRORS, "matchConstraints": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "resourceRules": [{"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
                               "resources": ["jobs"]}]}, **spec}})
    try:
        worker.admin.create(bindings, None, {"metadata": {"name": "e2e"}, "spec": {"policyName": "e2e", **binding}})
        until(lambda: in_force(*_probe(client or worker.admin, namespace)), "the policy to be in force")
        yield
    finally:
        worker.admin.delete_all(bindings, None)
        worker.admin.delete(policies, None, "e2e")
        until(lambda: not in_force(*_probe(client or worker.admin, namespace)), "the policy to be gone")


def mutating(worker, namespace, operation, in_force):
    """`operation`: of a JSON patch, in CEL. `in_force(stored)`: whether it has been applied to a Job."""
    return _policy(worker, namespace, "mutatingadmissionpolicies", {
        "reinvocationPolicy": "Never", "mutations": [{"patchType": "JSONPatch", "jsonPatch": {
            "expression": f"[JSONPatch{{{operation}}}]"}}]}, {}, lambda stored, _: stored and in_force(stored))


def rejecting(worker, namespace, message):
    return _policy(worker, namespace, "validatingadmissionpolicies", {
        "validations": [{"expression": "false", "message": message}]}, {"validationActions": ["Deny"]},
        lambda _, why: why and message in why)


def rejecting_user(worker, namespace, user, group, message):
    """Only if both of them write."""
    return _policy(worker, namespace, "validatingadmissionpolicies", {"validations": [{
        "expression": f"request.userInfo.username != '{user}' || !('{group}' in request.userInfo.groups)", "message": message}]},
        {"validationActions": ["Deny"]}, lambda _, why: why and message in why, worker.admin.acting_as(user, group))
