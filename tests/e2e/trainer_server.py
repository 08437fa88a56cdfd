# SPDX-License-Identifier: Apache-2.0
"""A real Trainer of a version that ignores managedBy, for the management cluster: its process, without its webhooks. It is
found in WHARF_CONTROLLERS (default /usr/local/wharf-controllers) as `trainer-2.2.1`, the program itself or a folder with
`manager` or one other program in it. JobSets have no controller: tests write
their statuses."""
import json
import os
import shutil

import crds
import kube
from proc import Process, free_port
from skip import Skip
from wait import until

_NAME = "trainer-2.2.1"
RUNTIME = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime",
    "metadata": {"name": "torch-distributed", "labels": {"trainer.kubeflow.org/framework": "torch"}},
    "spec": {"mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": {"replicatedJobs": [{
        "name": "node", "template": {
            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
            "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "example.invalid/none"}]}}}}}]}}}}


def create_runtime(clients):
    """The runtime that the examples name."""
    paths = [crds.path_of("trainer.kubeflow.org", plural) for plural in ("trainingruntimes", "clustertrainingruntimes")]
    if not all(paths):
        raise Skip("there are no CRDs of the Trainer's runtimes")
    crds.install(clients, dict.fromkeys(paths, "v1alpha1"))
    kube.know("clustertrainingruntimes", "trainer.kubeflow.org/v1alpha1", namespaced=False)
    for client in clients:
        if not client.find("clustertrainingruntimes", None, RUNTIME["metadata"]["name"]):
            client.create("clustertrainingruntimes", None, RUNTIME)


def _program():
    folder = os.environ.get("WHARF_CONTROLLERS", "/usr/local/wharf-controllers")
    path = os.path.join(folder, _NAME)
    inside = [os.path.join(path, name) for name in sorted(os.listdir(path))] if os.path.isdir(path) else [path]
    found = [each for each in inside if os.path.isfile(each) and os.access(each, os.X_OK)]
    named = [each for each in found if os.path.basename(each) == "manager"] or found
    if len(named) != 1:
        raise Skip(f"no {_NAME} in {folder}, or several programs in its folder")
    return named[0]


class Trainer:
    """Acts on TrainJobs once it is entered."""

    def __init__(self, cluster):
        program = _program()
        self.client = cluster.admin
        own = cluster.path(f"trainer-{free_port()}")
        # The certificate of its webhook's server is looked for below TMPDIR.
        certificates = os.path.join(own, "k8s-webhook-server", "serving-certs")
        os.makedirs(certificates)
        certificate, key = cluster.authority.server("trainer")
        shutil.copy(certificate, os.path.join(certificates, "tls.crt"))
        shutil.copy(key, os.path.join(certificates, "tls.key"))
        config = os.path.join(own, "config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({
                "apiVersion": "config.trainer.kubeflow.org/v1alpha1", "kind": "Configuration",
                "health": {"healthProbeBindAddress": f"127.0.0.1:{free_port()}"},
                "metrics": {"bindAddress": f"127.0.0.1:{free_port()}", "secureServing": False},
                "webhook": {"host": "127.0.0.1", "port": free_port()}, "leaderElection": {"leaderElect": False},
                "certManagement": {"enable": False}}, file)
        self.process = Process("trainer", [program, f"--config={config}"], os.path.join(own, "trainer.log"), cwd=own)
        client = cluster.authority.client("trainer", "trainer", "system:masters")
        self.process.more_env = {"KUBECONFIG": cluster.kubeconfig("trainer", client), "TMPDIR": own}

    def __enter__(self):
        self.process.start()
        probe = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "probe"},
                 "spec": {"runtimeRef": {"name": RUNTIME["metadata"]["name"]}}}
        self.client.create("trainjobs", "default", probe)
        try:
            until(lambda: self.client.find("jobsets", "default", "probe"), "Trainer to make a JobSet")
        except BaseException:
            self.process.terminate()
            raise
        finally:
            self.client.delete("trainjobs", "default", "probe")
        return self

    def __exit__(self, *_):
        self.process.terminate()
