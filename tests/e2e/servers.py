# SPDX-License-Identifier: Apache-2.0
"""Real clusters on 127.0.0.1: etcd, kube-apiserver and kube-controller-manager, each with its own CA and data."""
import json
import os
import shutil
import time
import urllib.request

import kube
import pki
from audit import HOST_USERS
from proc import Process, free_port
from wait import until

ADMIN = "e2e-admin"   # the user of the tests themselves

_SCRATCH, _BUMP = "c2NyYXRjaA==", 1000   # base64, as etcd's gateway has keys

# Only pods.py runs these servers' pods, and no test needs a service account's token in a pod.
_ADMISSION_OFF = "ServiceAccount,DefaultStorageClass,RuntimeClass,DefaultIngressClass,StorageObjectInUseProtection"
_CONTROLLERS = "job-controller,cronjob-controller,garbage-collector-controller,namespace-controller," \
               "ttl-after-finished-controller"

# Pods are recorded with their bodies: their owner is how the tests count what ran; so is each status that the Job
# controller writes. Reads only of the host.
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived", "ResponseStarted"],
    "omitManagedFields": True,
    "rules": [
        {"level": "Metadata", "users": list(HOST_USERS), "verbs": ["get", "list", "watch"]},
        {"level": "None", "verbs": ["get", "list", "watch"]},
        {"level": "Request", "verbs": ["create"], "resources": [{"group": "", "resources": ["pods"]}]},
        {"level": "None", "resources": [{"group": "", "resources": ["pods", "pods/status", "pods/binding"]}]},
        {"level": "RequestResponse", "verbs": ["patch"], "resources": [
            {"group": "batch", "resources": ["jobs", "jobs/status"]}]},
        {"level": "Request", "verbs": ["update"], "resources": [{"group": "batch", "resources": ["jobs/status"]}]},
        {"level": "Request", "users": list(HOST_USERS), "verbs": ["create", "patch"]},
        {"level": "Metadata", "users": list(HOST_USERS)},
        {"level": "Metadata", "resources": [{"group": "batch"}, {"group": ""}, {"group": "events.k8s.io"}]},
    ],
}


