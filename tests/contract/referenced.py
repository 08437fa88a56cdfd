# SPDX-License-Identifier: Apache-2.0
"""As table.py, for the objects that pods refer to."""
import base64

from table import (FORBIDDEN, INVALID, META, PART, PARTS, REQUIRED, TOO_LONG, UNSUPPORTED, create, delete, failure, get,
                   patch, with_meta)

MAPS, SECRETS = "/api/v1/namespaces/${ns}/configmaps", "/api/v1/namespaces/${ns}/secrets"
ACCOUNTS, CLAIMS = "/api/v1/namespaces/${ns}/serviceaccounts", "/api/v1/namespaces/${ns}/persistentvolumeclaims"
PRIORITIES, RUNTIMES = "/apis/scheduling.k8s.io/v1/priorityclasses", "/apis/node.k8s.io/v1/runtimeclasses"
FINALIZER = "kubernetes.io/pvc-protection"


def b64(text):
    return base64.b64encode(text.encode()).decode()


def config(name="a", **members):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **members}


def secret(name="a", **members):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, **members}


def account(name="a", **members):
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}, **members}


def claim(name="a", **spec):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": {
        "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}},
        **spec}}


def priority(**members):
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "${ns}"}, "value": 10,
            **members}


def runtime(handler="runc"):
    return {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "${ns}"}, "handler": handler}


def refuse(body, path, *causes):
    return create(body, 422, path=path, causes=list(causes), has={"reason": "Invalid"})


CONFIG_MAPS = [
    ("a ConfigMap is stored as it is, without a generation", [
        create(config(data={"k": "v"}, binaryData={"b": "AAE="}), path=MAPS, has={
            "metadata": {"name": "a", "uid": ..., "resourceVersion": ..., "generation": None}, "status": None,
            "data": {"k": "v"}, "binaryData": {"b": "AAE="}, "immutable": None, "spec": None}),
        get(f"{MAPS}/a/status", 404)]),
    ("empty maps of a ConfigMap are not there, and unknown fields are dropped", [
        create(config(data={}, odd=1), path=MAPS, has={"data": None, "odd": None})]),
    ("keys of a ConfigMap are checked", [
        refuse(config(data={"a/b": "v"}), MAPS, ("data[a/b]", INVALID)),
        refuse(config(data={"..a": "v"}), MAPS, ("data[..a]", INVALID)),
        refuse(config(data={"k": "v"}, binaryData={"k": "AAE="}), MAPS, ("data[k]", INVALID)),
        create(config(data={"k": 1}), 400, path=MAPS, has=failure("BadRequest")),
        create(config(binaryData={"k": "?"}), 400, path=MAPS, has=failure("BadRequest")),
        create(config(data={"a.b-c_D": "v"}), path=MAPS)]),
    ("a ConfigMap has at most 1 MiB", [create(config(data={"k": "x" * ((1 << 20) + 1)}), 422, path=MAPS, some_causes=[
        ("[]", TOO_LONG)])]),
    ("data changes by merge patch, with a new version", [
        create(config(data={"k": "v"}), path=MAPS, save={"version": "metadata.resourceVersion"}),
        patch({"data": {"l": "w"}}, path=f"{MAPS}/a", has={
            "data": {"k": "v", "l": "w"}, "metadata": {"resourceVersion": lambda version: version}}),
        patch({"data": {"k": None}}, path=f"{MAPS}/a", has={"data": {"k": None, "l": "w"}}),
        patch({"metadata": {"resourceVersion": "${version}"}, "data": {"l": "x"}}, 409, path=f"{MAPS}/a"),
        patch({"metadata": {"uid": "11111111-1111-1111-1111-111111111111"}, "data": {"l": "x"}}, 422,
              path=f"{MAPS}/a", some_causes=[("metadata.uid", INVALID)])]),
    ("an immutable ConfigMap keeps its content, and its labels may change", [
        create(config(data={"k": "v"}, immutable=True), path=MAPS),
        patch({"data": {"k": "w"}}, 422, path=f"{MAPS}/a", causes=[("data", FORBIDDEN)]),
        patch({"binaryData": {"b": "AAE="}}, 422, path=f"{MAPS}/a", causes=[("binaryData", FORBIDDEN)]),
        patch({"immutable": False}, 422, path=f"{MAPS}/a", causes=[("immutable", FORBIDDEN)]),
        patch({"immutable": None, "data": {"k": "w"}}, 422, path=f"{MAPS}/a", causes=[
            ("immutable", FORBIDDEN), ("data", FORBIDDEN)]),
        patch({"metadata": {"labels": {"x": "1"}}}, path=f"{MAPS}/a", has={"metadata": {"labels": {"x": "1"}}})]),
    ("a ConfigMap becomes immutable", [
        create(config(data={"k": "v"}), path=MAPS), patch({"immutable": True}, path=f"{MAPS}/a"),
        patch({"data": {"k": "w"}}, 422, path=f"{MAPS}/a", causes=[("data", FORBIDDEN)])]),
    ("a ConfigMap goes at once, by its preconditions", [
        create(config(), path=MAPS, save={"uid": "metadata.uid", "version": "metadata.resourceVersion"}),
        patch({"data": {"k": "v"}}, path=f"{MAPS}/a"),
        delete(409, {"preconditions": {"uid": "${uid}", "resourceVersion": "${version}"}}, path=f"{MAPS}/a"),
        delete(409, {"preconditions": {"uid": "11111111-1111-1111-1111-111111111111"}}, path=f"{MAPS}/a"),
        delete(200, {"preconditions": {"uid": "${uid}"}}, path=f"{MAPS}/a", has={"status": "Success"}),
        get(f"{MAPS}/a", 404, has=failure("NotFound", name="a", kind="configmaps"))]),
]

