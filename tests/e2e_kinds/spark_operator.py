# SPDX-License-Identifier: Apache-2.0
"""The Spark operator, whose SparkApplications the generic adapter's settings describe. They have no managedBy: the operator would
run what is delegated, and so is not in the management cluster. The programs of Spark that it needs are played: spark_submit.py,
spark_drivers.py."""
import os

from controllers import Project
from kind import Kind, at
from nodes import PODS
from spark_drivers import Drivers

_SPACE, _API = "spark-operator", "sparkoperator.k8s.io/v1beta2"
_MANAGER = "/metadata/annotations/example.com~1managed-by"


def _program(controller, part, *more):
    arguments, environment = controller.container("spark-operator-" + part)
    own = {"--metrics-bind-address": f"127.0.0.1:{controller.port()}", "--health-probe-bind-address": f"127.0.0.1:{controller.port()}",
           "--leader-election": "false", "--kube-api-qps": "500", "--kube-api-burst": "1000", **dict(more)}
    kept = [each for each in arguments if each.split("=")[0] not in own]
    return "operator", [*kept, *(f"{name}={value}" for name, value in own.items())], {
        **environment, "KUBECONFIG": controller.kubeconfig("spark-operator-" + part)}


def _spark_home(controller):
    home = controller.path("spark")
    os.makedirs(os.path.join(home, "bin"), exist_ok=True)
    submit = os.path.join(home, "bin", "spark-submit")
    if not os.path.exists(submit):
        os.symlink(os.path.join(os.path.dirname(os.path.abspath(__file__)), "spark_submit.py"), submit)
    return home


def _start(controller):
    drivers = Drivers(controller.cluster)
    drivers.start()
    controller.companions.append(drivers)
    program, arguments, environment = _program(controller, "controller")
    return [(program, arguments, {**environment, "SPARK_HOME": _spark_home(controller), "KUBERNETES_SERVICE_HOST": "127.0.0.1",
                                  "KUBERNETES_SERVICE_PORT": str(controller.cluster.port)}),
            _program(controller, "webhook", ("--webhook-port", str(controller.webhook_port)), ("--webhook-cert-dir", controller.path("served")))]


PROJECT = Project("spark-operator", ("operator",), _SPACE, "spark-operator-controller", _start, services=True, deaf=lambda version: True,
                  # The webhook writes its own certificate into the webhooks' configurations.
                  healthy=lambda controller: controller.accepts("sparkapplications", _API, _body({})))


def _body(pods):
    """The driver's pod ends as asked, its executors run until it does."""
    return {"kind": "SparkApplication", "spec": {
        "type": "Scala", "mode": "cluster", "image": "apache/spark:4.0.4", "imagePullPolicy": "IfNotPresent",
        "mainClass": "org.apache.spark.examples.SparkPi",
        "mainApplicationFile": "local:///opt/spark/examples/jars/spark-examples.jar", "arguments": ["5000"], "sparkVersion": "4.0.4",
        "restartPolicy": {"type": "Never"},
        "driver": {"labels": {"version": "4.0.0"}, "annotations": pods, "cores": 1, "memory": "512m",
                   "serviceAccount": "spark-operator-spark"},
        "executor": {"labels": {"version": "4.0.0"}, "instances": 1, "cores": 1, "memory": "512m"}}}


def _phase(found):
    state = at(found, "/status/applicationState/state")
    if state == "RUNNING":
        return "running" if "RUNNING" in (at(found, "/status/executorState") or {}).values() else None
    if state is None and at(found, "/spec/suspend"):
        return "suspended"
    return {"COMPLETED": "succeeded", "FAILED": "failed", "SUSPENDED": "suspended"}.get(state)


def _without_nulls(status):
    """The operator writes unset times as null, which a merge patch cannot."""
    return {key: value for key, value in status.items() if value is not None}


def _submission_fails(life):
    """The driver's pod is there already, made by somebody else."""
    for worker in life.scene.clusters.workers:
        worker.admin.create("pods", life.namespace, {"metadata": {"name": life.name + "-driver", "annotations": {PODS: "run"}}, "spec": {
            "containers": [{"name": "other", "image": "other"}]}})
    life.submit()
    life.until("failed")
    message = at(life.workload(), "/status/applicationState/errorMessage") or ""
    assert "driver pod already exist" in message, message
    for worker in life.scene.clusters.workers:
        worker.admin.delete("pods", life.namespace, life.name + "-driver")


KINDS = [Kind(
    "sparkapplications", _API, _body, _phase, project=PROJECT, adapter="generic", brings=False, managed_by=(_MANAGER, None),
    only_in_mirror=("/driverInfo/webUIAddress",), status_rule=_without_nulls, children=("services", "configmaps"),
    retry={"spec": {"restartPolicy": {"type": "OnFailure", "onFailureRetries": 2, "onFailureRetryInterval": 1}}},
    ttl={"spec": {"timeToLiveSeconds": 1}}, cases={"submission-failure": _submission_fails})]
