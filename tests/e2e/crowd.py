# SPDX-License-Identifier: Apache-2.0
"""A management cluster and nine workers that share one etcd, so that many workers cost little. Here pods need what they name, as
in any cluster: admission looks for their ServiceAccount and priority class, the played kubelet for what they mount."""
import contextlib
import copy
import json
import os

import host
import manifests
import needs
import servers
from env import Env
from pods import Kubelet

OWN, MAPPED = "own", "mapped-"   # the management cluster as a worker; see Crowd.use
WORKERS = tuple(f"w{number}" for number in range(1, 10))
_CONTROLLERS = ("serviceaccount-controller", "serviceaccount-token-controller", "root-ca-certificate-publisher-controller",
                "persistentvolumeclaim-protection-controller")
_ADMISSION_OFF = "DefaultStorageClass,DefaultIngressClass"
COPIED = {"copy": ["configmaps", "secrets", "serviceaccounts", "persistentvolumeclaims"], "check": ["priorityclasses.scheduling.k8s.io"],
          "secrets": "all"}
COPIES = ("configmaps", "secrets", "serviceaccounts", "persistentvolumeclaims")


class Crowd(Env):
    """The environment of such tests: all that Env has. `chosen` are the workers that the host uses."""

    def __init__(self, outer):
        folder = os.path.join(outer.folder, "crowd")
        os.makedirs(folder)
        self.printed, self.chosen, self.maps = {}, (), {}
        self.stack = servers.Clusters(outer.clusters.assets, folder, WORKERS, one_etcd=True, more_controllers=_CONTROLLERS,
                                      admission_off=_ADMISSION_OFF)
        clusters = self.stack.__enter__()
        try:
            super().__init__(clusters, folder, outer.host.wharf, outer.host.adapters)
        except BaseException:
            self.stack.__exit__()
            raise
        self.host.defaults = {**host.DEFAULTS, "dependencies": json.dumps(COPIED), "seal": "{secret: {}}"}
        self.configs = dict(self.host.kubeconfigs)

    def close(self):
        super().close()
        self.stack.__exit__()

    def _apply_rbac(self):
        for cluster in self.clusters.all:
            manifests.apply(cluster.admin, "namespace.yaml")
        if self.printed:
            manifests.apply_rights(self.clusters, self.printed)

    def _kubeconfigs(self):
        return {cluster.name: cluster.kubeconfig("wharf", certificate=cluster.host_certificate) for cluster in self.clusters.all}

    # The host.

    def use(self, count=len(WORKERS), maps=None, enabled=None, **settings):
        """The host runs with so many workers, with the rights that it prints for these settings. `maps`: {worker: what the names of
        namespaces that begin with MAPPED become there}; with OWN, the management cluster is a worker too. Returns once all of them get
        Jobs."""
        chosen, maps = (*WORKERS[:count], *(name for name in maps or {} if name == OWN)), maps or {}
        if (chosen, maps) != (self.chosen, self.maps):
            self.chosen, self.maps, self.host.settings = chosen, maps, None
            self.host.kubeconfigs = {name: path for name, path in self.configs.items() if name in ("management", *chosen)}
            self.host.worker_settings = {name: f'namespaces: {{map: {{"{MAPPED}*": "{to}"}}}}' for name, to in maps.items()}
            if OWN in maps:
                self.host.kubeconfigs[OWN], self.host.worker_settings[OWN] = None, "self: true, " + self.host.worker_settings[OWN]
        if self.host.settings is None and self.host.process.running():
            self.host.stop()
        self._grant({**self.host.defaults, **settings}, enabled or {"job": {}})
        self.host.use(enabled, **settings)
        self.host.until_takes_work(self.chosen)

    def _grant(self, settings, enabled):
        if (settings, enabled) == self.host.settings:
            return
        self.host.write(settings, enabled)
        printed = {role: self.host.rights(role, "--user", "wharf") for role in ("management", "worker")}
        if printed != self.printed:
            self.printed = printed
            self._apply_rbac()

    @contextlib.contextmanager
    def own_worker(self):
        """The management cluster is among the workers here too, and has nodes."""
        cluster = copy.copy(self.clusters.management)
        cluster.name = OWN
        kubelet = Kubelet(cluster, self.released)
        kubelet.start()
        self.workers.append(cluster)
        self.kubelets.append(kubelet)
        self.audits[OWN] = self.audits["management"]
        try:
            yield cluster
        finally:
            kubelet.stop()
            self.workers.remove(cluster)
            self.kubelets.remove(kubelet)
            del self.audits[OWN]

    # Queries: mirrors are where the maps say.

    def there(self, worker):
        mapped = self.maps.get(worker, "{namespace}") if self.namespace.startswith(MAPPED) else "{namespace}"
        return mapped.replace("{origin}", self.host.origin).replace("{namespace}", self.namespace)

    def mirrors_in(self, worker, plural):
        return worker.admin.list(plural, selector="wharf.dev/origin")

    def copies(self, namespace=None, plurals=COPIES):
        """{(worker, plural, namespace, name)} of all copies that there are."""
        return {(worker.name, plural, found["metadata"]["namespace"], found["metadata"]["name"]) for worker in self.workers
                for plural in plurals for found in worker.admin.list(plural, namespace, selector=needs.COPY_OF)}

    def end(self, may_be_refused=()):
        self.nothing_was_lacking()
        super().end(may_be_refused)

    def nothing_was_lacking(self):
        """No pod was ever to start without something that it mounts."""
        ours = {self.namespace} | {self.there(worker.name) for worker in self.workers}
        lacked = {f"{kubelet.name}: {pod} {missing}" for kubelet in self.kubelets
                  for (namespace, pod), missing in kubelet.lacked.items() if namespace in ours}
        assert not lacked, "; ".join(sorted(lacked))


def of(env):
    if not hasattr(env, "crowd"):
        env.crowd = Crowd(env)
    return env.crowd


def end(env):
    """For `_after_all` of the last module that uses it."""
    if hasattr(env, "crowd"):
        env.crowd.close()
        del env.crowd


def in_crowd(test):
    """A test that gets this environment instead of its lane's."""
    test.environment = of
    return test
