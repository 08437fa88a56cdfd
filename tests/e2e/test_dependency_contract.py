# SPDX-License-Identifier: Apache-2.0
"""The assumptions about API servers and controllers on which copies rest, without a host: the contents that compare as equal, the
changes and deletions that are possible, and how far rights to single names reach."""
import http.client
import json

import crds
import kube
import needs
from compare import differences
from crowd import in_crowd
from skip import Skip
from wait import until

_ADDED = "metadata", "kind", "apiVersion"
_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_ONE = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


def _refused(codes, call, *args, **more):
    try:
        call(*args, **more)
    except kube.ApiError as error:
        assert error.code in codes, error
        return error
    raise AssertionError(f"{call.__name__}{args} was accepted")


def _added(client, namespace, plural, body):
    """[(path, value)] of what the server adds to an object or changes in it, without its identity."""
    made = client.create(plural, namespace, body)
    return made, [(path, found) for path, found, _ in differences({key: made[key] for key in made if key not in _ADDED},
                                                                 {key: body[key] for key in body if key not in _ADDED})]


@in_crowd
def servers_add_nothing_to_configmaps_secrets_and_accounts_and_defaults_to_others(env):
    client = env.workers[0].admin
    for plural, bodies in needs.sources("the").items():
        for body in bodies:
            made, added = _added(client, env.namespace, plural, body)
            expected = {"secrets": [] if "type" in body else [("/type", "Opaque")],
                        "persistentvolumeclaims": [("/spec/volumeMode", "Filesystem"), ("/status", {"phase": "Pending"})]}
            assert added == expected.get(plural, []), f"{plural}: {added}"
            if plural == "persistentvolumeclaims":
                assert made["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"], made
    kube.know("resourceclaimtemplates", "resource.k8s.io/v1")
    _, added = _added(client, env.namespace, "resourceclaimtemplates", {"metadata": {"name": "gpu"}, "spec": {"spec": {"devices": {
        "requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}}}})
    start = "/spec/spec/devices/requests/0/exactly/"
    assert added == [("/spec/metadata", {}), (start + "allocationMode", "ExactCount"), (start + "count", 1)], added


@in_crowd
def controllers_leave_accounts_and_the_objects_of_others_alone(env):
    """The account's token is made on request, in a Secret that names it; the account does not name the Secret."""
    client = env.workers[0].admin
    made = client.create("serviceaccounts", env.namespace, needs.account("robot", "pull"))
    client.create("secrets", env.namespace, {"metadata": {"name": "token", "annotations": {"kubernetes.io/service-account.name": "robot"}},
                                             "type": "kubernetes.io/service-account-token"})
    until(lambda: "token" in client.get("secrets", env.namespace, "token").get("data", {}), "the token to be made")
    assert client.get("serviceaccounts", env.namespace, "robot") == made
    for plural, name in (("serviceaccounts", "default"), ("configmaps", "kube-root-ca.crt")):
        until(lambda plural=plural, name=name: client.find(plural, env.namespace, name), f"{name} to be made in each namespace")


@in_crowd
def immutable_contents_take_marks_but_no_other_content(env):
    client = env.workers[0].admin
    for plural, body in (("configmaps", needs.configmap("fixed", a="1")), ("secrets", needs.secret("fixed", a="1"))):
        client.create(plural, env.namespace, {**body, "immutable": True})
        for patch in ({"data": {"a": "Mg=="}}, {"immutable": None}):
            _refused((422,), client.patch, plural, env.namespace, "fixed", patch)
        client.patch(plural, env.namespace, "fixed", {"metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}}})
    _refused((422,), client.patch, "secrets", env.namespace, "fixed", {"type": "example.com/other"})
    client.create("persistentvolumeclaims", env.namespace, needs.claim("fixed"))
    _refused((422,), client.patch, "persistentvolumeclaims", env.namespace, "fixed", {"spec": {"accessModes": ["ReadOnlyMany"]}})


@in_crowd
def preconditions_protect_the_objects_of_others(env):
    client = env.workers[0].admin
    made = client.create("configmaps", env.namespace, needs.configmap("c", a="1"))["metadata"]
    newer = client.patch("configmaps", env.namespace, "c", {"data": {"a": "2"}})["metadata"]
    path = kube.path_of("configmaps", env.namespace, "c")
    for uid, version in ((made["uid"], made["resourceVersion"]), ("another", newer["resourceVersion"])):
        _refused((409,), client.call, "DELETE", path, {"preconditions": {"uid": uid, "resourceVersion": version}})
    _refused((409,), client.patch, "configmaps", env.namespace, "c", {"metadata": {"resourceVersion": made["resourceVersion"]}, "data": {"a": "3"}})
    _refused((409, 422), client.patch, "configmaps", env.namespace, "c", {"metadata": {"uid": "another"}, "data": {"a": "3"}})
    client.call("DELETE", path, {"preconditions": {"uid": newer["uid"], "resourceVersion": newer["resourceVersion"]}})
    _refused((404,), client.call, "DELETE", path, {"preconditions": {"uid": newer["uid"]}})


@in_crowd
def a_claim_in_use_keeps_its_name_after_its_deletion_and_admission_looks_for_what_pods_name(env):
    client = env.workers[0].admin
    needs.create(client, env.namespace, {"persistentvolumeclaims": [needs.claim("p")], "secrets": [needs.secret("s")], "serviceaccounts": [
        {"metadata": {"name": "strict", "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}}]})
    until(lambda: client.find("serviceaccounts", env.namespace, "default"), "the account of pods that name none")
    pod = {"metadata": {"name": "user", "annotations": {"e2e.wharf.dev/hold": "all"}}, "spec": {"containers": [{
        "name": "main", "image": "example.invalid/none"}], "volumes": [{"name": "p", "persistentVolumeClaim": {"claimName": "p"}}]}}
    client.create("pods", env.namespace, pod)
    until(lambda: client.get("pods", env.namespace, "user")["status"]["phase"] == "Running", "the pod to run")
    client.delete("persistentvolumeclaims", env.namespace, "p")
    assert client.get("persistentvolumeclaims", env.namespace, "p")["metadata"]["deletionTimestamp"]
    _refused((409,), client.create, "persistentvolumeclaims", env.namespace, needs.claim("p"))
    client.delete("pods", env.namespace, "user", grace=0)
    until(lambda: not client.find("persistentvolumeclaims", env.namespace, "p"), "the claim to be gone")
    secret = {"volumes": [{"name": "s", "secret": {"secretName": "s"}}]}
    for more in ({"serviceAccountName": "absent"}, {"priorityClassName": "absent"}, {"runtimeClassName": "absent"},
                 # The account names no Secrets, as copies do not.
                 {"serviceAccountName": "strict", **secret}):
        _refused((403,), client.create, "pods", env.namespace, {"metadata": {"name": "other"}, "spec": {
            "containers": pod["spec"]["containers"], **more}})


@in_crowd
def rights_to_one_name_suffice_to_list_and_watch_its_metadata(env):
    worker = env.workers[0]
    rules = [{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mine"], "verbs": ["get", "list", "watch"]}]
    start = "rbac.authorization.k8s.io"
    worker.admin.create("roles", env.namespace, {"metadata": {"name": "reader"}, "rules": rules})
    worker.admin.create("rolebindings", env.namespace, {
        "metadata": {"name": "reader"}, "roleRef": {"apiGroup": start, "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": start, "kind": "User", "name": "reader"}]})
    needs.create(worker.admin, env.namespace, {"secrets": [needs.secret("mine", a="hidden"), needs.secret("other")]})
    path, context = kube.path_of("secrets", env.namespace), kube.Client(
        worker.port, worker.authority.certificate, *worker.authority.client("reader", "reader")).context

    def get(what, accept):
        connection = http.client.HTTPSConnection("127.0.0.1", worker.port, context=context, timeout=20)
        try:
            connection.request("GET", what, headers={"Accept": accept})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()
    mine = path + "?fieldSelector=metadata.name%3Dmine"
    until(lambda: get(mine, _LIST)[0] == 200, "the rights to be in force")
    (_, listed), (_, watched), (_, one) = get(mine, _LIST), get(mine + "&watch=true&timeoutSeconds=1", _ONE), get(path + "/mine", _ONE)
    assert [each["metadata"]["name"] for each in json.loads(listed)["items"]] == ["mine"], listed
    assert json.loads(watched.splitlines()[0])["object"]["metadata"]["name"] == "mine", watched
    assert not [text for text in (listed, watched, one) if needs.encoded("hidden").encode() in text]
    assert [get(what, _LIST)[0] for what in (path, path + "?fieldSelector=metadata.name%3Dother")] == [403, 403]
    # The requests of the host's watch: a page, the proof of a version, and a streaming list.
    version = json.loads(listed)["metadata"]["resourceVersion"]
    stream = "&watch=true&allowWatchBookmarks=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    proof = f"&limit=1&resourceVersionMatch=NotOlderThan&resourceVersion={version}"
    assert [get(mine + more, accept)[0] for more, accept in (("&limit=500", _LIST), (proof, _LIST), (stream, _ONE))] == [200] * 3
    assert [get(what + stream, _ONE)[0] for what in (path + "?", path + "?fieldSelector=metadata.name%3Dother")] == [403, 403]


@in_crowd
def definitions_of_runtimes_and_pipelines_add_only_their_defaults(env):
    client = env.workers[0].admin
    known = {("trainer.kubeflow.org", "trainingruntimes", "v1alpha1"): {
        "spec": {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"spec": {"containers": [
            {"name": "node", "image": "example.invalid/none"}]}}}}}]}}}},
             ("tekton.dev", "pipelines", "v1"): {"spec": {"tasks": [{"name": "one", "taskRef": {"name": "task"}}]}},
             ("tekton.dev", "tasks", "v1"): {"spec": {"steps": [{"name": "one", "image": "example.invalid/none", "script": "true"}]}}}
    paths = {each: crds.path_of(*each[:2]) for each in known}
    if not all(paths.values()):
        raise Skip(f"there is no definition of {next(each[1] for each, path in paths.items() if not path)}")
    crds.install([client], {path: version for (_, _, version), path in paths.items()})
    for (group, plural, version), body in known.items():
        kube.know(plural, f"{group}/{version}")
        _, added = _added(client, env.namespace, plural, {"metadata": {"name": "one"}, **body,
                                                          "apiVersion": f"{group}/{version}", "kind": _kind(client, group, plural)})
        assert all(path.startswith("/spec/") for path, _ in added), added


def _kind(client, group, plural):
    return client.get("customresourcedefinitions", None, f"{plural}.{group}")["spec"]["names"]["kind"]
