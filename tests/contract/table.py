# SPDX-License-Identifier: Apache-2.0
"""Requests and the answers that a kube-apiserver gives to them. A case is a sentence and its steps, in a namespace of
its own: ${ns}; ${jobs} is the path of its Jobs. No controller runs meanwhile."""
import copy

MERGE = "application/merge-patch+json"
INVALID, REQUIRED, FORBIDDEN = "FieldValueInvalid", "FieldValueRequired", "FieldValueForbidden"
UNSUPPORTED, TOO_LONG = "FieldValueNotSupported", "FieldValueTooLong"
START, LATER, BEFORE = "2026-01-02T03:04:05Z", "2026-01-02T04:04:05Z", "2026-01-02T02:04:05Z"


def job(name="a", managed=True, **spec):
    """The body of a Job; keywords go into its spec."""
    value = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "main", "image": "example.org/main:1"}]}}}}
    if managed:
        value["spec"]["managedBy"] = "example.org/contract"
    value["spec"].update(spec)
    return value


def with_meta(value, **meta):
    value = copy.deepcopy(value)
    value["metadata"].update(meta)
    return value


def ask(method, path, status, body=None, **more):
    content_type = more.pop("type", MERGE if method == "PATCH" else "application/json")
    return {"method": method, "path": path, "status": status, "body": body, "type": content_type, **more}


def get(path, status=200, **more):
    return ask("GET", path, status, **more)


def create(body, status=201, path="${jobs}", **more):
    return ask("POST", path, status, body, **more)


def patch(body, status=200, path="${jobs}/a", **more):
    return ask("PATCH", path, status, body, **more)


def set_status(status_body, status=200, **more):
    return ask("PATCH", "${jobs}/a/status", status, {"status": status_body}, **more)


def refuse_status(status_body, *causes):
    return set_status(status_body, 422, causes=list(causes), has={"reason": "Invalid"})


def delete(status=200, body=None, path="${jobs}/a", **more):
    return ask("DELETE", path, status, body, **more)


def condition(kind, status="True"):
    return {"type": kind, "status": status, "lastProbeTime": START, "lastTransitionTime": START}


def conditions(*kinds):
    return [condition(kind) for kind in kinds]


def failure(reason, **details):
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason,
            "details": details if details else None}


COMPLETE = {"startTime": START, "completionTime": LATER, "succeeded": 1,
            "conditions": conditions("SuccessCriteriaMet", "Complete")}
FAILED = {"startTime": START, "failed": 1, "conditions": conditions("FailureTarget", "Failed")}

