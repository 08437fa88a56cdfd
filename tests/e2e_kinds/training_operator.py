# SPDX-License-Identifier: Apache-2.0
"""Training Operator: PyTorchJob, TFJob, XGBoostJob, JAXJob, PaddleJob."""
import base64
import os
import shutil

from controllers import Project
from kind import KUEUE, Kind, by_conditions, condition
from pki import Authority

# The kinds whose controllers heed managedBy. Not MPIJob: the operator ends where that is MPI Operator's.
_HEEDING = ("pytorchjob", "tfjob", "xgboostjob", "paddlejob")
# The operator waits for a file at this fixed path, but serves with those below TMPDIR.
_MOUNTED = "/tmp/k8s-webhook-server/serving-certs"


def _certificates(controller):
    """What the operator has left in its Secret when it starts for the second time; mounted."""
    authority = Authority(controller.path("authority"), 365, ("subjectAltName=DNS:training-operator-ca",), key=("rsa:2048",))
    certificate, key = authority.issue("hook", "/CN=training-operator.kubeflow.svc", (
        "extendedKeyUsage=serverAuth", "subjectAltName=DNS:training-operator.kubeflow.svc,IP:127.0.0.1"))
    files = {"ca.crt": authority.certificate, "ca.key": authority.key_in_pkcs1(), "tls.crt": certificate, "tls.key": key}
    folder, data = controller.path("k8s-webhook-server/serving-certs"), {}
    os.makedirs(folder, exist_ok=True)
    for name, source in files.items():
        shutil.copy(source, os.path.join(folder, name))
        with open(source, "rb") as file:
            data[name] = base64.b64encode(file.read()).decode()
    controller.cluster.admin.patch("secrets", "kubeflow", "training-operator-webhook-cert", {"data": data})
    os.makedirs(_MOUNTED, exist_ok=True)
    if not os.path.exists(os.path.join(_MOUNTED, "tls.crt")):
        with open(os.path.join(_MOUNTED, "tls.crt"), "wb"):
            pass


def _start(controller):
    _certificates(controller)
    arguments = [f"--metrics-bind-address=127.0.0.1:{controller.port()}", f"--health-probe-bind-address={controller.probed}",
                 f"--webhook-server-port={controller.webhook_port}", "--kube-api-qps=200", "--kube-api-burst=400"]
    kinds = _HEEDING if controller.cluster.name == "management" else (*_HEEDING, "jaxjob")
    arguments += [f"--enable-scheme={each}" for each in kinds]
    return [("manager", arguments, {"TMPDIR": controller.folder, "MY_POD_NAMESPACE": "kubeflow"})]


def _adapted(controller, document):
    """In the management cluster the operator runs without JAXJob, whose controller ignores managedBy. MPIJob is MPI Operator's."""
    if document["kind"] == "CustomResourceDefinition" and document["spec"]["names"]["kind"] == "MPIJob":
        return None
    if document["kind"] == "ValidatingWebhookConfiguration" and controller.cluster.name == "management":
        return {**document, "webhooks": [each for each in document["webhooks"] if "jaxjob" not in each["name"]]}
    return document


PROJECT = Project("training-operator", ("manager",), "kubeflow", "training-operator", _start, adapted=_adapted,
                  healthy=lambda controller: controller.answers("/readyz"))


def _is_running(found):
    replicas = found.get("status", {}).get("replicaStatuses", {}).values()
    return condition(found, "Running") and replicas and all(each.get("active") for each in replicas)


def _has_workers(number):
    return lambda found: found["status"]["replicaStatuses"]["Worker"].get("active") == number


def _replicas(number, pods, container):
    return {"replicas": number, "restartPolicy": "ExitCode", "template": {
        "metadata": {"annotations": pods}, "spec": {"containers": [container]}}}


def _kind(plural, name, specs, container, roles, retry=None, **more):
    """`roles`: {role: replicas}; `retry`: other ones where a pod's failure would be too late to matter."""
    def body(pods):
        return {"kind": name, "spec": {specs: {role: _replicas(number, pods, container) for role, number in roles.items()}}}
    return Kind(plural, "kubeflow.org/v1", body, by_conditions("Succeeded", _is_running), project=PROJECT, adapter="kubeflow",
                managed_by=("/spec/runPolicy/managedBy", KUEUE), suspend=("/spec/runPolicy/suspend", True, False),
                children=("services",), only_in_mirror=("/replicaStatuses/*/selector", "/replicaStatuses/*/labelSelector"),
                retry={"spec": {specs: retry}} if retry else {}, retried="kill",
                ttl={"spec": {"runPolicy": {"ttlSecondsAfterFinished": 1}}},
                scale=({"spec": {specs: {"Worker": {"replicas": roles["Worker"] + 1}}}}, _has_workers(roles["Worker"] + 1)),
                templates=lambda spec: [each["template"] for each in spec[specs].values()],
                versions={"services": ("v1", True)}, **more)


def _elastic(life):
    """As the project's example of an elastic PyTorchJob: workers alone, of which one is taken away."""
    life.submit(pods="hold", patch={"spec": {
        "elasticPolicy": {"rdzvBackend": "c10d", "minReplicas": 1, "maxReplicas": 2, "maxRestarts": 100},
        "pytorchReplicaSpecs": {"Master": None, "Worker": {"replicas": 2}}}})
    life.until("running")
    life.change({"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 1}}}})
    life.until_status("scaled", _has_workers(1))
    life.end()


KINDS = [
    _kind("pytorchjobs", "PyTorchJob", "pytorchReplicaSpecs", {
        "name": "pytorch", "image": "kubeflowkatib/pytorch-mnist:v1beta1-45c5727",
        "command": ["python3", "/opt/pytorch-mnist/mnist.py", "--epochs=1"]}, {"Master": 1, "Worker": 1},
        retry={"Worker": None}, cases={"elastic": _elastic}),
    _kind("tfjobs", "TFJob", "tfReplicaSpecs", {
        "name": "tensorflow", "image": "kubeflow/tf-mnist-with-summaries:latest",
        "command": ["python", "/var/tf_mnist/mnist_with_summaries.py"]}, {"Worker": 2}, retry={"Worker": {"replicas": 1}}),
    _kind("xgboostjobs", "XGBoostJob", "xgbReplicaSpecs", {
        "name": "xgboost", "image": "kubeflow/xgboost-dist-iris:latest",
        "ports": [{"containerPort": 9991, "name": "xgboostjob-port"}],
        "args": ["--job_type=Train", "--n_estimators=10", "--learning_rate=0.1"]}, {"Master": 1, "Worker": 2}),
    _kind("jaxjobs", "JAXJob", "jaxReplicaSpecs", {
        "name": "jax", "image": "kubeflow/jaxjob-simple:latest", "command": ["python3", "train.py"]}, {"Worker": 2}),
    _kind("paddlejobs", "PaddleJob", "paddleReplicaSpecs", {
        "name": "paddle", "image": "paddlepaddle/paddle:2.4.0rc0-cpu", "command": ["python"],
        "args": ["-m", "paddle.distributed.launch", "run_check"], "ports": [{"containerPort": 37777, "name": "master"}]}, {"Worker": 2}),
]
