# SPDX-License-Identifier: Apache-2.0
"""What Kueue needs in the clusters. Its CRDs, its role and its webhooks are those of its own repository, from the folder
config/components, whose YAML the API server reads; the queues and a worker's permissions are as in its documentation."""
import base64
import glob
import json
import os
import re

import crds
import kube

NAMESPACE, VERSION, QUEUE = "kueue-system", "kueue.x-k8s.io/v1beta2", "benchmark"
_RBAC = "rbac.authorization.k8s.io"
# Of the many webhooks only those for Jobs and for Kueue's own kinds: no other integration is enabled.
_OF_JOBS = re.compile(r"path: (\S*-batch-v1-job|\S*-kueue-x-k8s-io-\S*)$", re.MULTILINE)
_SERVICE = re.compile(r"service:\n +name: \S+\n +namespace: \S+\n +path: (\S+)")
# The Jobs request nothing, so each one takes a pod of the quota.
_COVERED = {"cpu": "100k", "memory": "100Ti", "pods": "100k"}
# As the script of Kueue's documentation grants them, for Jobs.
_REMOTE = [("batch", ["jobs"], ["create", "delete", "get", "list", "watch"]), ("batch", ["jobs/status"], ["get"]),
           ("kueue.x-k8s.io", ["workloads"], ["create", "delete", "get", "list", "watch", "update", "patch"]),
           ("kueue.x-k8s.io", ["workloads/status"], ["get", "patch", "update"]),
           ("kueue.x-k8s.io", ["clusterqueues", "localqueues"], ["get", "list", "watch"])]
_SECRETS = [("", ["secrets"], ["get", "list", "update", "watch"])]

for _plural in ("resourceflavors", "clusterqueues", "admissionchecks", "multikueueconfigs", "multikueueclusters"):
    kube.know(_plural, VERSION, namespaced=False)
for _plural in ("localqueues", "workloads"):
    kube.know(_plural, VERSION)
for _plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
    kube.know(_plural, "admissionregistration.k8s.io/v1", namespaced=False)


def _read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def _apply(client, plural, namespace, api_version, kind, name, **more):
    body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **more}
    client.apply_yaml(plural, namespace, name, json.dumps(body))


def _grant(client, user, rules, namespace=None):
    kind = "Role" if namespace else "ClusterRole"
    _apply(client, kind.lower() + "s", namespace, _RBAC + "/v1", kind, user + "-bench", rules=[
        {"apiGroups": [group], "resources": resources, "verbs": verbs} for group, resources, verbs in rules])
    _bind(client, user, kind, user + "-bench", namespace)


def _bind(client, user, kind, role, namespace=None):
    bound = ("Role" if namespace else "ClusterRole") + "Binding"
    _apply(client, bound.lower() + "s", namespace, _RBAC + "/v1", bound, f"{user}-{role}",
           roleRef={"apiGroup": _RBAC, "kind": kind, "name": role},
           subjects=[{"apiGroup": _RBAC, "kind": "User", "name": user}])


def install(clusters, components):
    """CRDs, namespace and permissions."""
    files = glob.glob(os.path.join(components, "crd", "bases", "*.yaml"))
    crds.install([cluster.admin for cluster in clusters.all], dict.fromkeys(files, "v1beta2"))
    for cluster in clusters.all:
        cluster.admin.create("namespaces", None, {"metadata": {"name": NAMESPACE}})
        cluster.admin.apply_yaml("clusterroles", None, "manager-role",
                                 _read(os.path.join(components, "rbac", "role.yaml")))
        _bind(cluster.admin, "kueue", "ClusterRole", "manager-role")
        _grant(cluster.admin, "kueue", _SECRETS, NAMESPACE)
    for worker in clusters.workers:
        _grant(worker.admin, "multikueue", _REMOTE)


def queues(cluster, workers=()):
    """A ClusterQueue that has room for everything. `workers`: those that this cluster sends its workloads to."""
    client = cluster.admin
    _apply(client, "resourceflavors", None, VERSION, "ResourceFlavor", QUEUE, spec={})
    spec = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": list(_COVERED), "flavors": [
        {"name": QUEUE, "resources": [{"name": name, "nominalQuota": quota} for name, quota in _COVERED.items()]}]}]}
    if workers:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": QUEUE}]}
        for worker in workers:
            _apply(client, "secrets", NAMESPACE, "v1", "Secret", worker.name,
                   data={"kubeconfig": _base64(_kubeconfig(worker).encode())})
            _apply(client, "multikueueclusters", None, VERSION, "MultiKueueCluster", worker.name, spec={
                "clusterSource": {"kubeConfig": {"locationType": "Secret", "location": worker.name}}})
        _apply(client, "multikueueconfigs", None, VERSION, "MultiKueueConfig", QUEUE,
               spec={"clusters": [worker.name for worker in workers]})
        _apply(client, "admissionchecks", None, VERSION, "AdmissionCheck", QUEUE, spec={
            "controllerName": "kueue.x-k8s.io/multikueue",
            "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": QUEUE}})
    _apply(client, "clusterqueues", None, VERSION, "ClusterQueue", QUEUE, spec=spec)


def local_queue(cluster, namespace):
    _apply(cluster.admin, "localqueues", namespace, VERSION, "LocalQueue", QUEUE, spec={"clusterQueue": QUEUE})


def is_active(client, plural, namespace, name):
    """Asserts, with what Kueue says of it."""
    conditions = client.get(plural, namespace, name).get("status", {}).get("conditions", [])
    found = [(each["status"], each.get("message")) for each in conditions if each["type"] == "Active"]
    assert found and found[0][0] == "True", f"{plural}/{name}: {found}"
    return True


def _base64(data):
    return base64.b64encode(data).decode()


def _kubeconfig(worker):
    """The content is in the text: the kubeconfig is a Secret's."""
    def inline(path):
        return _base64(_read(path).encode())
    certificate, key = worker.authority.client("multikueue", "multikueue")
    return json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "default",
        "clusters": [{"name": "worker", "cluster": {"server": f"https://127.0.0.1:{worker.port}",
                      "certificate-authority-data": inline(worker.authority.certificate)}}],
        "users": [{"name": "multikueue", "user": {
            "client-certificate-data": inline(certificate), "client-key-data": inline(key)}}],
        "contexts": [{"name": "default", "context": {"cluster": "worker", "user": "multikueue"}}]})


def webhooks(components, port, ca):
    """[(plural, name, YAML)]: Kueue's own, served at this port of 127.0.0.1, with a certificate of this CA."""
    found = []
    for text in _read(os.path.join(components, "webhook", "manifests.yaml")).split("\n---\n"):
        head, *each = text.split("\n- admissionReviewVersions:")
        kept = [one for one in each if _OF_JOBS.search(one)]
        text = "\n- admissionReviewVersions:".join([head, *kept])
        text = _SERVICE.sub(rf"url: https://127.0.0.1:{port}\1\n    caBundle: {_base64(_read(ca).encode())}", text)
        kind, name = (re.search(rf"^ *{key}: (\S+)$", text, re.MULTILINE).group(1) for key in ("kind", "name"))
        found.append((kind.lower() + "s", name, text))
    return found
