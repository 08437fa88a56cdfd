# SPDX-License-Identifier: Apache-2.0
"""A kind with its real controller: the objects that its tests make, and how its status reads. See jobset.py for an example."""
from compare import merge
from nodes import PODS

# The value that kinds with a closed set of managers leave to others.
KUEUE = "kueue.x-k8s.io/multikueue"


def _parts(pointer):
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.strip("/").split("/")]


def at(document, pointer):
    """The value at /a/b/0/c, or None."""
    for part in _parts(pointer):
        if isinstance(document, list):
            document = document[int(part)] if int(part) < len(document) else None
        elif isinstance(document, dict):
            document = document.get(part)
        else:
            return None
    return document


def patch_at(pointer, value):
    """A merge patch that sets the value."""
    for part in reversed(_parts(pointer)):
        value = {part: value}
    return value


def condition(found, *kinds):
    """Whether one of these conditions is True."""
    return any(each["type"] in kinds and each["status"] == "True" for each in found.get("status", {}).get("conditions", ()))


def by_conditions(succeeded, is_running):
    """The phase of kinds whose statuses have the conditions `succeeded`, Failed and Suspended; see Kind.phase."""
    def phase(found):
        for kind, name in ((succeeded, "succeeded"), ("Failed", "failed"), ("Suspended", "suspended")):
            if condition(found, kind):
                return name
        return "running" if is_running(found) else None
    return phase


class Kind:
    """plural, api_version     of the resource
    project         its controller's Project; None for a built-in one
    adapter, settings          the adapter and its settings (default: those of tests/fixtures/generic.yaml)
    body            body(pods) -> the object as a user writes it, from the project's own examples, without name and managedBy;
                    `pods` are the annotations of its pod templates
    phase           phase(object) -> "suspended", "running", "succeeded", "failed" or None
    managed_by      (pointer, value); value None: any, the host's own
    suspend         (pointer, value of a suspended one, value of one that runs); None: it cannot be suspended
    children        plurals of the objects that its controller makes, looked at for leftovers and recordings
    only_in_mirror  pointers below /status that are not copied; "*" is any member
    retry           a merge patch that lets it retry; None: it has no retries of its own
    ttl             a merge patch that makes it delete itself; None: it has none
    scale           (a merge patch, scaled(object)) of a running one; None: it cannot
    never_ends      True: there is no success, so lives end with a deletion
    status_rule     status_rule(status) -> status: further normalisation before two statuses are compared
    own_status      own_status(status): whether the host may have written it by itself, as after another placement
    setup           setup(client, namespace): objects that it needs in each cluster, such as a runtime
    versions        kinds of its children and of setup that the client has to know: {plural: (api_version, namespaced)}
    cases           {case: function(life)} that only this kind has
    subresource     False: its CRD has no status subresource, so each status that is copied changes the object
    skip            {case: why it does not exist for this kind}
    since           {case: the first version of its controller that has it}
    workers_since   {case: the first version of Kubernetes, (1, 36), in whose workers it works}
    templates       templates(spec) -> its pod templates, which may change while it is suspended; None: they cannot
    retried         the end of a pod that the kind retries: "fail", or "kill" where it depends on the exit code
    refers          the resources of its own that it refers to beside those of pods, "tasks.tekton.dev"
    brings          False: a stand-in makes its pods, without what the kind mounts there
    first_kept      pointers below /status that keep the first mirror's value in later mirrors
    """

    def __init__(self, plural, api_version, body, phase, *, project=None, adapter, settings=None,
                 managed_by=("/spec/managedBy", None), suspend=("/spec/suspend", True, False), children=(), only_in_mirror=(),
                 retry=None, ttl=None, scale=None, never_ends=False, status_rule=None, own_status=None, setup=None,
                 versions=None, cases=None, skip=None, since=None, templates=None, retried="fail", first_kept=(),
                 subresource=True, workers_since=None, refers=(), brings=True):
        self.plural, self.api_version, self.body, self.phase, self.project = plural, api_version, body, phase, project
        self.adapter, self.settings, self.managed_by, self.suspend = adapter, settings, managed_by, suspend
        self.children, self.only_in_mirror, self.retry, self.ttl, self.scale = children, only_in_mirror, retry, ttl, scale
        self.never_ends, self.status_rule, self.setup, self.versions = never_ends, status_rule, setup, versions or {}
        self.own_status, self.cases, self.skip = own_status, cases or {}, skip or {}
        self.since, self.templates, self.retried, self.first_kept = since or {}, templates, retried, first_kept
        self.subresource, self.workers_since = subresource, workers_since or {}
        self.refers, self.brings = refers, brings

    def workload(self, name, pods, host_value):
        pointer, value = self.managed_by
        body = merge(self.body({PODS: pods}), patch_at(pointer, value or host_value))
        body["apiVersion"] = self.api_version
        body.setdefault("metadata", {})["name"] = name
        return body

    def allows(self, status):
        """Whether this may be a status that the host wrote by itself: of a workload that is suspended before it is placed."""
        return self.phase({"status": status}) == "suspended" or bool(self.own_status and self.own_status(status))

    def normal(self, status, attempts=1):
        """A status without the members that are not copied, of a workload with so many mirrors so far."""
        for pointer in (*self.only_in_mirror, *(self.first_kept if attempts > 1 else ())):
            status = _without(status, pointer.strip("/").split("/"))
        return self.status_rule(status) if self.status_rule else status


def _without(document, parts):
    first, rest = parts[0], parts[1:]
    if isinstance(document, list) and first == "*":
        return [_without(each, rest) for each in document]
    if not isinstance(document, dict):
        return document
    if not rest:
        return {key: value for key, value in document.items() if first not in ("*", key)}
    return {key: _without(value, rest) if first in ("*", key) else value for key, value in document.items()}
