# SPDX-License-Identifier: Apache-2.0
"""What people install: the kustomizations and the chart, as a real API server takes them."""
import json
import os
import subprocess
import sys

from jobs import job
from kube import ApiError
from skip import Skip
from wait import until

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "package"))
import chart  # noqa: E402

_MONITORS = ("ServiceMonitor", "PodMonitor")   # of a CRD that these clusters do not have
_POLICIES = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
_LABEL = "wharf.dev/delegate"


def _to_json(env):
    return os.path.join(os.path.dirname(env.host.wharf), "tests", "to_json")


def _kubectl(env, verb, things, *flags):
    program = chart.kubectl()
    if not program:
        raise Skip("kubectl is not there")
    run = subprocess.run([program, "--kubeconfig", env.clusters.management.admin_config, verb, "-f", "-", *flags], text=True,
                         input=json.dumps({"apiVersion": "v1", "kind": "List", "items": things}), capture_output=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


def _accepted(env, things):
    """A dry run of all of them: every field is known to the server, none is set twice, none is dropped."""
    here = [thing for thing in things if thing["kind"] not in _MONITORS]
    lines = _kubectl(env, "apply", here, "--server-side", "--dry-run=server", "--validate=strict", "--force-conflicts")
    assert len(lines) == len(here), "\n".join(lines)
    for thing in things:
        if thing["kind"] in _MONITORS:
            print(f"        not sent: {thing['kind']} (its CRD is not there)")


def the_kustomizations_are_accepted(env):
    if not chart.kubectl():
        raise Skip("kubectl is not there")
    for folder in ("etc/kubernetes", "etc/overlays/development", "etc/overlays/air-gapped"):
        things = chart.kustomize(_to_json(env), folder)
        assert len(things) > 10, things
        _accepted(env, things)


def the_chart_is_accepted_with_everything_on(env):
    everything = {"adapters": {"enabled": [{"name": name[:-len(".yaml")]} for name in os.listdir(chart.FOLDER + "/files/delegate")]}}
    on = {"enabled": True}
    _accepted(env, chart.render(_to_json(env)))
    things = chart.render(_to_json(env), {"delegate": on, "serviceMonitor": on, "podMonitor": on, "config": everything})
    assert sum(thing["kind"] == "MutatingAdmissionPolicy" for thing in things) == 8, things
    _accepted(env, things)


def the_pod_is_restricted_as_its_namespace_demands(env):
    things = {chart.key(thing): thing for thing in chart.kustomize(_to_json(env), "etc/kubernetes")}
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
        policy = chart.read_yaml(_to_json(env), file.read())
    try:
        env.management.raw("GET", _POLICIES)
    except ApiError as error:
        raise Skip("this API server has no MutatingAdmissionPolicy of v1") from error
    _kubectl(env, "apply", policy, "--server-side")
    try:
        env.management.patch("namespaces", None, env.namespace, {"metadata": {"labels": {_LABEL: "true"}}})
        until(lambda: _managed(env, job("probe", managed_by=None)) == "wharf.dev/host", "the policy to act", timeout=60)
        _exceptions(env)
        env.submit(job("plain", managed_by=None))
        assert env.job("plain")["spec"]["managedBy"] == "wharf.dev/host"
        env.placed("plain")
        env.until_finished("plain")
        env.until_no_mirror("plain")
        env.management.patch("namespaces", None, env.namespace, {"metadata": {"labels": {_LABEL: None}}})
        until(lambda: _managed(env, job("probe", managed_by=None)) is None, "the namespace to be as before")
    finally:
        _kubectl(env, "delete", policy)


def _managed(env, body):
    """What managedBy is after a dry run of its creation."""
    text = env.management.raw("POST", f"/apis/batch/v1/namespaces/{env.namespace}/jobs", body, query={"dryRun": "All"})
    return json.loads(text)["spec"].get("managedBy")


def _exceptions(env):
    own = "kubernetes.io/job-controller"
    assert _managed(env, job("named", managed_by=own)) == own
    assert _managed(env, job("excepted", managed_by=None, labels={_LABEL: "false"})) is None
    assert _managed(env, job("labelled", managed_by=None, labels={_LABEL: "true"})) == "wharf.dev/host"
    for kind, wanted in (("JobSet", None), ("CronJob", "wharf.dev/host")):
        owned = job("owned", managed_by=None)
        owned["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": kind, "name": "x", "uid": "u", "controller": True}]
        assert _managed(env, owned) == wanted, kind
