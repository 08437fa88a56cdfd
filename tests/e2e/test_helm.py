# SPDX-License-Identifier: Apache-2.0
"""The life of a release: each Helm of this machine installs, upgrades, rolls back and uninstalls the chart in a real API server,
and a host runs with the objects of the release."""
import contextlib
import os
import re
import shutil
import tempfile

import discovery
import installed
import manifests
from installed import chart, helm, managed_by, serves_policies
from jobs import MANAGED_BY, job
from kube import ApiError
from skip import Skip
from wait import until

_RIGHTS = "rbac-management.yaml"   # of the tests' own host; its names are those of the chart
_UPGRADED = {"config": {"log": {"level": "debug"}, "mirrorRetention": "1s"}, "replicas": 3, "podAnnotations": {"a": "b"},
             "podDisruptionBudget": {"enabled": False}}
_OF_THE_HOST = {("Secret", "wharf-seal"), ("Secret", "w1"), ("ConfigMap", "wharf-workers")}   # and Leases


class _Release:
    """A release `wharf` of the chart in the management cluster."""

    def __init__(self, env, program, namespace):
        self.env, self.admin, self.program, self.namespace = env, env.management, program, namespace

    def helm(self, *arguments, values=None, check=True):
        return helm.run(self.program, *arguments, "--namespace", self.namespace, "--kubeconfig", self.env.clusters.management.admin_config,
                        values=values, check=check)

    def objects(self):
        """What the API server has of the release's objects, by key, without what each write changes."""
        text = self.helm("get", "manifest", "wharf").stdout
        return {chart.key(thing): self.live(thing) for thing in chart.read_yaml(installed.to_json(self.env), text)}

    def live(self, thing):
        """spec, data, rules and the like; None if there is no such object."""
        try:
            found = self.admin.call("GET", discovery.path_of(self.admin, thing))
        except ApiError as error:
            assert error.code == 404, error
            return None
        meta = found.pop("metadata")
        found.pop("status", None)
        return {**found, "labels": meta.get("labels"), "annotations": {name: value for name, value in meta.get("annotations", {}).items()
                                                                         if not name.startswith("deployment.kubernetes.io/")}}

    def everything(self):
        """(kind, name) of each object in the namespace, and of each cluster-scoped one that names wharf."""
        found = set()
        for kind, path in discovery.lists(self.admin):
            for meta in (item["metadata"] for item in self.admin.call("GET", path)["items"] if kind != "Event"):
                if meta.get("namespace") == self.namespace or "namespace" not in meta and "wharf" in meta["name"]:
                    found.add((kind, meta["name"]))
        return found


@contextlib.contextmanager
def _without_own_host(env):
    """The tests' host and its rights are gone meanwhile."""
    if not helm.programs():
        raise Skip("Helm is not there (HELM, PATH, WHARF_CONTROLLERS)")
    if env.host.process.running():
        env.host.stop()
    manifests.delete(env.management, _RIGHTS)
    try:
        yield
    finally:
        manifests.apply(env.management, _RIGHTS)


@contextlib.contextmanager
def _next_version():
    """A copy of the chart as the next release of wharf has it."""
    with tempfile.TemporaryDirectory(prefix="wharf-helm-") as folder:
        copy = os.path.join(folder, "wharf")
        shutil.copytree(chart.FOLDER, copy)
        path = os.path.join(copy, "Chart.yaml")
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"(?m)^((?:appV|v)ersion:) .*$", r"\1 0.1.99", file.read())
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        yield copy


def _documented(delegates):
    """The arguments of `helm install` in docs/install.md."""
    with open(os.path.join(chart.ROOT, "docs", "install.md"), encoding="utf-8") as file:
        line = re.search(r"^    helm (install .*)$", file.read(), re.MULTILINE).group(1)
    policies = " --set delegate.enabled=true"
    assert policies in line, line
    return [os.path.join(chart.ROOT, word) if word.startswith("etc/") else word
            for word in (line if delegates else line.replace(policies, "")).split()]


def each_helm_installs_upgrades_rolls_back_and_uninstalls_the_chart(env):
    with _without_own_host(env), _next_version() as newer:
        for program in helm.programs():
            release = _Release(env, program, "helm-" + "-".join(map(str, helm.version(program))))
            before = release.everything()
            said = release.helm("install", "wharf", chart.FOLDER, "--create-namespace").stdout
            assert f"wharf join --context CONTEXT-OF-THE-WORKER --management-context CONTEXT-OF-THIS-CLUSTER --namespace {release.namespace}" in said, said
            first = release.objects()
            assert len(first) > 10 and all(first.values()), first
            _upgrade(release, newer, first)
            release.helm("rollback", "wharf", "1")
            assert release.objects() == first
            release.helm("uninstall", "wharf")
            left = release.everything() - before - {("Namespace", release.namespace)}
            assert not left, f"{helm.name(program)}: {left}"
            env.management.delete("namespaces", None, release.namespace)
            print(f"        {helm.name(program)}: {len(first)} objects")


