# SPDX-License-Identifier: Apache-2.0
"""The clusters with their controllers, the host with all adapters, and what the lives share."""
import json
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import controllers
import fixtures
import kube
import manifests
from audit import Audit
from controllers import Controller
from host import Host
from nodes import Nodes
from recorder import Recorder
from relay import Relay
from wait import until

SETTINGS = {"workerLostTimeout": "10m", "mirrorRetention": "2s", "createNamespaces": "false", "log": "{format: text, level: debug}"}
# Everything that is written, with its user; bodies only of the host's requests.
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived", "ResponseStarted"], "omitManagedFields": True,
    "rules": [
        {"level": "None", "verbs": ["get", "list", "watch"]},
        {"level": "None", "resources": [{"group": "", "resources": ["pods", "pods/status", "pods/binding", "events", "nodes"]},
                                        {"group": "events.k8s.io"}, {"group": "coordination.k8s.io"}]},
        {"level": "Request", "users": ["wharf"], "verbs": ["create", "patch"]},
        {"level": "Metadata"}]}


class Scene:
    """`projects`: {Project: Found} of the controllers to be run in every cluster; `kinds` are theirs."""

    def __init__(self, clusters, folder, wharf, adapters, projects, kinds, kwok):
        self.clusters, self.kinds, self.management = clusters, kinds, clusters.management.admin
        self.projects = projects
        self.reader = fixtures.Reader(os.path.dirname(os.path.abspath(wharf)))
        self.known = {each["plural"]: each for each in self.reader.settings("generic")["kinds"]}
        self.audits = {cluster.name: Audit(cluster) for cluster in clusters.all}
        self.programs = wharf, adapters, folder
        self.grant()
        self.nodes = [Nodes(worker, kwok) for worker in clusters.workers]
        self.controllers, self.absent = self._install(projects)
        self.relays = {worker.name: Relay(worker.port) for worker in clusters.workers}
        self.host = Host(wharf, adapters, folder, self._kubeconfigs(), defaults=SETTINGS)
        self.recorder = Recorder(clusters.all)

    def grant(self, **settings):
        """The rights that the host asks for with these kinds and settings."""
        wharf, adapters, folder = self.programs
        path = os.path.join(folder, "rights.yaml")
        with open(path, "w", encoding="utf-8") as file:
            enabled = [{"name": name, **more} for name, more in self._enabled().items()]
            json.dump({"apiVersion": "wharf.dev/v1alpha1", "kind": "HostConfiguration", "management": {"kubeconfig": "m"},
                       "workers": [{"name": "w", "kubeconfig": "w"}], "adapters": {"enabled": enabled},
                       **{key: json.loads(value) for key, value in settings.items()}}, file)
        printed = {}
        for role in ("management", "worker"):
            done = subprocess.run([wharf, "rbac", "--adapters", adapters, "--config", path, "--user", "wharf", "--for", role],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0, done.stderr
            printed[role] = done.stdout
        for cluster in self.clusters.all:
            manifests.apply(cluster.admin, "namespace.yaml")
        manifests.apply_rights(self.clusters, printed)

    def _kubeconfigs(self):
        return {cluster.name: cluster.kubeconfig("wharf", certificate=cluster.host_certificate, port=(
            self.relays[cluster.name].port if cluster.name in self.relays else None)) for cluster in self.clusters.all}

    def _install(self, projects):
        made = []
        for project, found in projects.items():
            documents = [each for each in self.reader.documents(found.program("install.yaml")) if each]   # charts leave empty ones
            made += [Controller(cluster, project, found, documents) for cluster in self.clusters.all]
        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(each.install) for each in made]:
                done.result()
        return [each for each in made if not each.deaf()], [each for each in made if each.deaf()]

    def start(self):
        began = time.monotonic()
        for each in (*self.nodes, *self.controllers):
            each.start()
        for each in self.controllers:
            until(each.ready, f"{each.project.name} in {each.cluster.name} to be ready", 120)
        for kind in self.kinds:
            kube.know(kind.plural, kind.api_version)
            for plural, (version, namespaced) in kind.versions.items():
                kube.know(plural, version, namespaced)
        self.recorder.watch(sorted({plural for kind in self.kinds for plural in (kind.plural, *kind.children)}))
        self.use()
        return time.monotonic() - began

    def _enabled(self):
        """{adapter: what the configuration says of it}"""
        enabled = {}
        for kind in self.kinds:
            described = kind.settings or self.known.get(kind.plural)
            more = enabled.setdefault(kind.adapter, {})
            if described:
                more.setdefault("settings", {"kinds": []})["kinds"].append(described)
        return enabled

    def use(self, **settings):
        """The host runs with these settings and takes work of every kind for both workers."""
        self.host.use(enabled=self._enabled(), **settings)
        for kind in self.kinds:
            group = kind.api_version.rpartition("/")[0]
            self.host.until_takes_work((worker.name for worker in self.clusters.workers), f"{kind.plural}.{group}")

    def worker(self, name):
        return next(worker for worker in self.clusters.workers if worker.name == name)

    def release(self, namespace):
        for each in (*self.nodes, *(companion for controller in self.controllers for companion in controller.companions)):
            each.release(namespace)

    def release_all(self, namespaces):
        for namespace in namespaces:
            self.release(namespace)

    def version_of(self, kind):
        return f"{self.projects[kind.project].name} {self.projects[kind.project].version}" if kind.project else "kube-controller-manager"

    def kubernetes(self):
        """Of the management cluster, and of the workers where they have another version."""
        found = [".".join(map(str, cluster.version)) for cluster in self.clusters.all]
        workers = sorted(set(found[1:]) - {found[0]})
        return f"{found[0]}, workers {' and '.join(workers)}" if workers else found[0]

    def too_new(self, kind):
        """{case: why} of what this version of the kind's controller, or these workers, do not have yet."""
        version = self.projects[kind.project].version if kind.project else ""
        oldest = min(worker.version for worker in self.clusters.workers)
        return {**{case: f"{kind.project.name} {version} does not have it, {since} does" for case, since in kind.since.items()
                   if controllers.order(version) < controllers.order(since)},
                **{case: f"needs workers of Kubernetes {'.'.join(map(str, since))}" for case, since in kind.workers_since.items()
                   if oldest < since}}

    def check(self):
        for nodes in self.nodes:
            nodes.check()
        for controller in self.controllers:
            controller.ready()

    def close(self):
        self.recorder.close()
        self.host.kill()
        for each in (*self.nodes, *self.controllers):
            each.stop()
