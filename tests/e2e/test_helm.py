# SPDX-License-Identifier: Apache-2.0
"""The life of a release: each Helm of this machine installs, upgrades, rolls back and uninstalls the chart in a real API server,
and a host runs with the objects of the release."""
import contextlib
import json
import os
import re
import shutil
import tempfile

import installed
import manifests
from installed import chart, helm
from jobs import job
from kube import ApiError
from skip import Skip
from wait import until

_POLICIES = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
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
            found = self.admin.call("GET", _path(self.admin, thing))
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
        for version, resource in _resources(self.admin):
            for item in self.admin.call("GET", f"{version}/{resource['name']}")["items"]:
                meta = item["metadata"]
                if meta.get("namespace") == self.namespace or "namespace" not in meta and "wharf" in meta["name"]:
                    found.add((resource["kind"], meta["name"]))
        return found


def _resources(admin):
    """(path of the API version, resource) of what can be listed."""
    groups = [group["preferredVersion"]["groupVersion"] for group in admin.call("GET", "/apis")["groups"]]
    for version in ["/api/v1", *("/apis/" + group for group in groups)]:
        for resource in admin.call("GET", version)["resources"]:
            if {"list", "delete"} <= set(resource["verbs"]) and resource["kind"] != "Event":
                yield version, resource


def _path(admin, thing):
    version = ("/apis/" if "/" in thing["apiVersion"] else "/api/") + thing["apiVersion"]
    resource = next(each for each in admin.call("GET", version)["resources"]
                    if each["kind"] == thing["kind"] and "/" not in each["name"])
    within = f"/namespaces/{thing['metadata']['namespace']}" if resource["namespaced"] else ""
    return f"{version}{within}/{resource['name']}/{thing['metadata']['name']}"


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


def _documented(env):
    """The arguments of `helm install` in docs/install.md."""
    with open(os.path.join(chart.ROOT, "docs", "install.md"), encoding="utf-8") as file:
        words = re.search(r"^    helm (install .*)$", file.read(), re.MULTILINE).group(1).split()
    with contextlib.suppress(ApiError):
        env.management.raw("GET", _POLICIES)
        return [os.path.join(chart.ROOT, word) if word.startswith("etc/") else word for word in words]
    raise Skip("this API server has no MutatingAdmissionPolicy of v1")


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
    release.admin.raw("PATCH", _path(release.admin, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {
        "name": "wharf", "namespace": release.namespace}}), {"spec": {"template": {"spec": {"containers": [container]}}}},
        "application/strategic-merge-patch+json")
    release.helm("upgrade", "wharf", newer, values=_UPGRADED)
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
        release, install = _Release(env, helm.programs()[0], chart.NAMESPACE), _documented(env)
        worker, image = env.workers[0], installed.Image(env)
        before = release.everything()
        release.helm(*install)
        with image.run() as pod:
            env.management.create("secrets", chart.NAMESPACE, installed.worker_secret(worker))
            _policy_acts(env)
            env.submit(job("across", managed_by=None, hold="all"))
            assert env.placed("across") == worker.name
            env.until_counts("across", ready=1)
            release.helm("upgrade", "wharf", newer, "--set", "delegate.enabled=true", values=_UPGRADED)
            pod.mount()
            until(lambda: "configuration reloaded" in pod.output(), "the configuration to be reloaded")
            assert pod.http("/readyz") == 200
        with image.run() as pod:   # the Deployment's new pod
            _runs_a_job(env, "upgraded")
            assert pod.lines(level="debug"), "the configuration is not that of the upgrade"
        release.helm("rollback", "wharf", "1")
        with image.run() as pod:
            _runs_a_job(env, "rolled-back")
            assert not pod.lines(level="debug"), "the configuration is not that of the rollback"
            assert not pod.lines(level="error"), pod.lines(level="error")
            until(lambda: env.management.find("configmaps", chart.NAMESPACE, "wharf-workers"), "the worker to be recorded")
        release.helm("uninstall", "wharf")
        left = release.everything() - before
        assert {(kind, name) for kind, name in left if kind != "Lease"} == _OF_THE_HOST, left
        release.helm(*install)
        with image.run() as pod:
            env.release()
            env.until_finished("across")
            assert len(env.mirrors_that_ran("across")) == 1
            env.management.delete("jobs", env.namespace, "across")
            env.until_no_mirror("across")
            env.nothing_was_refused((401, 403, 422))
        release.helm("uninstall", "wharf")
        for kind, name in _OF_THE_HOST:
            env.management.delete(kind.lower() + "s", chart.NAMESPACE, name)


def _policy_acts(env):
    """Jobs of the namespace are delegated by the chart's policy."""
    env.management.patch("namespaces", None, env.namespace, {"metadata": {"labels": {"wharf.dev/delegate": "true"}}})

    def delegated():
        text = env.management.raw("POST", f"/apis/batch/v1/namespaces/{env.namespace}/jobs", job("probe", managed_by=None), query={"dryRun": "All"})
        return json.loads(text)["spec"].get("managedBy") == "wharf.dev/host"
    until(delegated, "the policy to act")


def _runs_a_job(env, name):
    env.submit(job(name, managed_by=None))
    env.until_finished(name)
    env.management.delete("jobs", env.namespace, name)
    env.until_no_mirror(name)