READING = [
    ("a kind is found by discovery", [
        get("/apis/batch/v1", has={"kind": "APIResourceList", "groupVersion": "batch/v1", "resources": lambda list_: any(
            item["name"] == "jobs" and item["kind"] == "Job" and item["namespaced"] and "watch" in item["verbs"]
            for item in list_) and any(item["name"] == "jobs/status" for item in list_)}),
        get("/apis/batch", has={"kind": "APIGroup", "name": "batch", "preferredVersion": {"version": "v1"}}),
        get("/apis", has={"kind": "APIGroupList", "groups": lambda list_: any(
            group["name"] == "batch" for group in list_)}),
        get("/api", has={"kind": "APIVersions", "versions": ["v1"]}),
        get("/version", has={"major": ..., "gitVersion": ...})]),
    ("what is not served is 404 in plain text", [
        get("/apis/nothing.example/v1/things", 404, text="404 page not found"),
        get("/apis/nothing.example/v1", 404, text="404 page not found"),
        get("/apis/batch/v2/things", 404, has={"kind": "Status", "reason": "NotFound"}),
        get("/apis/batch/v1/namespaces/${ns}/things", 404, has={
            "kind": "Status", "reason": "NotFound", "details": {"name": None, "kind": None}})]),
    ("an absent object is 404 with its name", [
        get("${jobs}/a", 404, has=failure("NotFound", name="a", group="batch", kind="jobs"))]),
    ("items of a list have neither kind nor apiVersion", [
        create(job()),
        get("${jobs}", has={"kind": "JobList", "apiVersion": "batch/v1", "metadata": {"resourceVersion": ...}, "items": [
            {"kind": None, "apiVersion": None, "metadata": {"name": "a", "namespace": "${ns}"}}]})]),
    ("a list is paged at the version of its first page", [
        create(job("a")), create(job("b")), create(job("c")),
        get("${jobs}?limit=2", save={"next": "metadata.continue", "version": "metadata.resourceVersion"}, has={
            "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}),
        create(job("d")),
        get("${jobs}?limit=2&continue=${next}", has={
            "metadata": {"resourceVersion": "${version}", "continue": None}, "items": [{"metadata": {"name": "c"}}]})]),
    ("a list can be had as it was", [
        create(job("a")), get("${jobs}", save={"version": "metadata.resourceVersion"}), create(job("b")),
        get("${jobs}?resourceVersion=${version}&resourceVersionMatch=Exact", has={
            "metadata": {"resourceVersion": "${version}"}, "items": [{"metadata": {"name": "a"}}]}),
        get("${jobs}?resourceVersion=${version}&resourceVersionMatch=NotOlderThan", has={
            "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}),
        get("${jobs}?resourceVersion=${version}&limit=10", has={"items": [{"metadata": {"name": "a"}}]})]),
    ("selectors choose", [
        create(with_meta(job("a"), labels={"x": "1", "y": "1"})), create(with_meta(job("b"), labels={"x": "2"})),
        create(with_meta(job("c"), labels={"z": "2"})),
        get("${jobs}?labelSelector=x", has={"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}),
        get("${jobs}?labelSelector=x%3D2", has={"items": [{"metadata": {"name": "b"}}]}),
        get("${jobs}?labelSelector=x%2Cx!%3D2", has={"items": [{"metadata": {"name": "a"}}]}),
        get("${jobs}?labelSelector=x+in+(1,2),!y", has={"items": [{"metadata": {"name": "b"}}]}),
        get("${jobs}?labelSelector=!x", has={"items": [{"metadata": {"name": "c"}}]}),
        get("${jobs}?fieldSelector=metadata.name%3Dc", has={"items": [{"metadata": {"name": "c"}}]}),
        get("/apis/batch/v1/jobs?fieldSelector=metadata.namespace%3D${ns}&labelSelector=y", has={
            "items": [{"metadata": {"name": "a"}}]}),
        get("${jobs}?fieldSelector=spec.nothing%3Dc", 400, has=failure("BadRequest")),
        get("${jobs}?labelSelector=x%3D%3D%3D", 400, has=failure("BadRequest"))]),
    ("list options that do not go together are refused", [
        get("${jobs}?resourceVersionMatch=Exact", 422, causes=[("resourceVersionMatch", FORBIDDEN)]),
        get("${jobs}?resourceVersionMatch=Exact&resourceVersion=0", 422, causes=[("resourceVersionMatch", FORBIDDEN)]),
        get("${jobs}?resourceVersionMatch=Odd&resourceVersion=1", 422, causes=[("resourceVersionMatch", UNSUPPORTED)]),
        get("${jobs}?sendInitialEvents=true", 422, causes=[("sendInitialEvents", FORBIDDEN)]),
        get("${jobs}?resourceVersion=${ns}", 400)]),
    ("a version that lies in the future is 504 with a cause", [
        get("${jobs}?resourceVersion=99999999999", 504, causes=[(None, "ResourceVersionTooLarge")], has={
            "reason": "Timeout", "details": {"retryAfterSeconds": 1}})]),
]

PART = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTS = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
META = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}

FORMS = [
    ("metadata alone is shown of an object, and of a list by another name", [
        create(job("a")),
        get("${jobs}/a", accept=PART, has={**META, "metadata": {"name": "a"}, "spec": None, "status": None}),
        get("${jobs}", accept=PARTS, has={
            "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": ...},
            "items": [{**META, "metadata": {"name": "a"}, "spec": None}]}),
        get("${jobs}", 406, accept=PART), get("${jobs}/a", 406, accept=PARTS),
        get("${jobs}/a", accept=f"{PARTS.replace('v=v1', 'v=v9')},application/json", has={"kind": "Job"}),
        get("${jobs}/nobody", 404, accept=PART, has={"kind": "Status", "reason": "NotFound"})]),
    ("a watch of metadata shows no more of each object", [
        get("${jobs}", save={"version": "metadata.resourceVersion"}), create(job("a")),
        patch({"metadata": {"labels": {"x": "1"}}}), delete(body={"propagationPolicy": "Background"}),
        {"watch": "${jobs}?watch=true&resourceVersion=${version}&timeoutSeconds=5", "accept": f"{PART},application/json",
         "events": 3, "status": 200, "has": [
             {"type": "ADDED", "object": {**META, "metadata": {"name": "a"}, "spec": None}},
             {"type": "MODIFIED", "object": {**META, "metadata": {"labels": {"x": "1"}}}},
             {"type": "DELETED", "object": {**META, "metadata": {"name": "a"}, "spec": None}}]}]),
    ("a streaming list of metadata ends with an annotated bookmark", [
        create(job("a")),
        {"watch": "${jobs}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                  "&allowWatchBookmarks=true&timeoutSeconds=5", "accept": PART, "events": 2, "status": 200, "has": [
                      {"type": "ADDED", "object": {**META, "metadata": {"name": "a"}}},
                      {"type": "BOOKMARK", "object": {**META, "spec": None, "metadata": {
                          "resourceVersion": ..., "annotations": {"k8s.io/initial-events-end": "true"}}}}]}]),
]

WATCHING = [
    ("a watch tells what happens after its version", [
        get("${jobs}", save={"version": "metadata.resourceVersion"}), create(job("a")),
        patch({"metadata": {"labels": {"x": "1"}}}), delete(body={"propagationPolicy": "Background"}),
        {"watch": "${jobs}?watch=true&resourceVersion=${version}&timeoutSeconds=5", "events": 3, "status": 200, "has": [
            {"type": "ADDED", "object": {"kind": "Job", "apiVersion": "batch/v1", "metadata": {"labels": {"x": None}}}},
            {"type": "MODIFIED", "object": {"metadata": {"labels": {"x": "1"}}}},
            {"type": "DELETED", "object": {"metadata": {"name": "a"}}}]}]),
    ("what leaves a selector is deleted, as it was before", [
        create(with_meta(job("a"), labels={"x": "1"})), get("${jobs}", save={"version": "metadata.resourceVersion"}),
        patch({"metadata": {"labels": {"x": "2"}}}, save={"then": "metadata.resourceVersion"}),
        patch({"metadata": {"labels": {"x": "1"}}}),
        {"watch": "${jobs}?watch=true&labelSelector=x%3D1&resourceVersion=${version}&timeoutSeconds=5", "events": 2,
         "status": 200, "has": [
             {"type": "DELETED", "object": {"metadata": {"labels": {"x": "1"}, "resourceVersion": "${then}"}}},
             {"type": "ADDED", "object": {"metadata": {"labels": {"x": "1"}}}}]}]),
    ("a watch without a version begins with what is there", [
        create(job("a")), create(job("b")),
        {"watch": "${jobs}?watch=true&timeoutSeconds=5", "events": 2, "status": 200, "has": [
            {"type": "ADDED", "object": {"metadata": {"name": "a"}}},
            {"type": "ADDED", "object": {"metadata": {"name": "b"}}}]}]),
    ("a streaming list ends with an annotated bookmark", [
        create(job("a")),
        {"watch": "${jobs}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                  "&allowWatchBookmarks=true&timeoutSeconds=5", "events": 2, "status": 200, "has": [
                      {"type": "ADDED", "object": {"metadata": {"name": "a"}}},
                      {"type": "BOOKMARK", "object": {"kind": "Job", "metadata": {
                          "resourceVersion": ..., "annotations": {"k8s.io/initial-events-end": "true"}}}}]}]),
    ("a streaming list needs resourceVersionMatch", [
        get("${jobs}?watch=true&sendInitialEvents=true", 422, causes=[("resourceVersionMatch", FORBIDDEN)])]),
    ("a watch from a version in the future says nothing, and a streaming list says so", [
        create(job()),
        {"watch": "${jobs}?watch=true&resourceVersion=99999999999&timeoutSeconds=1", "status": 200, "has": []},
        {"watch": "${jobs}?watch=true&resourceVersion=99999999999&timeoutSeconds=5&sendInitialEvents=true"
                  "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", "events": 1, "status": 200, "has": [
                      {"type": "ERROR", "object": {"code": 504, "reason": "Timeout", "details": {"causes": [
                          {"reason": "ResourceVersionTooLarge"}]}}}]}]),
    ("a watch ends at its timeout", [
        {"watch": "${jobs}?watch=true&timeoutSeconds=1", "status": 200, "has": []}]),
]

CREATING = [
    ("a Job gets its defaults", [
        create(with_meta(job(managed=False), labels={"x": "1"}), has={
            "metadata": {"name": "a", "namespace": "${ns}", "uid": ..., "resourceVersion": ..., "generation": 1,
                         "creationTimestamp": ..., "labels": {"x": "1"}},
            "spec": {"parallelism": 1, "completions": 1, "backoffLimit": 6, "completionMode": "NonIndexed",
                     "suspend": False, "podReplacementPolicy": "TerminatingOrFailed", "manualSelector": False,
                     "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": ...}},
                     "template": {"metadata": {"labels": {
                         "job-name": "a", "batch.kubernetes.io/job-name": "a", "controller-uid": ...,
                         "batch.kubernetes.io/controller-uid": ...}},
                         "spec": {"dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
                                  "terminationGracePeriodSeconds": 30, "securityContext": {}, "containers": [
                                      {"resources": {}, "terminationMessagePath": "/dev/termination-log",
                                       "terminationMessagePolicy": "File", "imagePullPolicy": "IfNotPresent"}]}}}})]),
    ("parallelism alone leaves completions unset", [
        create(job(parallelism=3), has={"spec": {"parallelism": 3, "completions": None}})]),
    ("completions alone default parallelism to 1", [
        create(job(completions=3), has={"spec": {"parallelism": 1, "completions": 3}})]),
    ("backoffLimitPerIndex lifts the default of backoffLimit", [
        create(job(completions=3, completionMode="Indexed", backoffLimitPerIndex=1), has={
            "spec": {"backoffLimit": 2147483647}})]),
    ("a new Job has no status, whatever was sent", [
        create({**job(), "status": {"active": 3}}, has={"status": lambda status: not (status or {}).get("active")})]),
    ("what a client may not set is set by the server", [
        create(with_meta(job(), uid="11111111-1111-1111-1111-111111111111", generation=7, creationTimestamp=BEFORE,
                         deletionTimestamp=BEFORE), has={"metadata": {
                             "uid": lambda uid: uid != "11111111-1111-1111-1111-111111111111", "generation": 1,
                             "creationTimestamp": lambda time: time != BEFORE, "deletionTimestamp": None}})]),
    ("unknown fields of a Job are dropped", [
        create({**job(unknown={"x": 1}), "odd": 1}, has={"spec": {"unknown": None}, "odd": None})]),
    ("a Job without labels shows those of its template", [
        create(job(), has={"metadata": {"labels": {"job-name": "a", "batch.kubernetes.io/controller-uid": ...}}}),
        get("${jobs}/a", has={"metadata": {"labels": {"job-name": "a", "controller-uid": ...}}, "status": {}})]),
    ("a field of the wrong type is 400", [
        create(job(parallelism="three"), 400, has=failure("BadRequest")),
        create(with_meta(job(), labels={"x": 1}), 400, has=failure("BadRequest"))]),
    ("a body that is no JSON is 400", [create("{\"apiVersion\":", 400, has=failure("BadRequest"))]),
    ("another kind than the path's is 400", [
        create({**job(), "kind": "CronJob"}, 400, has=failure("BadRequest")),
        create({**job(), "apiVersion": "batch/v2"}, 400, has=failure("BadRequest"))]),
    ("another namespace than the path's is 400", [
        create(with_meta(job(), namespace="elsewhere"), 400, has=failure("BadRequest"))]),
    ("another content type is 415", [
        create(job(), 415, type="text/plain", has={"reason": "UnsupportedMediaType"})]),
    ("a second object of the same name is AlreadyExists", [
        create(job()), create(job(), 409, has=failure("AlreadyExists", name="a", group="batch", kind="jobs"))]),
    ("in an absent namespace it is the namespace that is not found", [
        create(job(), 404, path="/apis/batch/v1/namespaces/absent-namespace/jobs", has=failure(
            "NotFound", name="absent-namespace", kind="namespaces", group=None))]),
    ("generateName is completed", [
        create({**job(), "metadata": {"generateName": "a-"}}, has={"metadata": {
            "generateName": "a-", "name": lambda name: name.startswith("a-") and len(name) == 7}})]),
    ("a dry run leaves nothing behind", [
        create(job(), path="${jobs}?dryRun=All", has={
            "metadata": {"name": "a", "uid": ..., "creationTimestamp": ..., "generation": 1, "resourceVersion": None},
            "spec": {"parallelism": 1, "selector": ...}}), get("${jobs}/a", 404),
        create(job()), patch({"spec": {"parallelism": 3}}, path="${jobs}/a?dryRun=All", has={
            "metadata": {"generation": 2}, "spec": {"parallelism": 3}}),
        delete(path="${jobs}/a?dryRun=All&propagationPolicy=Background"),
        get("${jobs}/a", has={"metadata": {"generation": 1}, "spec": {"parallelism": 1}})]),
    ("a dry run is refused as the real thing is", [
        create(job(parallelism=-1), 422, path="${jobs}?dryRun=All", causes=[("spec.parallelism", INVALID)]),
        create(job(), 404, path="/apis/batch/v1/namespaces/absent-namespace/jobs?dryRun=All", has=failure(
            "NotFound", name="absent-namespace", kind="namespaces")),
        create(job()), create(job(), 409, path="${jobs}?dryRun=All", has={"reason": "AlreadyExists"}),
        patch({"spec": {"completions": 2}}, 422, path="${jobs}/a?dryRun=All", causes=[("spec.completions", INVALID)])]),
    ("a dry run of another kind than All is refused", [
        create(job(), 422, path="${jobs}?dryRun=Odd", causes=[("dryRun", UNSUPPORTED)]),
        get("${jobs}/a", 404), create(job()), patch({}, 422, path="${jobs}/a?dryRun=Odd", causes=[
            ("dryRun", UNSUPPORTED)])]),
    ("unknown fields are refused where strictness is asked for", [
        create({**job(unknown={"x": 1}), "odd": 1}, 400, path="${jobs}?fieldValidation=Strict", has={
            **failure("BadRequest"), "message": lambda text: 'strict decoding error: ' in text and all(
                'unknown field "%s"' % field in text for field in ("spec.unknown", "odd"))}),
        create({**job(unknown={"x": 1}), "odd": 1}, 400, path="${jobs}?fieldValidation=Strict&dryRun=All"),
        create({**job(unknown={"x": 1}), "odd": 1}, path="${jobs}?dryRun=All", has={"spec": {"unknown": None}}),
        get("${jobs}/a", 404), create(job(), path="${jobs}?fieldValidation=Strict")]),
    ("a Job that is not valid is refused with its causes", [
        create(job(parallelism=-1, backoffLimit=-1), 422, causes=[
            ("spec.parallelism", INVALID), ("spec.backoffLimit", INVALID)]),
        create(job(managedBy="no-domain"), 422, causes=[("spec.managedBy", INVALID)]),
        create(job(managedBy="example.org/" + "x" * 60), 422, causes=[("spec.managedBy", TOO_LONG)]),
        create(job(completionMode="Indexed"), 201), delete(body={"propagationPolicy": "Background"}),
        create(job(completionMode="Indexed", parallelism=2), 422, causes=[("spec.completions", REQUIRED)]),
        create(job(completionMode="Odd"), 422, causes=[("spec.completionMode", UNSUPPORTED)]),
        create(job(backoffLimitPerIndex=1), 422, causes=[("spec.backoffLimitPerIndex", INVALID)]),
        create(job(completionMode="Indexed", completions=2, maxFailedIndexes=1), 422, causes=[
            ("spec.backoffLimitPerIndex", REQUIRED)]),
        create(job(completionMode="Indexed", completions=2, backoffLimitPerIndex=1, maxFailedIndexes=3), 422, causes=[
            ("spec.maxFailedIndexes", INVALID)]),
        create(job(podReplacementPolicy="Odd"), 422, causes=[("spec.podReplacementPolicy", UNSUPPORTED)]),
        create(job(template={"spec": {"containers": [{"name": "m", "image": "i"}]}}), 422, causes=[
            ("spec.template.spec.restartPolicy", REQUIRED)]),
        create(job(template={"spec": {"restartPolicy": "Never"}}), 422, causes=[
            ("spec.template.spec.containers", REQUIRED)]),
        create(with_meta(job(), name="Not_A_Name"), 422, causes=[("metadata.name", INVALID)])]),
    ("a foreign controller-uid label does not pass", [
        create(job(template={"metadata": {"labels": {"controller-uid": "x"}}, "spec": {
            "restartPolicy": "Never", "containers": [{"name": "m", "image": "i"}]}}), 422)]),
    ("labels and owners are checked", [
        create(with_meta(job(), labels={"x": "not valid"}), 422, causes=[("metadata.labels", INVALID)]),
        create(with_meta(job(), annotations={"no/t/valid": ""}), 422, causes=[("metadata.annotations", INVALID)])]),
    ("without a Job's labels the template's are taken", [
        create(job(template={"metadata": {"labels": {"x": "1"}}, "spec": {
            "restartPolicy": "Never", "containers": [{"name": "m", "image": "i"}]}}), has={
                "metadata": {"labels": {"x": "1"}}})]),
]