SECRET_CASES = [
    ("a Secret is Opaque, and stringData becomes data", [
        create(secret(data={"k": b64("v")}, stringData={"k": "w", "l": "x"}), path=SECRETS, has={
            "type": "Opaque", "stringData": None, "data": {"k": b64("w"), "l": b64("x")}}),
        patch({"stringData": {"k": "y"}}, path=f"{SECRETS}/a", has={
            "stringData": None, "data": {"k": b64("y"), "l": b64("x")}})]),
    ("data of a Secret is base64", [create(secret(data={"k": "?"}), 400, path=SECRETS, has=failure("BadRequest"))]),
    ("keys of a Secret are checked", [refuse(secret(stringData={"a/b": "v"}), SECRETS, ("data[a/b]", INVALID))]),
    ("the type of a Secret stays", [
        create(secret(stringData={"k": "v"}), path=SECRETS),
        patch({"type": "example.org/odd"}, 422, path=f"{SECRETS}/a", causes=[("type", INVALID)])]),
    ("a Secret has what its type asks for", [
        refuse(secret(type="kubernetes.io/tls", stringData={"tls.crt": "c"}), SECRETS, ("data[tls.key]", REQUIRED)),
        refuse(secret(type="kubernetes.io/basic-auth"), SECRETS, ("data[username]", REQUIRED),
               ("data[password]", REQUIRED)),
        refuse(secret(type="kubernetes.io/ssh-auth"), SECRETS, ("data[ssh-privatekey]", REQUIRED)),
        refuse(secret(type="kubernetes.io/dockerconfigjson"), SECRETS, ("data[.dockerconfigjson]", REQUIRED)),
        refuse(secret(type="kubernetes.io/dockerconfigjson", stringData={".dockerconfigjson": "{"}), SECRETS,
               ("data[.dockerconfigjson]", INVALID)),
        refuse(secret(type="kubernetes.io/service-account-token"), SECRETS,
               ("metadata.annotations[kubernetes.io/service-account.name]", REQUIRED)),
        create(secret(type="kubernetes.io/dockerconfigjson", stringData={".dockerconfigjson": "{}"}), path=SECRETS),
        create(secret("b", type="example.org/odd"), path=SECRETS, has={"type": "example.org/odd"})]),
    ("an immutable Secret keeps its content", [
        create(secret(stringData={"k": "v"}, immutable=True), path=SECRETS),
        patch({"stringData": {"k": "w"}}, 422, path=f"{SECRETS}/a", causes=[("data", FORBIDDEN)]),
        patch({"immutable": False}, 422, path=f"{SECRETS}/a", causes=[("immutable", FORBIDDEN)]),
        patch({"metadata": {"annotations": {"x": "1"}}}, path=f"{SECRETS}/a")]),
]

ACCOUNT_CASES = [
    ("a ServiceAccount is stored as it is", [
        create(account(imagePullSecrets=[{"name": "s"}], automountServiceAccountToken=False), path=ACCOUNTS, has={
            "imagePullSecrets": [{"name": "s"}], "automountServiceAccountToken": False, "secrets": None,
            "metadata": {"generation": None}}),
        patch({"secrets": [{"name": "t"}]}, path=f"{ACCOUNTS}/a", has={
            "secrets": [{"name": "t"}], "imagePullSecrets": [{"name": "s"}]}),
        patch({"imagePullSecrets": []}, path=f"{ACCOUNTS}/a", has={"imagePullSecrets": None})]),
]

