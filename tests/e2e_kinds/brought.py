# SPDX-License-Identifier: Apache-2.0
"""Each kind with what it refers to, in workers that have its controller and nothing else: the host brings the rest."""
import json

import mounts
import needs
from life import Life
from nodes import PODS
from wait import until

_COPIED = ("configmaps", "secrets", "serviceaccounts")


def _settings(kinds):
    """Of the host: what pods refer to is copied, and what these kinds refer to."""
    more = sorted({each for kind in kinds for each in kind.refers})
    return {"dependencies": json.dumps({"copy": [*_COPIED, *more], "check": [], "secrets": "all"}), "createNamespaces": "true"}


def _extended(value):
    """The object with references in each of its pod specs."""
    if isinstance(value, list):
        return [_extended(each) for each in value]
    if not isinstance(value, dict):
        return value
    value = {key: _extended(member) for key, member in value.items()}
    # Of a pod, of a Task, of a template of a Workflow.
    for member, more in (("containers", {"imagePullSecrets": [{"name": "needed-pull"}]}), ("steps", {}), ("container", {})):
        images = value.get(member)
        single = isinstance(images, dict)
        images = [images] if single else images
        if isinstance(images, list) and images and isinstance(images[0], dict):
            first, *others = images
            first = {**first, "envFrom": [*first.get("envFrom", ()), {"secretRef": {"name": "needed"}}]}
            value = {**value, member: first if single else [first, *others], **more,
                     "volumes": [*value.get("volumes", ()), {"name": "needed", "configMap": {"name": "needed"}}]}
    return value


def _accounts(value):
    """The ServiceAccounts that the object names."""
    if isinstance(value, dict):
        own = {member for key, member in value.items() if key in ("serviceAccount", "serviceAccountName")}
        return own.union(*map(_accounts, value.values()))
    return set().union(*map(_accounts, value)) if isinstance(value, list) else set()


class _Extending:
    """A client that makes objects with these references: for Kind.setup."""

    def __init__(self, client):
        self.client, self.find = client, client.find

    def create(self, plural, namespace, body):
        return self.client.create(plural, namespace, _extended(body))


class Brought(Life):
    """Everything that it names is in the management cluster only, and its namespace too."""

    own = ("needed", "needed-pull")

    def prepare(self):
        self.management.create("namespaces", None, {"metadata": {"name": self.namespace}})
        needs.create(self.management, self.namespace, {
            "configmaps": [needs.configmap("needed", a="1")], "secrets": [needs.secret("needed", A="1"), needs.pull_secret("needed-pull")]})
        for name in _accounts(self.kind.body({PODS: "hold"})):
            self.management.create("serviceaccounts", self.namespace, needs.account(name))
        if self.kind.setup:
            self.kind.setup(_Extending(self.management), self.namespace)

    def submit(self, pods="succeed", patch=None):
        super().submit(pods, _extended(self.kind.workload(self.name, pods, self.scene.host.managed_by)))

    def check_brought(self):
        """All that its pods mount is there, as copies."""
        worker = self.scene.worker(self.placed_in())
        pods = until(lambda: worker.admin.list("pods", self.namespace), f"pods of {self.kind.plural}")
        wanted = {each for pod in pods for each in mounts.needed(pod)} | {
            ("secrets", each["name"]) for pod in pods for each in pod["spec"].get("imagePullSecrets", ())}
        assert ("configmaps", "needed") in wanted, f"the pods of {self.kind.plural} mount {wanted}"
        for plural, name in wanted:
            found = worker.admin.find(plural, self.namespace, name)
            assert found, f"{worker.name} has no {plural} {name}, which a pod of {self.kind.plural} needs"
            assert not name.startswith("needed") or needs.COPY_OF in found["metadata"]["labels"], found["metadata"]


def every_kind_runs_in_workers_that_have_nothing_but_its_controller(scene):
    kinds = [kind for kind in scene.kinds if kind.brings]
    scene.grant(**_settings(kinds))
    scene.use(**_settings(kinds))
    lives = [Brought(scene, kind, "brought", f"{kind.plural}-brought") for kind in kinds]
    for life in lives:
        life.submit(pods="hold")
    wrong = []
    for life in lives:
        try:
            life.until("running")
            life.check_brought()
            life.end()
            life.close()
        except AssertionError as error:
            wrong.append(f"\n  {life.kind.plural}: {error}")
    assert not wrong, "".join(wrong)
    plurals = [*_COPIED, *(each.partition(".")[0] for kind in kinds for each in kind.refers)]

    def gone():
        left = [f"{worker.name}: {plural} {found['metadata']['name']}" for worker in scene.clusters.workers for plural in plurals
                for found in worker.admin.list(plural, selector=needs.COPY_OF)]
        assert not left, "; ".join(left)
        return True
    until(gone, "the copies to be gone after a minute", every=1)
    scene.use()
