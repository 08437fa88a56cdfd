# SPDX-License-Identifier: Apache-2.0
"""The pod of a host that is installed in wharf-system of the management cluster: the files of the image, run as a kubelet would
run them, with the objects that the API server has, but at a free port of 127.0.0.1."""
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

import discovery
from proc import free_port
from skip import Skip
from wait import until

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "package"))
import cases  # noqa: E402,F401
import chart  # noqa: E402
import helm  # noqa: E402,F401
import jail  # noqa: E402

_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_NODE_PATH = "/usr/bin:/usr/sbin:/bin:/sbin"


def to_json(env):
    return os.path.join(os.path.dirname(env.host.wharf), "tests", "to_json")


def kubectl(env, verb, things, *flags):
    """What kubectl says of these objects, a line each."""
    program = chart.kubectl()
    if not program:
        raise Skip("kubectl is not there")
    run = subprocess.run([program, "--kubeconfig", env.clusters.management.admin_config, verb, "-f", "-", *flags], text=True,
                         input=json.dumps({"apiVersion": "v1", "kind": "List", "items": things}), capture_output=True)
    assert run.returncode == 0, run.stderr
    assert "Warning:" not in run.stderr, run.stderr
    return run.stdout.splitlines()


def serves_policies(env):
    """Whether the management cluster has MutatingAdmissionPolicies (Kubernetes 1.36)."""
    policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy"}
    return discovery.resource_of(env.management, policy) is not None


def managed_by(env, body):
    """managedBy of this Job after a dry run of its creation."""
    text = env.management.raw("POST", f"/apis/batch/v1/namespaces/{env.namespace}/jobs", body, query={"dryRun": "All"})
    return json.loads(text)["spec"].get("managedBy")


def token(client):
    """Of ServiceAccount wharf."""
    return client.token_of(chart.NAMESPACE, "wharf")


def worker_secret(worker):
    """The Secret that makes the cluster a worker."""
    with open(worker.authority.certificate, "rb") as file:
        authority = base64.b64encode(file.read()).decode()
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "w", "users": [{"name": "w", "user": {"token": token(worker.admin)}}],
              "clusters": [{"name": "w", "cluster": {"server": f"https://127.0.0.1:{worker.port}", "certificate-authority-data": authority}}],
              "contexts": [{"name": "w", "context": {"cluster": "w", "user": "w"}}]}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": worker.name, "labels": {"wharf.dev/worker": "true"}},
            "stringData": {"kubeconfig": json.dumps(config)}}


def require():
    """Skips where the image cannot be made or run."""
    if not jail.works() or not shutil.which("dpkg-query"):
        raise Skip("dpkg-query or the right to run a program with another root is not there")


class Image:
    """The image's files, made once."""

    def __init__(self, env):
        build = os.path.relpath(os.path.dirname(env.host.wharf), chart.ROOT)
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        run = subprocess.run(["make", f"-j{os.cpu_count()}", "image-root", f"B={build}"], cwd=chart.ROOT, capture_output=True, text=True,
                             env=environment)
        assert run.returncode == 0, run.stdout + run.stderr
        self.files = os.path.join(chart.ROOT, build, "package", "image.root")
        self.env, self.pods = env, 0

    @contextlib.contextmanager
    def run(self):
        """A Pod that runs and is ready, until SIGTERM ends it."""
        self.pods += 1
        pod = Pod(self.env, self.files, os.path.join(self.env.folder, f"pod{self.pods}"))
        with open(pod.log, "wb") as log:
            process = jail.start(pod.root, log, pod.environment(), "/usr/bin/wharf", *pod.container()["args"])
            try:
                until(lambda: pod.http("/readyz") == 200, "the pod to be ready")
                yield pod
            except BaseException:
                print("    --- the pod's log\n" + pod.output()[-4000:])
                raise
            finally:
                code = jail.stop(process)
                shutil.rmtree(pod.root)
        assert code == 0, f"after SIGTERM the pod's process exited with {code}"


class Pod:
    def __init__(self, env, files, root):
        self.env, self.root, self.log, self.port, self.mounted = env, root, root + ".log", free_port(), 0
        shutil.copytree(files, root, symlinks=True)
        account = root + _ACCOUNT
        os.makedirs(account)
        for name, text in (("token", token(env.management)), ("namespace", chart.NAMESPACE)):
            self._write(os.path.join(account, name), text)
        shutil.copy(env.clusters.management.authority.certificate, account + "/ca.crt")
        for path in [os.path.join(place, name) for place, _, names in os.walk(root + "/var") for name in names]:
            os.chmod(path, 0o644)
        self.mount()

    @staticmethod
    def _write(path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def mount(self):
        """Has the ConfigMap as it is now below /etc/wharf, replaced at once as a kubelet does."""
        folder, self.mounted = self.root + "/etc/wharf", self.mounted + 1
        data = f"..{self.mounted}"
        os.makedirs(os.path.join(folder, data))
        found = self.env.management.get("configmaps", chart.NAMESPACE, "wharf")["data"]
        for name, text in found.items():
            self._write(os.path.join(folder, data, name), text.replace("0.0.0.0:9440", f"127.0.0.1:{self.port}"))
            if not os.path.lexists(os.path.join(folder, name)):
                os.symlink(os.path.join("..data", name), os.path.join(folder, name))
        os.symlink(data, os.path.join(folder, "..data_tmp"))
        os.rename(os.path.join(folder, "..data_tmp"), os.path.join(folder, "..data"))

    def container(self):
        return self.env.management.get("deployments", chart.NAMESPACE, "wharf")["spec"]["template"]["spec"]["containers"][0]

    def environment(self):
        own = {each["name"]: each["value"] for each in self.container()["env"]}
        return {"PATH": _NODE_PATH, "KUBERNETES_SERVICE_HOST": "127.0.0.1",
                "KUBERNETES_SERVICE_PORT": str(self.env.clusters.management.port), **own}

    def http(self, path):
        """The HTTP status; 0 if nothing listens."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}") as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def output(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def lines(self, **wanted):
        """The log's complete lines with these members."""
        found = [json.loads(line) for line in self.output().split("\n")[:-1]]
        return [line for line in found if wanted.items() <= line.items()]
