# SPDX-License-Identifier: Apache-2.0
"""Jobs as the tests submit them, and questions about their status."""
import pods

MANAGED_BY = "wharf.dev/host"


def job(name, managed_by=MANAGED_BY, run="0s", hold=None, fail=None, labels=None, only=None, **spec):
    """A Job whose pods are controlled by annotations for pods.py; `only`: the workers that it may run in, "w1,w2"; further keywords
    go into its spec."""
    notes = {pods.RUN: run}
    if hold:
        notes[pods.HOLD] = hold
    if fail:
        notes[pods.FAIL] = fail
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": labels or {}},
            "spec": {"template": {
                "metadata": {"annotations": notes},
                "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
                         "containers": [{"name": "main", "image": "example.invalid/none"}]}}, **spec}}
    if managed_by:
        body["spec"]["managedBy"] = managed_by
    if only:
        body["metadata"]["annotations"] = {"wharf.dev/cluster-names": only}
    return body


def indexed(name, completions, **more):
    return job(name, completionMode="Indexed", completions=completions, **more)


def condition(found, kind):
    """The condition of this type if it is True, else None."""
    for each in found.get("status", {}).get("conditions") or []:
        if each["type"] == kind and each["status"] == "True":
            return each
    return None


def finished(found):
    return condition(found, "Complete") or condition(found, "Failed")


def counts(found):
    """active, ready, succeeded, failed; what is not there is 0."""
    status = found.get("status", {})
    return tuple(status.get(field) or 0 for field in ("active", "ready", "succeeded", "failed"))


def brief(found):
    """One line for messages."""
    if not found:
        return "none"
    meta, status = found["metadata"], dict(found.get("status", {}))
    marks = {key[len("wharf.dev/"):]: value for key, value in {
        **meta.get("labels", {}), **meta.get("annotations", {})}.items() if key.startswith("wharf.dev/")}
    conditions = [f"{each['type']}={each['status']}({each.get('reason', '')})"
                  for each in status.pop("conditions", None) or []]
    deleting = " being deleted" if "deletionTimestamp" in meta else ""
    return f"{meta['name']} {meta['uid'][:8]}{deleting} {marks} {' '.join(conditions)} {status}"
