# SPDX-License-Identifier: Apache-2.0
"""A real Kueue for a cluster of the tests: its process, its CRDs, role and webhooks, the latter served by URL on 127.0.0.1
with a certificate of the cluster's own CA. KUEUE_ASSETS names a folder with the binary `kueue` and its repository's folder
`config`; KUEUE_FEATURE_GATES may have more feature gates, as in its flag."""
import base64
import glob
import http.client
import json
import os
import re
import shutil

import crds
import kube
from proc import Process, free_port
from skip import Skip
from wait import until

NAMESPACE, VERSION = "kueue-system", "kueue.x-k8s.io/v1beta2"
QUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
_RBAC = "rbac.authorization.k8s.io"
_SERVICE = re.compile(r"service:\n +name: \S+\n +namespace: \S+\n +path: (\S+)")
_SECRETS = [("", ["secrets"], ["get", "list", "update", "watch"])]

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

for _plural in ("resourceflavors", "clusterqueues", "cohorts", "admissionchecks", "multikueueconfigs", "multikueueclusters",
                "workloadpriorityclasses", "topologies", "provisioningrequestconfigs"):
    kube.know(_plural, VERSION, namespaced=False)
for _plural in ("localqueues", "workloads"):
    kube.know(_plural, VERSION)
for _plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
    kube.know(_plural, "admissionregistration.k8s.io/v1", namespaced=False)


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


def components(assets):
    return os.path.join(assets, "config", "components")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def apply(client, plural, namespace, api_version, kind, name, **more):
    body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **more}
    client.apply_yaml(plural, namespace, name, json.dumps(body))


def grant(client, user, role, rules, namespace=None):
    kind = "Role" if namespace else "ClusterRole"
    apply(client, kind.lower() + "s", namespace, _RBAC + "/v1", kind, role, rules=[
        {"apiGroups": [group], "resources": resources, "verbs": verbs} for group, resources, verbs in rules])
    bind(client, user, kind, role, namespace)


def bind(client, user, kind, role, namespace=None):
    bound = ("Role" if namespace else "ClusterRole") + "Binding"
    apply(client, bound.lower() + "s", namespace, _RBAC + "/v1", bound, f"{user}-{role}",
          roleRef={"apiGroup": _RBAC, "kind": kind, "name": role},
          subjects=[{"apiGroup": _RBAC, "kind": "User", "name": user}])


def install(clusters, assets):
    """CRDs, namespace and Kueue's own permissions."""
    files = glob.glob(os.path.join(components(assets), "crd", "bases", "*.yaml"))
    crds.install([cluster.admin for cluster in clusters], dict.fromkeys(files, "v1beta2"))
    for cluster in clusters:
        if not cluster.admin.find("namespaces", None, NAMESPACE):
            cluster.admin.create("namespaces", None, {"metadata": {"name": NAMESPACE}})
        cluster.admin.apply_yaml("clusterroles", None, "manager-role",
                                 read(os.path.join(components(assets), "rbac", "role.yaml")))
        bind(cluster.admin, "kueue", "ClusterRole", "manager-role")
        grant(cluster.admin, "kueue", "kueue-secrets", _SECRETS, NAMESPACE)


def uninstall(clusters, assets):
    for cluster in clusters:
        for path in glob.glob(os.path.join(components(assets), "crd", "bases", "*.yaml")):
            group, _, plural = os.path.basename(path).removesuffix(".yaml").partition("_")
            for found in cluster.admin.list(plural):   # nobody removes their finalizers any more
                meta = found["metadata"]
                if meta.get("finalizers"):
                    cluster.admin.patch(plural, meta.get("namespace"), meta["name"], {"metadata": {"finalizers": None}})
            crds.uninstall(cluster.admin, group, plural)


def is_active(client, plural, namespace, name):
    """Asserts, with what Kueue says of it."""
    conditions = client.get(plural, namespace, name).get("status", {}).get("conditions", [])
    found = [(each["status"], each.get("message")) for each in conditions if each["type"] == "Active"]
    assert found and found[0][0] == "True", f"{plural}/{name}: {found}"
    return True


def _webhooks(assets, port, ca, frameworks):
    """[(plural, name, YAML)]: those of Kueue's own kinds and of these frameworks, at this port of 127.0.0.1."""
    # "ray.io/rayjob" -> "rayjob": the end of a webhook's path.
    own = re.compile(r"path: \S*-(kueue-x-k8s-io-\S*|batch-v1-job)$", re.MULTILINE)
    kinds = [framework.rpartition("/")[2] for framework in frameworks if framework != "batch/job"]
    more = re.compile(rf"path: \S*-({'|'.join(kinds)})$", re.MULTILINE) if kinds else None
    certificate, found = base64.b64encode(read(ca).encode()).decode(), []
    for text in read(os.path.join(components(assets), "webhook", "manifests.yaml")).split("\n---\n"):
        head, *each = text.split("\n- admissionReviewVersions:")
        kept = [one for one in each if own.search(one) or more and more.search(one)]
        text = "\n- admissionReviewVersions:".join([head, *kept])
        text = _SERVICE.sub(rf"url: https://127.0.0.1:{port}\1\n    caBundle: {certificate}", text)
        kind, name = (re.search(rf"^ *{key}: (\S+)$", text, re.MULTILINE).group(1) for key in ("kind", "name"))
        found.append((kind.lower() + "s", name, text))
    return found