UPDATING = [
    ("the main endpoint ignores the status", [
        create(job()), patch({"status": {"active": 1}, "metadata": {"labels": {"x": "1"}}}, has={
            "metadata": {"labels": {"x": "1"}, "generation": 1}, "status": lambda status: not (status or {}).get("active")})]),
    ("the status endpoint ignores the spec", [
        create(job()), patch({"status": {"active": 1}, "spec": {"parallelism": 5}}, path="${jobs}/a/status", has={
            "spec": {"parallelism": 1}, "status": {"active": 1}, "metadata": {"generation": 1}})]),
    ("labels and annotations of a Job can be changed through its status endpoint", [
        create(job()), patch({"metadata": {"annotations": {"x": "1"}}}, path="${jobs}/a/status", has={
            "metadata": {"annotations": {"x": "1"}}})]),
    ("a change of the spec makes a new generation, one of the metadata does not", [
        create(job()), patch({"spec": {"parallelism": 2}}, has={"metadata": {"generation": 2}}),
        patch({"metadata": {"annotations": {"x": "1"}}}, has={"metadata": {"generation": 2}})]),
    ("a patch that changes nothing leaves the version", [
        create(with_meta(job(), labels={"x": "1"}), save={"version": "metadata.resourceVersion"}),
        patch({"spec": {"parallelism": 1}}, has={"metadata": {"resourceVersion": "${version}"}}),
        patch({}, has={"metadata": {"resourceVersion": "${version}"}}),
        set_status({}, has={"metadata": {"resourceVersion": "${version}"}})]),
    ("null takes a member away", [
        create(with_meta(job(), labels={"x": "1", "y": "1"})),
        patch({"metadata": {"labels": {"x": None}}}, has={"metadata": {"labels": {"x": None, "y": "1"}}})]),
    ("a stale resourceVersion is a Conflict", [
        create(job(), save={"version": "metadata.resourceVersion"}), patch({"metadata": {"labels": {"x": "1"}}}),
        patch({"metadata": {"resourceVersion": "${version}", "labels": {"x": "2"}}}, 409, has=failure(
            "Conflict", name="a", group="batch", kind="jobs")),
        patch({"metadata": {"resourceVersion": "${version}"}, "status": {"active": 1}}, 409, path="${jobs}/a/status",
              has=failure("Conflict", name="a", group="batch", kind="jobs"))]),
    ("the current resourceVersion is none", [
        create(job(), save={"version": "metadata.resourceVersion"}),
        patch({"metadata": {"resourceVersion": "${version}", "labels": {"x": "2"}}})]),
    ("a wrong uid is 422 in a patch", [
        create(job()),
        patch({"metadata": {"uid": "11111111-1111-1111-1111-111111111111", "labels": {"x": "1"}}}, 422, some_causes=[
            ("metadata.uid", INVALID)]),
        patch({"metadata": {"uid": "11111111-1111-1111-1111-111111111111"}, "status": {"active": 1}}, 422,
              path="${jobs}/a/status", some_causes=[("metadata.uid", INVALID)])]),
    ("the right uid is fine", [
        create(job(), save={"uid": "metadata.uid"}),
        patch({"metadata": {"uid": "${uid}"}, "status": {"active": 1}}, path="${jobs}/a/status")]),
    ("a wrong uid is a Conflict in a PUT", [
        create(job(), save={"uid": "metadata.uid", "selector": "spec.selector", "template": "spec.template"}),
        ask("PUT", "${jobs}/a", 409, with_meta(job(selector="${selector}", template="${template}"),
                                               uid="11111111-1111-1111-1111-111111111111"), has=failure(
            "Conflict", name="a", group="batch", kind="jobs"))]),
    ("a PUT replaces what it may", [
        create(job(), save={"selector": "spec.selector", "template": "spec.template"}),
        ask("PUT", "${jobs}/a", 200, with_meta(job(selector="${selector}", template="${template}", parallelism=4,
                                                   completions=1), labels={"x": "1"}), has={
            "metadata": {"labels": {"x": "1"}, "generation": 2}, "spec": {"parallelism": 4, "backoffLimit": 6}})]),
    ("a PUT or PATCH of what is not there is 404", [
        ask("PUT", "${jobs}/a", 404, job()), patch({"metadata": {"labels": {"x": "1"}}}, 404)]),
    ("a PUT with another name is 400", [
        create(job()), ask("PUT", "${jobs}/a", 400, job("b"))]),
    ("fields of a Job that are immutable", [
        create(job(completions=2)),
        patch({"spec": {"completions": 3}}, 422, causes=[("spec.completions", INVALID)]),
        patch({"spec": {"managedBy": "example.org/other"}}, 422, causes=[("spec.managedBy", INVALID)]),
        patch({"spec": {"managedBy": None}}, 422, causes=[("spec.managedBy", INVALID)]),
        patch({"spec": {"completionMode": "Indexed"}}, 422, causes=[("spec.completionMode", INVALID)]),
        patch({"spec": {"template": {"spec": {"nodeSelector": {"x": "1"}}}}}, 422, causes=[("spec.template", INVALID)]),
        patch({"spec": {"template": {"metadata": {"labels": {"x": "1"}}}}}, 422, causes=[("spec.template", INVALID)])]),
    ("fields of a Job that may change", [
        create(job(completions=2)),
        patch({"spec": {"parallelism": 3, "suspend": True, "backoffLimit": 2, "activeDeadlineSeconds": 9,
                        "ttlSecondsAfterFinished": 9}}, has={"spec": {"parallelism": 3, "suspend": True}})]),
    ("completions of an Indexed Job change together with parallelism", [
        create(job(completions=2, parallelism=2, completionMode="Indexed")),
        patch({"spec": {"completions": 3}}, 422, causes=[("spec.completions", INVALID)]),
        patch({"spec": {"completions": 3, "parallelism": 3}}, has={"spec": {"completions": 3}})]),
    ("the template of a suspended Job that never started may be directed", [
        create(job(suspend=True)),
        patch({"spec": {"template": {"metadata": {"labels": {"x": "1"}, "annotations": {"y": "1"}}, "spec": {
            "nodeSelector": {"z": "1"}, "tolerations": [{"key": "t", "operator": "Exists"}],
            "schedulingGates": [{"name": "example.org/gate"}]}}}}, has={"spec": {"template": {"spec": {
                "nodeSelector": {"z": "1"}}}}}),
        patch({"spec": {"template": {"spec": {"priorityClassName": "x"}}}}, 422)]),
    ("the template of a suspended Job that started may change once condition Suspended says so", [
        create(job(suspend=True)), set_status({"startTime": START}),
        patch({"spec": {"template": {"spec": {"nodeSelector": {"z": "1"}}}}}, 422),
        set_status({"conditions": conditions("Suspended"), "active": 1}),
        patch({"spec": {"template": {"spec": {"nodeSelector": {"z": "1"}}}}}, 422),
        set_status({"active": None}),
        patch({"spec": {"template": {"spec": {"nodeSelector": {"z": "1"}}}}})]),
    ("times and numbers that belong to the server stay", [
        create(job(), save={"then": "metadata.creationTimestamp"}),
        patch({"metadata": {"creationTimestamp": BEFORE, "generation": 7, "labels": {"x": "1"}}}, has={
            "metadata": {"creationTimestamp": "${then}", "generation": 1}}),
        patch({"metadata": {"deletionTimestamp": BEFORE}}, 422, some_causes=[("metadata.deletionTimestamp", INVALID)])]),
    ("a patch with another name or namespace than the path's is 400", [
        create(job()), patch({"metadata": {"name": "b"}}, 400), patch({"metadata": {"namespace": "b"}}, 400),
        patch("{\"a\":", 400)]),
    ("another patch type than those known is 415", [
        create(job()), patch({"metadata": {"labels": {"x": "1"}}}, 415, type="application/odd-patch+json")]),
]

