# SPDX-License-Identifier: Apache-2.0
"""What people install: the kustomizations and the chart, as a real API server takes them."""
import base64
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request

from jobs import job
from kube import ApiError
from proc import free_port
from skip import Skip
from wait import until

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "package"))
import chart  # noqa: E402
import jail  # noqa: E402

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
                         input=json.dumps({"apiVersion": "v1", "kind": "List", "items": things}), capture_output=True)
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


def the_network_policy_is_of_the_pods_and_ports_that_are_there(env):
    """No network plugin runs here: that it is enforced is not tested."""
    things = {chart.key(thing): thing for thing in chart.kustomize(_to_json(env), "etc/kubernetes")}
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
        until(lambda: _managed(env, job("probe", managed_by=None)) == "wharf.dev/host", "the policy to act")
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


def the_image_runs_with_what_the_base_installs_and_takes_a_worker_from_a_secret(env):
    """The files of the image, as the pod's user and with the pod's token, on the objects of etc/kubernetes."""
    if not chart.kubectl() or not jail.works() or not shutil.which("dpkg-query"):
        raise Skip("kubectl, dpkg-query or the right to run a program with another root is not there")
    if env.host.process.running():
        env.host.stop()   # one host of this controllerName at a time
    things = chart.kustomize(_to_json(env), "etc/kubernetes")
    _kubectl(env, "apply", things, "--server-side", "--force-conflicts")
    worker = env.workers[0]
    with _pod(env, things) as (port, log):
        until(lambda: _http(port, "/readyz") == 200, "the pod to be ready")
        env.management.create("secrets", chart.NAMESPACE, _secret(worker))
        env.submit(job("installed"))
        assert env.placed("installed") == worker.name
        env.until_finished("installed")
        env.management.delete("jobs", env.namespace, "installed")
        env.until_no_mirror("installed")
        assert _http(port, "/metrics") == 200
        assert env.management.find("secrets", chart.NAMESPACE, "wharf-seal"), "no key for seals was made"
        with open(log, encoding="utf-8") as file:   # it is being written: what is behind the last newline is not a line yet
            lines = [json.loads(line) for line in file.read().split("\n")[:-1]]
        wrong = [line for line in lines if line.get("level") == "error"]
        assert not wrong, wrong
    for name in (worker.name, "wharf-seal"):
        env.management.delete("secrets", chart.NAMESPACE, name)
    _kubectl(env, "delete", [thing for thing in things if thing["kind"] in ("Deployment", "ConfigMap", "Service", "NetworkPolicy",
                                                                          "PodDisruptionBudget")])


def _http(port, path):
    """The HTTP status; 0 if nothing listens."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def _token(client):
    return client.create("serviceaccounts", chart.NAMESPACE, {
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 7200}}, "token", "wharf")["status"]["token"]


def _secret(worker):
    with open(worker.authority.certificate, "rb") as file:
        authority = base64.b64encode(file.read()).decode()
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "w", "users": [{"name": "w", "user": {"token": _token(worker.admin)}}],
              "clusters": [{"name": "w", "cluster": {"server": f"https://127.0.0.1:{worker.port}", "certificate-authority-data": authority}}],
              "contexts": [{"name": "w", "context": {"cluster": "w", "user": "w"}}]}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": worker.name, "labels": {"wharf.dev/worker": "true"}},
            "stringData": {"kubeconfig": json.dumps(config)}}


def _image_root(env):
    build = os.path.relpath(os.path.dirname(env.host.wharf), chart.ROOT)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    run = subprocess.run(["make", f"-j{os.cpu_count()}", "image-root", f"B={build}"], cwd=chart.ROOT, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stdout + run.stderr
    root = os.path.join(env.folder, "image")
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(os.path.join(chart.ROOT, build, "package", "image.root"), root, symlinks=True)
    return root


@contextlib.contextmanager
def _pod(env, things):
    """The container of the Deployment, as a kubelet would start it, but at a free port of 127.0.0.1; its port and its log."""
    root, port = _image_root(env), free_port()
    things = {chart.key(thing): thing for thing in things}
    account = root + "/var/run/secrets/kubernetes.io/serviceaccount"
    os.makedirs(account)
    config = things["ConfigMap", chart.NAMESPACE, "wharf"]["data"]["wharf.yaml"].replace("0.0.0.0:9440", f"127.0.0.1:{port}")
    for path, text in ((root + "/etc/wharf/wharf.yaml", config), (account + "/token", _token(env.management)),
                       (account + "/namespace", chart.NAMESPACE)):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    shutil.copy(env.clusters.management.authority.certificate, account + "/ca.crt")
    for path in [os.path.join(place, name) for place, _, names in os.walk(root + "/var") for name in names]:
        os.chmod(path, 0o644)
    container = things["Deployment", chart.NAMESPACE, "wharf"]["spec"]["template"]["spec"]["containers"][0]
    environment = {"PATH": "/usr/bin:/usr/sbin:/bin:/sbin", "KUBERNETES_SERVICE_HOST": "127.0.0.1",
                   "KUBERNETES_SERVICE_PORT": str(env.clusters.management.port), **{each["name"]: each["value"] for each in container["env"]}}
    with open(os.path.join(env.folder, "pod.log"), "wb") as log:
        process = jail.start(root, log, environment, "/usr/bin/wharf", *container["args"])
        try:
            yield port, log.name
        except BaseException:
            with open(log.name, encoding="utf-8", errors="replace") as file:
                print("    --- the pod's log\n" + file.read()[-4000:])
            raise
        finally:
            code = jail.stop(process)
        assert code == 0, f"after SIGTERM the pod's process exited with {code}"