class Server:
    """The process of one cluster, and its webhooks. `more`: of its configuration."""

    def __init__(self, cluster, assets, frameworks=("batch/job",), **more):
        self.cluster, self.folder = cluster, cluster.path(f"kueue-{free_port()}")
        self.health, port = free_port(), free_port()
        certificate, key = cluster.authority.server("kueue")
        for folder in ("webhook", "kueue/metrics/certs"):
            os.makedirs(os.path.join(self.folder, folder))
            shutil.copy(certificate, os.path.join(self.folder, folder, "tls.crt"))
            shutil.copy(key, os.path.join(self.folder, folder, "tls.key"))
        with open(os.path.join(self.folder, "kueue.yaml"), "w", encoding="utf-8") as file:
            json.dump({**self._config(port, frameworks), **more}, file)   # JSON is YAML
        self.webhooks = _webhooks(assets, port, cluster.authority.certificate, frameworks)
        self.process = Process("kueue-" + cluster.name, [
            "unshare", "-m", "sh", "-c", _SCRIPT, "kueue", self.folder, os.path.join(assets, "kueue"),
            ",".join(filter(None, ["VisibilityOnDemand=false", os.environ.get("KUEUE_FEATURE_GATES")]))],
            os.path.join(self.folder, "kueue.log"), cwd=self.folder)
        self.process.more_env = {"KUBECONFIG": cluster.kubeconfig("kueue", cluster.authority.client("kueue", "kueue"))}

    def _config(self, port, frameworks):
        """The numbers of threads are those of Kueue's own manifests; the rate is the default of later ones."""
        return {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "namespace": NAMESPACE,
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self.health}"},
            "metrics": {"bindAddress": f"127.0.0.1:{free_port()}"},
            "webhook": {"host": "127.0.0.1", "port": port, "certDir": os.path.join(self.folder, "webhook")},
            "leaderElection": {"leaderElect": False}, "internalCertManagement": {"enable": False},
            "controller": {"groupKindConcurrency": {
                "Job.batch": 5, "Workload.kueue.x-k8s.io": 10, "LocalQueue.kueue.x-k8s.io": 5,
                "ClusterQueue.kueue.x-k8s.io": 5, "ResourceFlavor.kueue.x-k8s.io": 1}},
            "clientConnection": {"qps": 1000, "burst": 1000}, "integrations": {"frameworks": list(frameworks)}}

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


def use(env, clusters, frameworks=("batch/job",), **more):
    """Makes sure that exactly these clusters of the Env have a Kueue, with this configuration; `stop` ends them. Skips where
    there is none on this machine."""
    assets, missing = find()
    if not assets:
        raise Skip(missing)
    wanted = ([cluster.name for cluster in clusters], frameworks, more)
    if env.kueue and env.kueue[0] == wanted:
        return
    stop(env)
    install(clusters, assets)
    env.kueue = (wanted, clusters, [Server(cluster, assets, frameworks, **more) for cluster in clusters])
    for server in env.kueue[2]:
        server.process.start()
    for server in env.kueue[2]:
        until(server.ready, f"{server.process.name} to be ready", 60)
        server.hook()


def stop(env):
    """The clusters have neither the processes, nor webhooks, nor the kinds afterwards."""
    if not env.kueue:
        return
    _, clusters, servers = env.kueue
    env.kueue = None
    for server in servers:
        server.unhook()
        server.process.terminate()
    uninstall(clusters, find()[0])


def set_up(client, namespace, text, queue):
    """Applies a file of queues as it is, and waits until the LocalQueue is active. Requests are refused while Kueue's webhooks
    are not known to the API server yet."""
    documents = re.split(r"^---$", text, flags=re.MULTILINE)

    def probe():
        for document in documents:
            kind, name = (re.search(rf"^ *{key}: (\S+)$", document, re.MULTILINE).group(1) for key in ("kind", "name"))
            plural = {"WorkloadPriorityClass": "workloadpriorityclasses"}.get(kind, kind.lower() + "s")
            try:
                client.apply_yaml(plural, namespace if kind == "LocalQueue" else None, name, document)
            except kube.ApiError as error:
                raise AssertionError(str(error)) from error
        return is_active(client, "localqueues", namespace, queue)
    until(probe, f"queue {queue} to be active", 60, every=0.25)


def workload_of(client, namespace, uid):
    """The Workload of the object with this uid, or None."""
    found = client.list("workloads", namespace, selector=f"kueue.x-k8s.io/job-uid={uid}")
    return found[0] if found else None