STATUS = [
    ("a Job starts, runs and completes", [
        create(job()), set_status({"startTime": START, "active": 1, "ready": 0}),
        set_status({"ready": 1}), set_status({"active": 0, "ready": 0, "succeeded": 1,
                                              "conditions": conditions("SuccessCriteriaMet")}),
        set_status(COMPLETE, has={"status": {"active": None, "succeeded": 1, "completionTime": LATER}})]),
    ("it can be completed at one stroke", [create(job()), set_status(COMPLETE)]),
    ("it can fail", [create(job()), set_status(FAILED)]),
    ("counters are not negative", [
        create(job()), refuse_status({"active": -1}, ("status.active", INVALID)),
        refuse_status({"succeeded": -1}, ("status.succeeded", INVALID), ("status.succeeded", INVALID)),
        refuse_status({"failed": -1}, ("status.failed", INVALID), ("status.failed", INVALID)),
        refuse_status({"ready": -1}, ("status.ready", INVALID)),
        refuse_status({"terminating": -1}, ("status.terminating", INVALID))]),
    ("counters do not fall", [
        create(job(completions=3)), set_status({"startTime": START, "failed": 2, "succeeded": 2}),
        refuse_status({"failed": 1}, ("status.failed", INVALID)),
        refuse_status({"succeeded": None}, ("status.succeeded", INVALID))]),
    ("succeeded of an elastic Indexed Job may fall", [
        create(job(completions=3, parallelism=3, completionMode="Indexed")),
        set_status({"startTime": START, "succeeded": 2, "completedIndexes": "0,1"}),
        set_status({"succeeded": 1, "completedIndexes": "0"})]),
    ("no more pods are ready than active", [
        create(job()), refuse_status({"startTime": START, "active": 1, "ready": 2}, ("status.ready", INVALID))]),
    ("Complete needs SuccessCriteriaMet", [
        create(job()), refuse_status({**COMPLETE, "conditions": conditions("Complete")}, ("status.conditions", INVALID))]),
    ("Failed needs FailureTarget", [
        create(job()), refuse_status({**FAILED, "conditions": conditions("Failed")}, ("status.conditions", INVALID))]),
    ("Complete needs a completionTime", [
        create(job()), refuse_status({**COMPLETE, "completionTime": None}, ("status.completionTime", REQUIRED))]),
    ("completionTime needs Complete", [
        create(job()), refuse_status({"startTime": START, "completionTime": LATER}, ("status.completionTime", INVALID))]),
    ("completionTime is not before startTime", [
        create(job()), refuse_status({**COMPLETE, "completionTime": BEFORE}, ("status.completionTime", INVALID))]),
    ("completionTime stays", [
        create(job()), set_status(COMPLETE),
        refuse_status({"completionTime": "2026-01-02T05:04:05Z"}, ("status.completionTime", INVALID)),
        refuse_status({"completionTime": None}, ("status.completionTime", REQUIRED))]),
    ("a finished Job has a startTime", [
        create(job()), refuse_status({**COMPLETE, "startTime": None}, ("status.startTime", REQUIRED)),
        refuse_status({**FAILED, "startTime": None}, ("status.startTime", REQUIRED))]),
    ("a finished Job has no pods", [
        create(job()), refuse_status({**COMPLETE, "active": 1}, ("status.active", INVALID)),
        refuse_status({**COMPLETE, "terminating": 1}, ("status.terminating", INVALID)),
        refuse_status({**COMPLETE, "uncountedTerminatedPods": {"succeeded": ["u"]}},
                      ("status.uncountedTerminatedPods", INVALID))]),
    ("uncounted pods have names, once", [
        create(job()), refuse_status({"uncountedTerminatedPods": {"succeeded": ["u", ""], "failed": ["u"]}},
                                     ("status.uncountedTerminatedPods.succeeded[1]", INVALID),
                                     ("status.uncountedTerminatedPods.failed[0]", "FieldValueDuplicate"))]),
    ("what is final stays", [
        create(job()), set_status(COMPLETE),
        refuse_status({"conditions": conditions("Complete")}, ("status.conditions", INVALID), ("status.conditions", INVALID)),
        refuse_status({"conditions": conditions("SuccessCriteriaMet")}, ("status.conditions", INVALID),
                      ("status.completionTime", INVALID))]),
    ("a failed Job stays failed", [
        create(job()), set_status(FAILED),
        refuse_status({"conditions": conditions("FailureTarget")}, ("status.conditions", INVALID)),
        refuse_status({"conditions": conditions("Failed")}, ("status.conditions", INVALID))]),
    ("a Job does not both complete and fail", [
        create(job()), refuse_status({**COMPLETE, "conditions": conditions(
            "SuccessCriteriaMet", "FailureTarget", "Complete", "Failed")}, *[("status.conditions", INVALID)] * 4)]),
    ("SuccessCriteriaMet and FailureTarget exclude each other", [
        create(job()), set_status({"startTime": START, "conditions": conditions("FailureTarget")}),
        refuse_status({"conditions": conditions("FailureTarget", "SuccessCriteriaMet")}, ("status.conditions", INVALID))]),
    ("startTime stays while the Job is not suspended", [
        create(job()), set_status({"startTime": START}), refuse_status({"startTime": LATER}, ("status.startTime", INVALID)),
        refuse_status({"startTime": None}, ("status.startTime", INVALID))]),
    ("startTime of a suspended Job can be reset", [
        create(job()), set_status({"startTime": START}), patch({"spec": {"suspend": True}}),
        set_status({"startTime": None, "conditions": conditions("Suspended")})]),
    ("startTime changes when a Job is resumed", [
        create(job(suspend=True)), set_status({"startTime": START, "conditions": conditions("Suspended")}),
        patch({"spec": {"suspend": False}}), refuse_status({"startTime": LATER}, ("status.startTime", INVALID)),
        set_status({"startTime": LATER, "conditions": [condition("Suspended", "False")]})]),
    ("index lists are well-formed", [
        create(job(completions=5, parallelism=2, completionMode="Indexed", backoffLimitPerIndex=1)),
        set_status({"startTime": START, "completedIndexes": "0,2-3", "failedIndexes": "1"}),
        *[refuse_status({"completedIndexes": text}, ("status.completedIndexes", INVALID))
          for text in ("5", "0-5", "a", "3,2", "3-2", "0-1-2", "0,,2", "2,2", "0-")],
        refuse_status({"failedIndexes": "7"}, ("status.failedIndexes", INVALID)),
        refuse_status({"failedIndexes": "2"}, ("status.failedIndexes", INVALID))]),
    ("a Job that is not Indexed has no index lists", [
        create(job()), refuse_status({"completedIndexes": "0"}, ("status.completedIndexes", INVALID)),
        refuse_status({"failedIndexes": ""}, ("status.failedIndexes", INVALID))]),
    ("a status that breaks no rule of what it changes passes", [
        create(job(completions=5, parallelism=5, completionMode="Indexed")),
        set_status({"startTime": START, "completedIndexes": "0-4"}),
        patch({"spec": {"completions": 2, "parallelism": 2}}), set_status({"active": 1})]),
    ("times are put into the server's form", [
        create(job()), set_status({"startTime": "2026-01-02T05:04:05.6+02:00"}, has={"status": {"startTime": START}})]),
    ("zeros vanish where the type says so", [
        create(job()), set_status({"active": 0, "succeeded": 0, "failed": 0, "ready": 0, "terminating": 0}, has={
            "status": {"active": None, "succeeded": None, "failed": None, "ready": 0, "terminating": 0}})]),
    ("a status of the wrong type is refused", [
        create(job()), set_status({"active": "1"}, 422, causes=[("patch", INVALID)], has={"details": {"name": None}})]),
]

