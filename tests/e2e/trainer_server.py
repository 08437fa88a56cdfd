# SPDX-License-Identifier: Apache-2.0
"""A real Trainer of a version that ignores managedBy, for the management cluster: its process, without its webhooks. It is
found in WHARF_CONTROLLERS (default /usr/local/wharf-controllers) as `trainer-2.2.1`. JobSets have no controller: tests write
their statuses."""
import json
import os
import shutil

import crds
import kube
from proc import Process, free_port
from skip import Skip

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


class Trainer:
    def __init__(self, cluster):
        folder = os.environ.get("WHARF_CONTROLLERS", "/usr/local/wharf-controllers")
        program = os.path.join(folder, _NAME)
        if not os.path.isfile(program) or not os.access(program, os.X_OK):
            raise Skip(f"no {_NAME} in {folder}")
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
        return self

    def __exit__(self, *_):
        self.process.terminate()
