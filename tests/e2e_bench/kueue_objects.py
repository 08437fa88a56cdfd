# SPDX-License-Identifier: Apache-2.0
"""What a MultiKueue needs in the clusters: the queues and a worker's permissions are as in Kueue's documentation."""
import base64
import json

import kueue_server
from kueue_server import NAMESPACE, VERSION, apply, grant, read

QUEUE = "benchmark"
# The Jobs request nothing, so each one takes a pod of the quota.
_COVERED = {"cpu": "100k", "memory": "100Ti", "pods": "100k"}
# As the script of Kueue's documentation grants them, for Jobs.
_REMOTE = [("batch", ["jobs"], ["create", "delete", "get", "list", "watch"]), ("batch", ["jobs/status"], ["get"]),
           ("kueue.x-k8s.io", ["workloads"], ["create", "delete", "get", "list", "watch", "update", "patch"]),
           ("kueue.x-k8s.io", ["workloads/status"], ["get", "patch", "update"]),
           ("kueue.x-k8s.io", ["clusterqueues", "localqueues"], ["get", "list", "watch"])]


def install(clusters, assets):
    kueue_server.install(clusters.all, assets)
    permit(clusters.workers)


def install_workers(workers, assets):
    """What a MultiKueue needs in the workers: no Kueue runs there."""
    kueue_server.install(workers, assets)
    permit(workers)


def permit(workers):
    for worker in workers:
        grant(worker.admin, "multikueue", "multikueue-bench", _REMOTE)


def queues(cluster, workers=()):
    """A ClusterQueue that has room for everything. `workers`: those that this cluster sends its workloads to."""
    client = cluster.admin
    apply(client, "resourceflavors", None, VERSION, "ResourceFlavor", QUEUE, spec={})
    spec = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": list(_COVERED), "flavors": [
        {"name": QUEUE, "resources": [{"name": name, "nominalQuota": quota} for name, quota in _COVERED.items()]}]}]}
    if workers:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": QUEUE}]}
        for worker in workers:
            apply(client, "secrets", NAMESPACE, "v1", "Secret", worker.name,
                   data={"kubeconfig": _base64(_kubeconfig(worker).encode())})
            apply(client, "multikueueclusters", None, VERSION, "MultiKueueCluster", worker.name, spec={
                "clusterSource": {"kubeConfig": {"locationType": "Secret", "location": worker.name}}})
        apply(client, "multikueueconfigs", None, VERSION, "MultiKueueConfig", QUEUE,
               spec={"clusters": [worker.name for worker in workers]})
        apply(client, "admissionchecks", None, VERSION, "AdmissionCheck", QUEUE, spec={
            "controllerName": "kueue.x-k8s.io/multikueue",
            "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": QUEUE}})
    apply(client, "clusterqueues", None, VERSION, "ClusterQueue", QUEUE, spec=spec)


def local_queue(cluster, namespace):
    apply(cluster.admin, "localqueues", namespace, VERSION, "LocalQueue", QUEUE, spec={"clusterQueue": QUEUE})


def _base64(data):
    return base64.b64encode(data).decode()


def _kubeconfig(worker):
    """The content is in the text: the kubeconfig is a Secret's."""
    def inline(path):
        return _base64(read(path).encode())
    certificate, key = worker.authority.client("multikueue", "multikueue")
    return json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "default",
        "clusters": [{"name": "worker", "cluster": {"server": f"https://127.0.0.1:{worker.port}",
                      "certificate-authority-data": inline(worker.authority.certificate)}}],
        "users": [{"name": "multikueue", "user": {
            "client-certificate-data": inline(certificate), "client-key-data": inline(key)}}],
        "contexts": [{"name": "default", "context": {"cluster": "worker", "user": "multikueue"}}]})