DELETING = [
    ("an object that is gone is 404", [delete(404, has=failure("NotFound", name="a", group="batch", kind="jobs"))]),
    ("a delete in the background is a Success", [
        create(job(), save={"uid": "metadata.uid"}), delete(body={"propagationPolicy": "Background"}, has={
            "kind": "Status", "status": "Success", "details": {"name": "a", "kind": "jobs", "uid": "${uid}"}}),
        get("${jobs}/a", 404)]),
    ("preconditions are kept", [
        create(job(), save={"uid": "metadata.uid", "version": "metadata.resourceVersion"}),
        delete(409, {"preconditions": {"uid": "11111111-1111-1111-1111-111111111111"}}, has=failure(
            "Conflict", name="a", group="batch", kind="Job")),
        delete(409, {"preconditions": {"resourceVersion": "1"}}, has=failure(
            "Conflict", name="a", group="batch", kind="Job")),
        delete(200, {"propagationPolicy": "Background", "preconditions": {"uid": "${uid}", "resourceVersion": "${version}"}})]),
    ("without a policy a Job waits for its pods to be orphaned", [
        create(job()), delete(has={"kind": "Job", "metadata": {
            "deletionTimestamp": ..., "deletionGracePeriodSeconds": 0, "finalizers": ["orphan"], "generation": 2}})]),
    ("in the foreground it waits for its dependents", [
        create(job()), delete(body={"propagationPolicy": "Foreground"}, has={"metadata": {
            "deletionTimestamp": ..., "finalizers": ["foregroundDeletion"]}})]),
    ("a finalizer keeps an object, and its removal lets it go", [
        create(with_meta(job(), finalizers=["example.org/keep"])),
        delete(body={"propagationPolicy": "Background"}, has={"metadata": {
            "deletionTimestamp": ..., "finalizers": ["example.org/keep"]}}),
        patch({"metadata": {"finalizers": ["example.org/keep", "example.org/more"]}}, 422, some_causes=[
            ("metadata.finalizers", FORBIDDEN)]),
        set_status({"active": 1}),
        patch({"metadata": {"finalizers": None}}), get("${jobs}/a", 404)]),
    ("the query's policy counts when there is no body", [
        create(job()), delete(path="${jobs}/a?propagationPolicy=Background", has={"status": "Success"})]),
    ("an unknown policy is 422", [create(job()), delete(422, {"propagationPolicy": "Odd"}, causes=[
        ("propagationPolicy", UNSUPPORTED)])]),
]

