# SPDX-License-Identifier: Apache-2.0
"""Kueue's MultiKueue as a dispatcher: a Kueue process for the management cluster and one for each worker, with the settings
of its manifests but for what a loopback needs. KUEUE_ASSETS names a folder with the binary `kueue` and its repository's
folder `config`; KUEUE_FEATURE_GATES may have more feature gates, as in its flag."""
import http.client
import json
import os
import shutil

import kueue_objects as objects
from proc import Process, free_port
from turn import Dispatcher
from wait import until

# The binary reads the certificates of its metrics from a fixed folder; it gets one in a mount namespace of its own.
_METRICS = "/etc/kueue/metrics/certs"
_SCRIPT = """set -e
mkdir -p "$1/etc"
mount -t tmpfs none "$1/etc"
mkdir "$1/etc/upper" "$1/etc/work"
cp -r "$1/kueue" "$1/etc/upper/"
mount -t overlay -o "lowerdir=/etc,upperdir=$1/etc/upper,workdir=$1/etc/work" none /etc
exec "$2" --config="$1/kueue.yaml" --zap-log-level=2 --feature-gates="$3"
"""


def find():
    """(folder, None), or (None, what is missing)."""
    folder = os.environ.get("KUEUE_ASSETS")
    if not folder:
        return None, "KUEUE_ASSETS is not set (a folder with `kueue` and its repository's `config`)"
    for path in ("kueue", "config/components/crd/bases", "config/components/webhook/manifests.yaml"):
        if not os.path.exists(os.path.join(folder, path)):
            return None, f"no {path} in KUEUE_ASSETS, {folder}"
    if os.geteuid():
        return None, f"Kueue's certificates are below {_METRICS}, for which a mount namespace of root is needed"
    return os.path.abspath(folder), None


class _Kueue:
    """The process of one cluster, and its webhooks."""

    def __init__(self, cluster, assets, components):
        self.cluster = cluster
        self.folder = cluster.path("kueue")
        self.health, port = free_port(), free_port()
        certificate, key = cluster.authority.server("kueue")
        for folder in ("webhook", "kueue/metrics/certs"):
            os.makedirs(os.path.join(self.folder, folder))
            shutil.copy(certificate, os.path.join(self.folder, folder, "tls.crt"))
            shutil.copy(key, os.path.join(self.folder, folder, "tls.key"))
        with open(os.path.join(self.folder, "kueue.yaml"), "w", encoding="utf-8") as file:
            json.dump(self._config(port), file)   # JSON is YAML
        self.webhooks = objects.webhooks(components, port, cluster.authority.certificate)
        self.process = Process("kueue-" + cluster.name, [
            "unshare", "-m", "sh", "-c", _SCRIPT, "kueue", self.folder, os.path.join(assets, "kueue"),
            ",".join(filter(None, ["VisibilityOnDemand=false", os.environ.get("KUEUE_FEATURE_GATES")]))],
            os.path.join(self.folder, "kueue.log"), cwd=self.folder)
        self.process.more_env = {"KUBECONFIG": cluster.kubeconfig("kueue", cluster.authority.client("kueue", "kueue"))}

    def _config(self, port):
        """The numbers of threads are those of Kueue's own manifests; the rate is the default of later ones."""
        return {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "namespace": objects.NAMESPACE,
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self.health}"},
            "metrics": {"bindAddress": f"127.0.0.1:{free_port()}"},
            "webhook": {"host": "127.0.0.1", "port": port, "certDir": os.path.join(self.folder, "webhook")},
            "leaderElection": {"leaderElect": False}, "internalCertManagement": {"enable": False},
            "controller": {"groupKindConcurrency": {
                "Job.batch": 5, "Workload.kueue.x-k8s.io": 10, "LocalQueue.kueue.x-k8s.io": 5,
                "ClusterQueue.kueue.x-k8s.io": 5, "ResourceFlavor.kueue.x-k8s.io": 1}},
            "clientConnection": {"qps": 1000, "burst": 1000}, "integrations": {"frameworks": ["batch/job"]}}

    def ready(self):
        self.process.check()
        connection = http.client.HTTPConnection("127.0.0.1", self.health, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def hook(self):
        for plural, name, text in self.webhooks:
            self.cluster.admin.apply_yaml(plural, None, name, text)

    def unhook(self):
        for plural, name, _ in self.webhooks:
            if self.cluster.admin.find(plural, None, name):
                self.cluster.admin.delete(plural, None, name)


class MultiKueue(Dispatcher):
    """The users' Jobs have a queue's label and nothing else: Kueue's webhook suspends them, and sets managedBy."""
    name, users, managed_by = "multikueue", ("kueue", "multikueue"), ""
    labels = {"kueue.x-k8s.io/queue-name": objects.QUEUE}
    # Its Workloads have finalizers, and those of the workers are deleted by the management cluster's Kueue.
    deletes_before_stop = True
    counts_connects = False   # Go has system calls of its own

    def __init__(self, clusters, assets):
        components = os.path.join(assets, "config", "components")
        self.clusters = clusters
        objects.install(clusters, components)
        self.kueues = [_Kueue(cluster, assets, components) for cluster in clusters.all]
        self.processes = [kueue.process for kueue in self.kueues]

    def start(self, namespace):
        for kueue in self.kueues:
            kueue.process.start()
        for kueue in self.kueues:
            until(kueue.ready, f"{kueue.process.name} to be ready", 60)
            kueue.hook()
        management, workers = self.clusters.management, self.clusters.workers
        for cluster in self.clusters.all:
            until(lambda each=cluster: self._set_up(each, workers if each is management else (), namespace),
                  f"the queues of {cluster.name}", 60, every=0.25)
        for cluster in self.clusters.all:
            until(lambda each=cluster: objects.is_active(each.admin, "localqueues", namespace, objects.QUEUE),
                  f"the queue of {cluster.name} to be active", 60, every=0.25)
        for worker in workers:
            assert objects.is_active(management.admin, "multikueueclusters", None, worker.name)

    @staticmethod
    def _set_up(cluster, workers, namespace):
        """Refused while its webhooks are not served, or not known, yet."""
        try:
            objects.queues(cluster, workers)
            objects.local_queue(cluster, namespace)
        except objects.kube.ApiError as error:
            raise AssertionError(str(error)) from error
        return True

    def stop(self):
        for kueue in self.kueues:
            kueue.unhook()
        for process in self.processes:
            process.terminate()