CLAIM_CASES = [
    # The tests' API servers have no admission plugin StorageObjectInUseProtection, which adds the finalizer.
    ("a claim gets its defaults", [
        create(claim(), path=CLAIMS, has={
            "metadata": {"generation": None}, "status": {"phase": "Pending"}, "spec": {
                "volumeMode": "Filesystem", "accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}})]),
    ("a claim is checked", [
        refuse(claim(accessModes=[]), CLAIMS, ("spec.accessModes", REQUIRED)),
        refuse(claim(accessModes=["Odd"]), CLAIMS, ("spec.accessModes", UNSUPPORTED)),
        refuse(claim(resources={}), CLAIMS, ("spec.resources[storage]", REQUIRED)),
        refuse(claim(storageClassName="Not_A_Name"), CLAIMS, ("spec.storageClassName", INVALID))]),
    ("the spec of a claim stays, but for its volume", [
        create(claim(), path=CLAIMS),
        patch({"spec": {"storageClassName": "slow"}}, 422, path=f"{CLAIMS}/a", some_causes=[("spec", FORBIDDEN)]),
        patch({"spec": {"resources": {"requests": {"storage": "2Gi"}}}}, 422, path=f"{CLAIMS}/a", some_causes=[
            ("spec", FORBIDDEN)]),
        patch({"spec": {"volumeName": "v"}}, path=f"{CLAIMS}/a", has={"spec": {"volumeName": "v"}}),
        patch({"spec": {"volumeName": "w"}}, 422, path=f"{CLAIMS}/a", some_causes=[("spec", FORBIDDEN)]),
        patch({"metadata": {"labels": {"x": "1"}}}, path=f"{CLAIMS}/a")]),
    ("a deleted claim stays until its finalizer is gone, and its name is taken", [
        create(with_meta(claim(), finalizers=[FINALIZER]), path=CLAIMS),
        delete(path=f"{CLAIMS}/a", has={"metadata": {"deletionTimestamp": ..., "finalizers": [FINALIZER]}}),
        create(claim(), 409, path=CLAIMS, has={"reason": "AlreadyExists"}),
        patch({"metadata": {"finalizers": None}}, path=f"{CLAIMS}/a"), get(f"{CLAIMS}/a", 404)]),
]

CLASS_CASES = [
    ("a PriorityClass keeps its value", [
        create(priority(), path=PRIORITIES, has={
            "value": 10, "preemptionPolicy": "PreemptLowerPriority", "metadata": {"generation": 1, "namespace": None}}),
        patch({"value": 11}, 422, path=PRIORITIES + "/${ns}", causes=[("value", FORBIDDEN)]),
        patch({"preemptionPolicy": "Never"}, 422, path=PRIORITIES + "/${ns}", causes=[("preemptionPolicy", INVALID)]),
        patch({"description": "x"}, path=PRIORITIES + "/${ns}", has={"description": "x", "value": 10}),
        delete(path=PRIORITIES + "/${ns}", has={"status": "Success"})]),
    ("a PriorityClass is checked", [
        refuse(priority(value=1000000001), PRIORITIES, ("value", FORBIDDEN)),
        refuse(with_meta(priority(), name="system-${ns}"), PRIORITIES, ("metadata.name", FORBIDDEN))]),
    ("a RuntimeClass keeps its handler", [
        create(runtime(), path=RUNTIMES, has={"handler": "runc"}),
        patch({"handler": "other"}, 422, path=RUNTIMES + "/${ns}", some_causes=[("handler", INVALID)]),
        delete(path=RUNTIMES + "/${ns}", has={"status": "Success"}),
        create(runtime("Not_A_Label"), 422, path=RUNTIMES, some_causes=[("handler", INVALID)])]),
]

BY_NAME = "?fieldSelector=metadata.name%3Da"

FORMS = [
    ("metadata of one object is listed by its name", [
        create(config(data={"k": "v"}), path=MAPS), create(config("b"), path=MAPS),
        get(MAPS + BY_NAME, accept=PARTS, has={"kind": "PartialObjectMetadataList", "items": [
            {**META, "metadata": {"name": "a", "resourceVersion": ...}, "data": None}]}),
        get(f"{MAPS}/a", accept=PART, has={**META, "metadata": {"name": "a"}, "data": None}),
        get("/api/v1/configmaps" + BY_NAME + "%2Cmetadata.namespace%3D${ns}", accept=PARTS, has={"items": [
            {**META, "metadata": {"name": "a", "namespace": "${ns}"}, "data": None}]})]),
    ("a watch of one object's metadata tells of no other", [
        get(SECRETS, save={"version": "metadata.resourceVersion"}),
        create(secret("b", stringData={"k": "v"}), path=SECRETS),
        create(secret(stringData={"k": "v"}), path=SECRETS), patch({"stringData": {"k": "w"}}, path=f"{SECRETS}/a"),
        delete(path=f"{SECRETS}/a"), create(secret(), path=SECRETS),
        {"watch": SECRETS + BY_NAME + "&watch=true&resourceVersion=${version}&timeoutSeconds=5", "events": 4,
         "accept": PART, "status": 200, "has": [
             {"type": kind, "object": {**META, "metadata": {"name": "a"}, "data": None, "type": None}}
             for kind in ("ADDED", "MODIFIED", "DELETED", "ADDED")]}]),
    ("a streaming list of one object that is not there is a bookmark alone", [
        create(config("b"), path=MAPS),
        {"watch": MAPS + BY_NAME + "&watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                  "&allowWatchBookmarks=true&timeoutSeconds=5", "accept": PART, "events": 1, "status": 200, "has": [
                      {"type": "BOOKMARK", "object": {**META, "metadata": {
                          "resourceVersion": ..., "annotations": {"k8s.io/initial-events-end": "true"}}}}]}]),
]

CASES = CONFIG_MAPS + SECRET_CASES + ACCOUNT_CASES + CLAIM_CASES + CLASS_CASES + FORMS