OTHERS = [
    ("an Event is checked and stored", [
        create({"metadata": {"name": "e"}, "eventTime": "2026-01-02T03:04:05.000000Z", "type": "Normal",
                "reason": "Placed", "action": "Place", "reportingController": "example.org/contract",
                "reportingInstance": "contract-1", "note": "placed", "regarding": {
                    "kind": "Job", "namespace": "${ns}", "name": "a"}}, path="${events}", has={"metadata": {"name": "e"}}),
        patch({"series": {"count": 2, "lastObservedTime": "2026-01-02T03:04:06.000000Z"}}, path="${events}/e"),
        patch({"reason": "Other"}, 422, path="${events}/e"),
        create({"metadata": {"name": "f"}, "eventTime": "2026-01-02T03:04:05.000000Z", "type": "Odd",
                "reportingController": "example.org/contract", "reportingInstance": "i", "reason": "R",
                "regarding": {"namespace": "${ns}"}}, 422, path="${events}"),
        create({"metadata": {"name": "f"}, "eventTime": "2026-01-02T03:04:05Z"}, 400, path="${events}")]),
    ("a review says what is allowed", [
        create({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {
            "resourceAttributes": {"verb": "create", "group": "batch", "resource": "jobs"}}},
               path="/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", has={"status": {"allowed": True}})]),
    ("a Lease is written with its version", [
        create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {
            "holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2026-01-02T03:04:05.000000Z"}},
               path="/apis/coordination.k8s.io/v1/namespaces/${ns}/leases",
               save={"version": "metadata.resourceVersion"}),
        patch({"metadata": {"resourceVersion": "1"}, "spec": {"holderIdentity": "b"}}, 409,
              path="/apis/coordination.k8s.io/v1/namespaces/${ns}/leases/l"),
        patch({"metadata": {"resourceVersion": "${version}"}, "spec": {"holderIdentity": "b"}},
              path="/apis/coordination.k8s.io/v1/namespaces/${ns}/leases/l", has={"spec": {"leaseDurationSeconds": 15}})]),
    ("a namespace that is going takes nothing new", [
        delete(path="/api/v1/namespaces/${ns}", has={"status": {"phase": "Terminating"}}),
        create(job(), 403, causes=[("metadata.namespace", "NamespaceTerminating")], has={"reason": "Forbidden"})]),
    ("methods that a path does not have are 405", [
        ask("PUT", "${jobs}", 405, job()), ask("POST", "${jobs}/a", 405, job()),
        ask("POST", "/apis/batch/v1/jobs", 405, job())]),
]

CASES = READING + FORMS + WATCHING + CREATING + UPDATING + STATUS + DELETING + OTHERS
