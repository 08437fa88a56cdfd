#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The settings in examples/generic, with objects as the kinds' controllers write them: phases, pods and suspension as
`wharf plan` shows them, and the conformance test.

    generic_kinds_test.py BUILD_FOLDER [unittest arguments]

Needs BUILD_FOLDER/wharf and BUILD_FOLDER/adapters/generic.so.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
WHARF = os.path.join(BUILD, "wharf")
ADAPTERS = os.path.join(BUILD, "adapters")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "examples", "generic")

HEAD = """apiVersion: wharf.dev/v1alpha1
kind: HostConfiguration
management: {kubeconfig: mgmt.kubeconfig}
workers: [{name: w1, kubeconfig: w1.kubeconfig}]
dependencies: {copy: [configmaps, secrets, serviceaccounts%s], check: [priorityclasses.scheduling.k8s.io, storageclasses.storage.k8s.io]}
adapters:
  directory: %s
  enabled:
  - name: generic
    settings:
"""


def text_of(name):
    with open(os.path.join(EXAMPLES, name + ".yaml"), encoding="utf-8") as source:
        return source.read()


def pod_spec(name, cpu="1"):
    return {"containers": [{"name": name, "image": name, "resources": {"requests": {"cpu": cpu}}}]}


def condition(kind, status, **more):
    return {"type": kind, "status": status, "lastTransitionTime": "2026-03-01T12:00:00Z", **more}


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="generic_kinds.", dir=BUILD)
        os.chmod(self.folder, 0o755)

    def tearDown(self):
        shutil.rmtree(self.folder)

    def path(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def plan(self, name, change, *objects, copied=""):
        """What `wharf plan` says of each object, by the settings of this name after `change` of their text."""
        config = self.path("wharf.yaml", HEAD % (copied, ADAPTERS) + re.sub("^(?=.)", "      ", change(text_of(name)), flags=re.MULTILINE))
        documents = self.path("objects.yaml", "\n---\n".join(json.dumps(each) for each in objects))
        done = subprocess.run([WHARF, "plan", "--config", config, "-f", documents], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=240, check=False)
        self.assertEqual(done.stderr, "", done.stdout)
        found = re.split(r"^---\n(?=# \w+ default/a )", done.stdout, flags=re.MULTILINE)[1:]
        self.assertEqual(len(found), len(objects), done.stdout)
        return found

    def phases(self, name, api, kind, *rows, change=lambda text: text):
        """`rows`: the status, its phase, and more of the object, if it is suspended."""
        objects = [{"apiVersion": api, "kind": kind, "metadata": {"name": "a", "namespace": "default", "annotations": {
            "example.com/managed-by": "wharf.dev/host", **annotations}}, "spec": spec, "status": status}
                   for status, _, annotations, spec in rows]
        found = [re.search("^# phase: (.*)", each, re.MULTILINE)[1] for each in self.plan(name, change, *objects)]
        self.assertEqual(found, [phase for _, phase, _, _ in rows])

    def pods(self, name, change=lambda text: text, **more):
        """The pods of an object, as "COUNT NAME"."""
        found, = self.plan(name, change, {"metadata": {"name": "a", "namespace": "default", "annotations": {
            "example.com/managed-by": "wharf.dev/host"}}, **more})
        return [f"{count} {pod}" for count, pod in re.findall(r"^# pods: (\d+): (\w+)", found, re.MULTILINE)]

    def refers(self, name, more, spec, copied=""):
        """What an object refers to, as "RESOURCE NAME", with "(optional)" after some. `more`: of the object."""
        metadata = {"name": "a", "namespace": "default", "annotations": {"example.com/managed-by": "wharf.dev/host"},
                    "labels": {"workflows.argoproj.io/controller-instanceid": "wharf"}}
        found, = self.plan(name, lambda text: text, {**more, "metadata": metadata, "spec": spec}, copied=copied)
        return re.findall(r"^# refers to: ([^ ]+ [^ ,]+(?: \(optional\))?), at", found, re.MULTILINE)


def reads(name):
    """An environment of a Secret."""
    return {"image": "x", "envFrom": [{"secretRef": {"name": name}}]}


def selects(name, **more):
    return {"name": name, "key": "k", **more}


class Kinds(Case):
    def test_every_example_passes_the_conformance_test(self):
        for name in sorted(each[:-len(".yaml")] for each in os.listdir(EXAMPLES)):
            with self.subTest(name=name):
                done = subprocess.run([WHARF, "adapter", "test", os.path.join(ADAPTERS, "generic.so"), "--settings",
                                       os.path.join(EXAMPLES, name + ".yaml")], stdin=subprocess.DEVNULL, capture_output=True,
                                      text=True, timeout=600, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
                self.assertIn(", 0 findings", done.stdout)

    def test_a_star_is_also_a_member_of_a_mapping_in_the_schema(self):
        """With --crd: for references to /spec/stores/*/secret."""
        settings = self.path("settings.yaml", """kinds:
- {group: example.com, versions: [v1], kind: Thing, plural: things, managedBy: {field: /spec/managedBy}, neverFinishes: true,
   references: [{name: /spec/stores/*/secret, kind: Secret}, {name: /spec/stores/*/secrets/*, kind: Secret}]}
""")
        text, names = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
        stores = {"one": {"type": "object", "properties": {"path": text}}, "two": {"type": "object", "properties": {"secret": text}}}
        for secrets, code in ((names, 0), (None, 1)):
            stores["three"] = {"type": "object", "properties": {"secrets": secrets} if secrets else {"path": text}}
            schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {
                "managedBy": text, "stores": {"type": "object", "properties": stores}}}, "status": {"type": "object"}}}
            crd = self.path("crd.yaml", json.dumps({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
                "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"}, "versions": [{
                    "name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {
                        "openAPIV3Schema": schema}}]}}))
            done = subprocess.run([WHARF, "adapter", "test", os.path.join(ADAPTERS, "generic.so"), "--settings", settings, "--crd", crd,
                                   "--quiet"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False)
            self.assertEqual((done.returncode, done.stderr), (code, ""), done.stdout)
            self.assertEqual("references: /spec/stores/*/secrets/* is not in the schema of v1" in done.stdout, code == 1, done.stdout)
            self.assertNotIn("/secret is", done.stdout)

    def test_the_leader_worker_set_is_that_of_the_documentation(self):
        with open(os.path.join(ROOT, "docs", "generic.md"), encoding="utf-8") as source:
            text = source.read()
        described = next(each for each in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if "LeaderWorkerSet" in each)
        group = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {
            "name": "a", "namespace": "default", "annotations": {"example.com/managed-by": "wharf.dev/host"}},
                 "spec": {"replicas": 2, "leaderWorkerTemplate": {"size": 3, "workerTemplate": {"spec": pod_spec("worker")}}},
                 "status": {"conditions": [condition("Progressing", "True")]}}
        found = [self.plan("leaderworkerset", lambda text, each=each: each or text, group) for each in (described, None)]
        self.assertEqual(*found)

    def test_conditions_of_volcano_have_no_type(self):
        api, kind = "batch.volcano.sh/v1alpha1", "Job"

        def status(*phases):
            return {"state": {"phase": phases[-1], "lastTransitionTime": "2026-03-01T12:00:09Z"}, "minAvailable": 2,
                    "conditions": [{"status": each, "lastTransitionTime": "2026-03-01T12:00:09Z"} for each in phases]}
        rows = [(status("Pending"), "Pending, Pending", {}, {}), (status("Pending", "Running"), "Active", {}, {}),
                (status("Pending", "Running", "Restarting"), "Pending, Restarting", {}, {}),
                (status("Running", "Completing", "Completed"), "Succeeded", {}, {}),
                (status("Running", "Terminating", "Terminated"), "Failed", {}, {}),
                (status("Running", "Aborting", "Aborted"), "Suspended, Aborted", {}, {})]
        self.phases("volcano-job", api, kind, *rows)
        self.assertEqual(self.pods("volcano-job", apiVersion=api, kind=kind, spec={"tasks": [
            {"name": "ps", "replicas": 2, "template": {"spec": pod_spec("ps")}},
            {"name": "worker", "replicas": 5, "template": {"spec": pod_spec("worker")}}]}), ["2 ps", "5 worker"])

    def test_the_phase_of_a_flyte_workflow_is_a_number(self):
        api, kind = "flyte.lyft.com/v1alpha1", "FlyteWorkflow"
        error = {"code": "USER:Error", "message": "a task failed", "kind": "USER"}
        rows = [({"phase": 0}, "Pending", {}, {}), ({"phase": 1, "startedAt": "2026-03-01T12:00:00Z"}, "Active", {}, {}),
                ({"phase": 4, "error": error}, "Active", {}, {}), ({"phase": 7, "error": error}, "Active", {}, {}),
                ({"phase": 3, "stoppedAt": "2026-03-01T12:00:09Z"}, "Succeeded", {}, {}),
                ({"phase": 6, "stoppedAt": "2026-03-01T12:00:09Z"}, "Failed", {}, {}),
                ({"phase": 5, "error": error, "stoppedAt": "2026-03-01T12:00:09Z"}, "Failed: a task failed", {}, {})]
        self.phases("flyteworkflow", api, kind, *rows)
        self.assertEqual(self.pods("flyteworkflow", apiVersion=api, kind=kind, tasks={
            "a": {"type": "container", "k8sPod": {"podSpec": pod_spec("train")}}, "b": {"type": "python", "container": {}}}),
                         ["1 train"])

    def test_an_inference_service_is_stopped_by_an_annotation(self):
        api, kind = "serving.kserve.io/v1beta1", "InferenceService"
        ready = {"conditions": [condition("PredictorReady", "True"), condition("Ready", "True"), condition("Stopped", "False")]}
        starting = {"conditions": [condition("PredictorReady", "False", reason="MinimumReplicasUnavailable"),
                                   condition("Ready", "False"), condition("Stopped", "False")]}
        routing = {"conditions": [condition("PredictorReady", "True"), condition("Ready", "False")]}
        stopped = {"conditions": [condition("Stopped", "True", reason="Stopped"), condition("Ready", "False"),
                                  condition("PredictorReady", "False", reason="Stopped")]}
        stop = "serving.kserve.io/stop"
        rows = [(ready, "Active", {}, {}), (starting, "Pending", {}, {}), (routing, "Active", {}, {}),
                (stopped, "Suspended, Stopped", {stop: "true"}, {}), (stopped, "Suspended, Stopped", {stop: "True"}, {}),
                (stopped, "Pending", {stop: "false"}, {}), ({}, "Suspended", {stop: "TRUE"}, {}), ({}, "Pending", {}, {})]
        self.phases("inferenceservice", api, kind, *rows)
        spec = {"predictor": {"minReplicas": 2, "maxReplicas": 4, **pod_spec("model")},
                "transformer": {"minReplicas": 3, **pod_spec("before")}}
        self.assertEqual(self.pods("inferenceservice", apiVersion=api, kind=kind, spec=spec), ["2 model", "3 before"])
        plan, = self.plan("inferenceservice", lambda text: text, {"apiVersion": api, "kind": kind, "metadata": {
            "name": "a", "namespace": "default", "annotations": {"example.com/managed-by": "wharf.dev/host", stop: "true"}},
            "spec": spec})
        self.assertIn("# suspended: by /metadata/annotations/serving.kserve.io~1stop", plan)
        self.assertIn("reason: Stopped", plan)

    def test_a_spark_application_has_many_states(self):
        api, kind = "sparkoperator.k8s.io/v1beta2", "SparkApplication"

        def status(state):
            return {"applicationState": {"state": state}, "executionAttempts": 1, "terminationTime": "2026-03-01T12:00:09Z"}
        suspended = {"suspend": True}
        rows = [(status(state), f"{phase}, {state}", {}, spec) for state, phase, spec in (
            ("SUBMITTED", "Pending", {}), ("SUBMISSION_FAILED", "Pending", {}), ("PENDING_RERUN", "Pending", {}),
            ("RESUMING", "Pending", {}), ("SUSPENDED", "Suspended", suspended), ("SUSPENDED", "Pending", {}),
            ("COMPLETED", "Succeeded", {}), ("FAILED", "Failed", {}))]
        rows += [(status(state), f"Active, {state}", {}, spec) for state, spec in (
            ("RUNNING", {}), ("SUCCEEDING", {}), ("RUNNING", suspended), ("SUSPENDING", suspended))]
        self.phases("sparkapplication", api, kind, *rows)
        self.assertEqual(self.pods("sparkapplication", apiVersion=api, kind=kind, spec={
            "driver": {"template": {"spec": pod_spec("driver")}}, "executor": {"instances": 4, "template": {"spec": pod_spec("executor")}}}),
                         ["1 driver", "4 executor"])

    def test_a_spark_application_refers_to_what_driver_and_executor_mount(self):
        def role(name):
            return {"serviceAccount": f"{name}-account", "priorityClassName": f"{name}-priority",
                    "env": [{"name": "A", "valueFrom": {"configMapKeyRef": selects(f"{name}-env", optional=True)}}],
                    "envFrom": [{"secretRef": {"name": f"{name}-from"}}], "envSecretKeyRefs": {"B": selects(f"{name}-key")},
                    "configMaps": [{"name": f"{name}-files", "path": "/a"}], "secrets": [
                        {"name": f"{name}-secret", "path": "/b", "secretType": "Generic"}],
                    "sidecars": [reads(f"{name}-beside")], "initContainers": [reads(f"{name}-before")],
                    "template": {"spec": {"containers": [reads(f"{name}-template")]}}}
        tls = [{"hosts": ["a.example.com"], "secretName": "tls"}]
        found = self.refers("sparkapplication", {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication"}, {
            "driver": role("driver"), "executor": role("executor"), "sparkConfigMap": "conf", "hadoopConfigMap": "hadoop",
            "imagePullSecrets": ["pull"], "volumes": [{"name": "v", "configMap": {"name": "volume"}}],
            "batchSchedulerOptions": {"priorityClassName": "batch"}, "sparkUIOptions": {"ingressTLS": tls},
            "driverIngressOptions": [{"ingressTLS": [{**tls[0], "secretName": "tls2"}]}]})
        roles = [f"{resource} {each}-{name}" for each in ("driver", "executor") for resource, name in (
            ("serviceaccounts", "account"), ("priorityclasses.scheduling.k8s.io", "priority"), ("configmaps", "env (optional)"),
            ("configmaps", "files"), ("secrets", "from"), ("secrets", "key"), ("secrets", "secret"), ("secrets", "beside"),
            ("secrets", "before"), ("secrets", "template"))]
        self.assertEqual(sorted(found), sorted(roles + [
            "configmaps conf", "configmaps hadoop", "configmaps volume", "secrets pull", "secrets tls (optional)",
            "secrets tls2 (optional)", "priorityclasses.scheduling.k8s.io batch"]))

    def test_a_workflow_refers_to_what_its_templates_need(self):
        def artifact(store, *secrets):
            return {"name": store, store: {each: selects(f"{store}-{number}") for number, each in enumerate(secrets)}}
        spec = {
            "serviceAccountName": "runner", "imagePullSecrets": [{"name": "pull"}], "podPriorityClassName": "high",
            "volumes": [{"name": "v", "secret": {"secretName": "volume", "optional": True}}],
            "volumeClaimTemplates": [{"metadata": {"name": "work"}, "spec": {"storageClassName": "fast"}}],
            "executor": {"serviceAccountName": "executor"}, "artifactRepositoryRef": {"configMap": "repositories"},
            "synchronization": {"semaphores": [{"configMapKeyRef": selects("limits")}]},
            "arguments": {"parameters": [{"name": "p", "valueFrom": {"configMapKeyRef": selects("parameters")}}],
                          "artifacts": [artifact("gcs", "serviceAccountKeySecret")]},
            "templateDefaults": {"container": reads("by-default")},
            "templates": [
                {"name": "a", "serviceAccountName": "other", "container": reads("container"), "initContainers": [reads("init")],
                 "sidecars": [reads("sidecar")], "archiveLocation": artifact("oss", "accessKeySecret", "secretKeySecret"),
                 "inputs": {"artifacts": [artifact("git", "sshPrivateKeySecret"), artifact("azure", "accountKeySecret")],
                            "parameters": [{"name": "p", "valueFrom": {"configMapKeyRef": selects("inputs")}}]},
                 "outputs": {"artifacts": [artifact("s3", "accessKeySecret", "secretKeySecret"),
                                           artifact("artifactory", "usernameSecret"), artifact("hdfs", "krbConfigConfigMap")]}},
                {"name": "b", "script": reads("script"), "volumes": [{"name": "v", "configMap": {"name": "{{inputs.parameters.p}}"}}]},
                {"name": "c", "containerSet": {"containers": [reads("set")]}},
                {"name": "d", "http": {"url": "x", "headers": [{"name": "A", "valueFrom": {"secretKeyRef": selects("header")}}]}}]}
        of_workflow = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow"}
        self.assertEqual(sorted(self.refers("workflow", of_workflow, spec)), sorted([
            "serviceaccounts runner", "serviceaccounts other", "serviceaccounts executor", "priorityclasses.scheduling.k8s.io high",
            "storageclasses.storage.k8s.io fast", "configmaps parameters", "configmaps inputs", "configmaps limits",
            "configmaps repositories (optional)", "secrets volume (optional)", *(f"secrets {each}" for each in (
                "pull", "container", "init", "sidecar", "script", "set", "header", "by-default", "gcs-0", "oss-0", "oss-1",
                "git-0", "azure-0", "s3-0", "s3-1", "artifactory-0"))]))

    def test_a_workflow_refers_to_workflow_templates(self):
        spec = {"workflowTemplateRef": {"name": "all"}, "templates": [
            {"name": "a", "steps": [[{"name": "s", "templateRef": {"name": "of-step", "template": "x"}}]]},
            {"name": "b", "dag": {"tasks": [{"name": "t", "templateRef": {"name": "of-task", "template": "x"}}, {
                "name": "u", "templateRef": {"name": "wide", "template": "x", "clusterScope": True}}]}}]}
        of_workflow, resource = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow"}, "workflowtemplates.argoproj.io"
        self.assertEqual(self.refers("workflow", of_workflow, spec, copied=f", {resource}"), [
            f"{resource} {each}" for each in ("all", "of-step", "of-task")])
        del spec["templates"]
        spec["workflowTemplateRef"]["clusterScope"] = True
        self.assertEqual(self.refers("workflow", of_workflow, spec, copied=f", {resource}"), [])

    def test_a_workflow_template_refers_to_what_a_workflow_does(self):
        """Each row of the Workflow, except that for `workflowTemplateRef`, has one with `of`."""
        references = text_of("workflow").split("references:\n")[1].split("  phases:\n")[0]
        rows = re.split("^  - ", re.sub(" *#.*", "", references), flags=re.MULTILINE)[1:]

        def plain(row):
            return re.sub(r"of: [a-z.]+(, |\n +)|\s+$", "", row)
        own, of = ({plain(row) for row in rows if ("of: " in row) == wanted} for wanted in (False, True))
        self.assertEqual({row for row in own if "/spec/workflowTemplateRef" not in row}, of)

    def test_a_group_of_leader_and_workers_counts_the_leader(self):
        api, kind, name = "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "leaderworkerset"
        rows = [({"conditions": [condition("Available", "False"), condition("Progressing", "True")]}, "Pending", {}, {}),
                ({"conditions": [condition("Progressing", "True"), condition("UpdateInProgress", "True")]}, "Active", {}, {}),
                ({"conditions": [condition("Available", "True"), condition("Progressing", "False")]}, "Active", {}, {})]
        self.phases(name, api, kind, *rows)
        template = {"size": 4, "workerTemplate": {"spec": pod_spec("worker")}}
        spec = {"replicas": 3, "leaderWorkerTemplate": template}
        self.assertEqual(self.pods(name, apiVersion=api, kind=kind, spec=spec), ["3 worker", "9 worker"])
        template["leaderTemplate"] = {"spec": pod_spec("leader")}
        self.assertEqual(self.pods(name, apiVersion=api, kind=kind, spec=spec), ["3 leader", "9 worker"])
        template["workerTemplate"]["spec"]["containers"] = [reads("worker")]
        template["volumeClaimTemplates"] = [{"metadata": {"name": "work"}, "spec": {"storageClassName": "fast"}}]
        self.assertEqual(self.refers(name, {"apiVersion": api, "kind": kind}, spec), ["secrets worker", "storageclasses.storage.k8s.io fast"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