class Cluster:
    """One cluster. start() only starts; ready() says whether it answers, and then starts the controllers. `gates` are
    feature gates of the API server and of the controllers, as in their flags. `beside`: a cluster whose etcd this one shares, so that it is cheap."""

    def __init__(self, name, assets, folder, with_controllers=True, audit_policy=None, gates="", more_controllers=(),
                 admission_off=_ADMISSION_OFF, beside=None):
        self.name, self.assets, self.folder = name, assets, os.path.join(folder, name)
        self.version, self.gates, self.more_controllers = assets.version(name), gates, more_controllers
        os.makedirs(self.folder, mode=0o700)
        self.port = free_port()
        self.authority = pki.Authority(os.path.join(self.folder, "pki"))
        self.admin_certificate = self.authority.client("admin", ADMIN, "system:masters")
        self.host_certificate = self.authority.client("wharf", "wharf")
        self.admin = kube.Client(self.port, self.authority.certificate, *self.admin_certificate)
        self.audit_log = self.path("audit.log")
        self.write("audit-policy.json", json.dumps(audit_policy or _AUDIT_POLICY))
        self.admin_config = self.kubeconfig("admin", certificate=self.admin_certificate)
        self.admission_off, self.etcd_prefix = admission_off, f"/{name}" if beside else "/registry"
        self.etcd_url = beside.etcd_url if beside else f"http://127.0.0.1:{free_port()}"
        self.etcd, self.api, self.controllers = None if beside else self._etcd(), None, None
        if with_controllers:
            self.controllers = self._controllers()
        self.api = self._api()

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), 0o600)
        return self.path(name)

    def kubeconfig(self, user, certificate=None, token_file=None, port=None):
        """Writes <user>.kubeconfig and returns its path. JSON is YAML."""
        who = {"tokenFile": token_file} if token_file else {
            "client-certificate": certificate[0], "client-key": certificate[1]}
        return self.write(user + ".kubeconfig", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "default",
            "clusters": [{"name": self.name, "cluster": {
                "server": f"https://127.0.0.1:{port or self.port}",
                "certificate-authority": self.authority.certificate}}],
            "users": [{"name": user, "user": who}],
            "contexts": [{"name": "default", "context": {"cluster": self.name, "user": user}}]}, indent=1))

    def _program(self, binary, flags):
        argv = [self.assets.program(self.name, binary)] + [f"--{flag}={value}" for flag, value in flags.items()]
        return Process(f"{self.name}/{binary}", argv, self.path(binary + ".log"), cwd=self.folder)

    def _etcd(self):
        peer = f"http://127.0.0.1:{free_port()}"
        return self._program("etcd", {
            "data-dir": self.path("etcd"), "unsafe-no-fsync": "true", "log-level": "warn", "name": "e2e",
            "listen-client-urls": self.etcd_url, "advertise-client-urls": self.etcd_url,
            "listen-peer-urls": peer, "initial-advertise-peer-urls": peer, "initial-cluster": f"e2e={peer}"})

    def _api(self):
        certificate, key = self.authority.server()
        self.token_key, public = self.authority.token_keys()
        return self._program("kube-apiserver", {
            **({"feature-gates": self.gates, "runtime-config": "scheduling.k8s.io/v1beta1=true"} if self.gates else {}),
            "etcd-servers": self.etcd_url, "etcd-prefix": self.etcd_prefix, "bind-address": "127.0.0.1", "advertise-address": "127.0.0.1",
            "secure-port": self.port, "cert-dir": self.path("certs"), "tls-cert-file": certificate,
            "tls-private-key-file": key, "client-ca-file": self.authority.certificate,
            "service-account-issuer": "https://kubernetes.default.svc", "service-account-key-file": public,
            "service-account-signing-key-file": self.token_key, "service-cluster-ip-range": "10.0.0.0/24",
            "authorization-mode": "RBAC", "disable-admission-plugins": self.admission_off,
            "endpoint-reconciler-type": "none", "profiling": "false",
            "audit-policy-file": self.path("audit-policy.json"), "audit-log-path": self.audit_log})

    def _controllers(self):
        return self._program("kube-controller-manager", {
            **({"feature-gates": self.gates} if self.gates else {}),
            "kubeconfig": self.admin_config, "leader-elect": "false", "secure-port": "0",
            "service-account-private-key-file": self.authority.path("sa.key"), "root-ca-file": self.authority.certificate,
            "controllers": ",".join((_CONTROLLERS, *self.more_controllers)), "kube-api-qps": "500", "kube-api-burst": "1000", "profiling": "false"})

    def start(self):
        if self.etcd:
            self.etcd.start()
        self.api.start()

    def ready(self):
        """Whether the API server is ready; starts the controllers the first time that it is."""
        if self.etcd:
            self.etcd.check()
        self.api.check()
        try:
            self.admin.raw("GET", "/readyz", timeout=5)
            self.admin.get("namespaces", None, "default")
        except (kube.ApiError, kube.Unreachable):
            return False
        if self.controllers and not self.controllers.running():
            self.controllers.start()
        return True

    def lose(self):
        """Kills the cluster; etcd keeps what was acknowledged."""
        for process in (self.controllers, self.api):
            if process:
                process.kill()

    def bring_back(self):
        self.api.start()
        self.await_ready()

    def copy_data(self):
        """Keeps a copy of etcd's data as it is now."""
        self._with_etcd_stopped(lambda: shutil.copytree(self.path("etcd"), self.path("copy"), dirs_exist_ok=True))

    def go_back(self, wiped=False, bumped=False):
        """At the same address, but as it was when the copy was made, or empty. `bumped`: with revisions after all that were
        given out, and those before compacted, as `etcdutl snapshot restore --bump-revision --mark-compacted` has it."""
        reached = self._ask_etcd("kv/range", key="AA==")

        def replace():
            shutil.rmtree(self.path("etcd"))
            if not wiped:
                shutil.copytree(self.path("copy"), self.path("etcd"))

        def bump():
            until(lambda: self._ask_etcd("kv/range", key="AA==") or True, "etcd to answer")
            while (revision := self._ask_etcd("kv/put", key=_SCRATCH)) < reached + _BUMP:
                pass
            self._ask_etcd("kv/deleterange", key=_SCRATCH)
            self._ask_etcd("kv/compaction", revision=str(revision))
        self._with_etcd_stopped(replace, bump if bumped else None)

    def _ask_etcd(self, call, **body):
        """Its revision then."""
        request = urllib.request.Request(f"{self.etcd_url}/v3/{call}", json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return int(json.load(answer)["header"]["revision"])
        except OSError as error:
            raise AssertionError(f"etcd: {error}") from error

    def _with_etcd_stopped(self, change, then=None):
        self.lose()
        self.etcd.kill()
        change()
        self.etcd.start()
        if then:
            then()
        self.bring_back()

    def await_ready(self):
        until(self.ready, f"{self.name} to be ready", timeout=120)

    def stop(self):
        for process in (self.controllers, self.api, self.etcd):
            if process:
                process.kill()

    def tail(self, lines=8):
        return "\n".join(f"--- {process.name}\n{process.tail(lines)}"
                         for process in (self.api, self.controllers) if process)


class Clusters:
    """The management cluster and its workers. Use as a context manager: leaving it ends every process. `gates` are those of some
    clusters, by name. `one_etcd`: all share that of the first one. `more` are keywords of Cluster."""

    def __init__(self, assets, folder, workers=("w1", "w2"), gates=None, one_etcd=False, **more):
        self.gates, self.one_etcd = gates or {}, one_etcd
        self.all, self.took, self.more = [], 0.0, more
        self.assets, self.folder, self.names = assets, folder, ("management", *workers)

    def __enter__(self):
        began = time.monotonic()
        try:
            for name in self.names:
                beside = self.all[0] if self.one_etcd and self.all else None
                self.all.append(Cluster(name, self.assets, self.folder, gates=self.gates.get(name, ""), beside=beside, **self.more))
                self.all[-1].start()
            for cluster in self.all:
                cluster.await_ready()
        except BaseException:
            self.__exit__()
            raise
        self.took = time.monotonic() - began
        return self

    def __exit__(self, *_):
        for cluster in self.all:
            cluster.stop()

    def versions(self):
        return ", ".join(f"{cluster.name} {'.'.join(map(str, cluster.version))}" for cluster in self.all)

    @property
    def management(self):
        return self.all[0]

    @property
    def workers(self):
        return self.all[1:]
