# SPDX-License-Identifier: Apache-2.0
"""What people install: the kustomizations and the chart, as a real API server takes them."""
import os
import re

import installed
from installed import chart, kubectl, managed_by, serves_policies, to_json
from jobs import job
from kube import ApiError
from skip import Skip
from wait import until

_LABEL = "wharf.dev/delegate"


def the_network_policy_is_of_the_pods_and_ports_that_are_there(env):
    """No network plugin runs here: that it is enforced is not tested."""
    things = {chart.key(thing): thing for thing in chart.kustomize(to_json(env), "etc/kubernetes")}
    template = things["Deployment", chart.NAMESPACE, "wharf"]["spec"]["template"]
    policy, service = (things[kind, chart.NAMESPACE, "wharf"]["spec"] for kind in ("NetworkPolicy", "Service"))
    labels, ports = template["metadata"]["labels"], {each["name"]: each["containerPort"] for each in template["spec"]["containers"][0]["ports"]}
    for selector in (policy["podSelector"]["matchLabels"], service["selector"]):
        assert selector and selector.items() <= labels.items(), (selector, labels)
    assert policy["policyTypes"] == ["Ingress"] and len(policy["ingress"]) == 1, policy
    named = {port["port"] for port in policy["ingress"][0]["ports"]}
    assert named == {"http"} <= set(ports) and {each["targetPort"] for each in service["ports"]} == named, (policy, service, ports)
    address = re.search(r"^serve:.*?address: *\S+?:(\d+)", things["ConfigMap", chart.NAMESPACE, "wharf"]["data"]["wharf.yaml"], re.DOTALL | re.MULTILINE)
    assert int(address.group(1)) == ports["http"], address
    # What it admits exists under that name, or is a label that its own text has operators set.
    sources = [source["namespaceSelector"]["matchLabels"] for source in policy["ingress"][0]["from"]]
    assert all(source.keys() == {"namespaceSelector"} for source in policy["ingress"][0]["from"]), policy
    system = env.management.get("namespaces", None, "kube-system")["metadata"]["labels"]
    with open(os.path.join(chart.ROOT, "etc/kubernetes/networkpolicy.yaml"), encoding="utf-8") as file:
        text = file.read()
    for source in sources:
        told = all(f"kubectl label namespace monitoring {key}={value}" in text for key, value in source.items())
        assert source.items() <= system.items() or told, source


def the_pod_is_restricted_as_its_namespace_demands(env):
    things = {chart.key(thing): thing for thing in chart.kustomize(to_json(env), "etc/kubernetes")}
    spec = things["Deployment", chart.NAMESPACE, "wharf"]["spec"]["template"]["spec"]
    _create_pod(env, spec)
    for change in ({"hostNetwork": True}, {"securityContext": {}}):
        try:
            _create_pod(env, {**spec, **change})
        except ApiError as error:
            assert "PodSecurity" in str(error), error
        else:
            raise AssertionError(f"a pod with {change} is accepted: the namespace demands nothing")


def _create_pod(env, spec):
    env.management.raw("POST", f"/api/v1/namespaces/{chart.NAMESPACE}/pods", query={"dryRun": "All"}, body={
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "wharf-dry-run"}, "spec": spec})


def jobs_in_a_labelled_namespace_are_delegated_by_the_policy(env):
    """The real policy: a Job that names no manager runs in a worker; exceptions are left alone."""
    env.host.use()
    with open(os.path.join(chart.ROOT, "etc/overlays/components/delegate/job.yaml"), encoding="utf-8") as file:
        policy = chart.read_yaml(to_json(env), file.read())
    if not serves_policies(env):
        raise Skip("this API server has no MutatingAdmissionPolicy of v1")
    kubectl(env, "apply", policy, "--server-side")
    try:
        env.management.patch("namespaces", None, env.namespace, {"metadata": {"labels": {_LABEL: "true"}}})
        until(lambda: managed_by(env, job("probe", managed_by=None)) == "wharf.dev/host", "the policy to act")
        _exceptions(env)
        env.submit(job("plain", managed_by=None))
        assert env.job("plain")["spec"]["managedBy"] == "wharf.dev/host"
        env.placed("plain")
        env.until_finished("plain")
        env.until_no_mirror("plain")
        env.management.patch("namespaces", None, env.namespace, {"metadata": {"labels": {_LABEL: None}}})
        until(lambda: managed_by(env, job("probe", managed_by=None)) is None, "the namespace to be as before")
    finally:
        kubectl(env, "delete", policy)


def _exceptions(env):
    own = "kubernetes.io/job-controller"
    assert managed_by(env, job("named", managed_by=own)) == own
    assert managed_by(env, job("excepted", managed_by=None, labels={_LABEL: "false"})) is None
    assert managed_by(env, job("labelled", managed_by=None, labels={_LABEL: "true"})) == "wharf.dev/host"
    for kind, wanted in (("JobSet", None), ("CronJob", "wharf.dev/host")):
        owned = job("owned", managed_by=None)
        owned["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": kind, "name": "x", "uid": "u", "controller": True}]
        assert managed_by(env, owned) == wanted, kind


def the_image_runs_with_what_the_base_installs_and_takes_a_worker_from_a_secret(env):
    """The files of the image, as the pod's user and with the pod's token, on the objects of etc/kubernetes."""
    installed.require()
    if env.host.process.running():
        env.host.stop()   # one host of this controllerName at a time
    things = chart.kustomize(to_json(env), "etc/kubernetes")
    kubectl(env, "apply", things, "--server-side", "--force-conflicts")
    worker = env.workers[0]
    with installed.Image(env).run() as pod:
        env.management.create("secrets", chart.NAMESPACE, installed.worker_secret(worker))
        env.submit(job("installed"))
        assert env.placed("installed") == worker.name
        env.until_finished("installed")
        env.management.delete("jobs", env.namespace, "installed")
        env.until_no_mirror("installed")
        assert pod.http("/metrics") == 200
        assert env.management.find("secrets", chart.NAMESPACE, "wharf-seal"), "no key for seals was made"
        wrong = pod.lines(level="error")
        assert not wrong, wrong
    for name in (worker.name, "wharf-seal"):
        env.management.delete("secrets", chart.NAMESPACE, name)
    kubectl(env, "delete", [thing for thing in things if thing["kind"] in ("Deployment", "ConfigMap", "Service", "NetworkPolicy",
                                                                         "PodDisruptionBudget")])