def _upgrade(release, newer, first):
    """A newer chart with other values, after a change of the image by hand."""
    container = {"name": "wharf", "image": "wharf:by-hand"}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "wharf", "namespace": release.namespace}}
    release.admin.raw("PATCH", discovery.path_of(release.admin, deployment), {"spec": {"template": {"spec": {"containers": [container]}}}},
                      "application/strategic-merge-patch+json")
    refused = release.helm("upgrade", "wharf", newer, values=_UPGRADED, check=False)
    if refused.returncode != 0:   # a Helm that applies on the server leaves another writer's field alone
        assert helm.version(release.program)[0] > 3 and "conflict" in refused.stderr, helm.message(refused)
        release.helm("upgrade", "wharf", newer, "--force-conflicts", values=_UPGRADED)
    second = release.objects()
    assert all(second.values()), second
    deployment = second["Deployment", release.namespace, "wharf"]
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "wharf:0.1.99", deployment
    assert deployment["spec"]["replicas"] == 3 and deployment["labels"]["helm.sh/chart"] == "wharf-0.1.99", deployment
    assert "level: debug" in second["ConfigMap", release.namespace, "wharf"]["data"]["wharf.yaml"], second
    (removed,) = first.keys() - second.keys()
    assert removed[0] == "PodDisruptionBudget" and not release.live({
        "apiVersion": "policy/v1", "kind": removed[0], "metadata": {"namespace": removed[1], "name": removed[2]}})


def the_host_of_a_release_runs_a_job_through_upgrade_rollback_and_reinstallation(env):
    installed.require()
    with _without_own_host(env), _next_version() as newer:
        delegates = serves_policies(env)
        release, install = _Release(env, helm.programs()[0], chart.NAMESPACE), _documented(delegates)
        worker, image, manager = env.workers[0], installed.Image(env), None if delegates else MANAGED_BY
        before = release.everything()
        release.helm(*install)
        with image.run() as pod:
            env.management.create("secrets", chart.NAMESPACE, installed.worker_secret(worker))
            if delegates:
                _until_delegated(env)
            env.submit(job("across", manager, hold="all"))
            assert env.placed("across") == worker.name
            env.until_counts("across", ready=1)
            release.helm("upgrade", "wharf", newer, "--reuse-values", values=_UPGRADED)
            pod.mount()
            until(lambda: "configuration reloaded" in pod.output(), "the configuration to be reloaded")
            assert pod.http("/readyz") == 200
        with image.run() as pod:   # the Deployment's new pod
            _runs_a_job(env, "upgraded", manager)
            assert pod.lines(level="debug"), "the configuration is not that of the upgrade"
        release.helm("rollback", "wharf", "1")
        with image.run() as pod:
            _runs_a_job(env, "rolled-back", manager)
            assert not pod.lines(level="debug"), "the configuration is not that of the rollback"
            assert not pod.lines(level="error"), pod.lines(level="error")
            until(lambda: env.management.find("configmaps", chart.NAMESPACE, "wharf-workers"), "the worker to be recorded")
        release.helm("uninstall", "wharf")
        left = release.everything() - (before - _OF_THE_HOST)
        assert {(kind, name) for kind, name in left if kind != "Lease"} == _OF_THE_HOST, left
        release.helm(*install)
        with image.run() as pod:
            env.release()
            env.until_finished("across")
            assert len(env.mirrors_that_ran("across")) == 1
            env.management.delete("jobs", env.namespace, "across")
            env.until_no_mirror("across")
            env.nothing_was_refused((401, 403, 422))
            release.helm("uninstall", "wharf")   # takes the rights of a pod that runs
        env.mark()
        for kind, name in _OF_THE_HOST:
            env.management.delete(kind.lower() + "s", chart.NAMESPACE, name)


def _until_delegated(env):
    """Waits until the chart's policy delegates Jobs of the test's namespace."""
    env.management.patch("namespaces", None, env.namespace, {"metadata": {"labels": {"wharf.dev/delegate": "true"}}})
    until(lambda: managed_by(env, job("probe", managed_by=None)) == MANAGED_BY, "the policy to act")


def _runs_a_job(env, name, manager):
    env.submit(job(name, manager))
    env.until_finished(name)
    env.management.delete("jobs", env.namespace, name)
    env.until_no_mirror(name)
