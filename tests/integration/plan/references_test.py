# SPDX-License-Identifier: Apache-2.0
"""The objects that a workload refers to, in `wharf plan`: by the configuration, and as they are in the clusters."""
import json

from case import DELEGATED, WRONG, Case, job, kubeconfig
from worker_test import Worker, failure

COPIED = "dependencies: {copy: [configmaps, secrets, serviceaccounts], check: [priorityclasses.scheduling.k8s.io]}\n"
PODS = "/spec/template/spec/"


def pod_job(**spec):
    value = job()
    value["spec"]["template"]["spec"].update(spec)
    return value


def volumes(*names, **more):
    return [{"name": name, "configMap": {"name": name, **more}} for name in names]


def document(kind, name, api="v1", namespace="default", labels=None, **more):
    metadata = {"name": name, "uid": f"uid-of-{name}", "resourceVersion": "5", "labels": labels or {}}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **more}


class References(Case):
    def references(self, out):
        return [line.removeprefix("refers to: ") for line in self.sentences(out) if line.startswith("refers to: ")]

    def test_each_is_told_with_its_place_and_what_the_host_does(self):
        self.write_config(more=COPIED)
        out = self.plan(pod_job(volumes=volumes("settings") + volumes("extra", optional=True), priorityClassName="high",
                                serviceAccountName="runner", imagePullSecrets=[{"name": "registry"}],
                                runtimeClassName="gvisor"))
        self.assertEqual(self.references(out), [
            f"configmaps extra (optional), at {PODS}volumes/1/configMap/name: copied",
            f"configmaps settings, at {PODS}volumes/0/configMap/name: copied",
            f"priorityclasses.scheduling.k8s.io high, at {PODS}priorityClassName: must be in the worker",
            f"runtimeclasses.node.k8s.io gvisor, at {PODS}runtimeClassName: not in dependencies: the host ignores the object",
            f"secrets registry, at {PODS}imagePullSecrets/0/name: copied if the Secret has the label wharf.dev/copy: \"true\"",
            f"serviceaccounts runner, at {PODS}serviceAccountName: copied"])
        self.write_config(more="dependencies: {copy: [secrets], secrets: all}\n")
        out = self.plan(pod_job(imagePullSecrets=[{"name": "registry"}]))
        self.assertEqual(self.references(out), [f"secrets registry, at {PODS}imagePullSecrets/0/name: copied"])

    def test_an_object_without_references_has_no_such_line(self):
        self.write_config(more=COPIED)
        self.assertEqual(self.references(self.plan(job())), [])

    def test_objects_of_the_file_lead_to_further_ones(self):
        self.write_config(more=COPIED)
        account = document("ServiceAccount", "runner", imagePullSecrets=[{"name": "registry"}])
        other = document("ServiceAccount", "runner", namespace="other", imagePullSecrets=[{"name": "not-this"}])
        text = "\n---\n".join(json.dumps(value) for value in (other, pod_job(serviceAccountName="runner"), account))
        code, out, err = self.run_plan("-f", self.write("o.yaml", text))
        self.assertEqual((code, err), (DELEGATED, ""))
        self.assertEqual(self.references(out), [
            f"serviceaccounts runner, at {PODS}serviceAccountName: copied; in o.yaml:5",
            "secrets registry (optional), at /imagePullSecrets/0/name of serviceaccounts runner: copied if the Secret has the label "
            "wharf.dev/copy: \"true\""])

    def test_the_host_follows_only_resources_that_it_copies_or_checks(self):
        text = json.dumps(pod_job(serviceAccountName="runner")) + "\n---\n" + json.dumps(
            document("ServiceAccount", "runner", imagePullSecrets=[{"name": "registry"}]))
        for config, count in (("dependencies: {copy: [secrets]}\n", 1), ("", 2)):
            self.write_config(more=config)
            _, out, _ = self.run_plan("-f", self.write("o.yaml", text))
            self.assertEqual(len(self.references(out)), count, out)
            self.assert_says(out, "not in dependencies: the host ignores the object")

    def test_too_many_are_refused_where_dependencies_are_configured(self):
        many = pod_job(volumes=volumes(*(f"c{i:03}" for i in range(65))))
        told = "refers to: found references to more than 64 objects, expected at most that many of a workload"
        self.assertIn(told, self.sentences(self.plan(many)))
        self.write_config(more=COPIED)
        out = self.plan(many, code=WRONG)
        self.assertIn(told + ": the host does not place the workload", self.sentences(out))
        self.assertIn("would not be placed by the host", out)

    def test_too_many_through_others_are_refused(self):
        self.write_config(more=COPIED)
        account = document("ServiceAccount", "runner", imagePullSecrets=[{"name": f"s{i}"} for i in range(40)])
        text = "\n---\n".join(json.dumps(value) for value in (account, pod_job(
            serviceAccountName="runner", volumes=volumes(*(f"c{i:03}" for i in range(40))))))
        code, out, _ = self.run_plan("-f", self.write("o.yaml", text))
        self.assertEqual(code, WRONG)
        self.assertIn("refers to: more than 64 objects, directly or through others: the host does not place the workload",
                      self.sentences(out))


class LookedUp(Case):
    """Clusters with the objects of a dictionary by path; writes are dry runs."""

    def setUp(self):
        super().setUp()
        self.here, self.there = {}, {}
        self.write_config(more=COPIED)
        self.management, self.worker = self.serve("mgmt", self.here), self.serve("w1", self.there)

    def serve(self, name, objects):
        def answer(method, path, body):
            if method == "POST":
                return 201, body, []
            found = objects.get(path.split("?")[0])
            if found is None:
                return failure(404, "NotFound", "not found", name=path.rsplit("/", 1)[1], kind="things")
            return (200, found, []) if isinstance(found, dict) else failure(403, "Forbidden", found)

        server = Worker(answer)
        self.addCleanup(server.stop)
        self.write(name + ".kubeconfig", kubeconfig(server.url))
        return server

    def put(self, objects, value, plural):
        group = value["apiVersion"]
        space = value["metadata"].get("namespace")
        path = ("/apis/" if "/" in group else "/api/") + group + (f"/namespaces/{space}" if space else "")
        objects[f"{path}/{plural}/{value['metadata']['name']}"] = value

    def found(self, *arguments, code=DELEGATED, **spec):
        out = self.plan(pod_job(**spec), *arguments, code=code)
        self.assertNotIn("c2VjcmV0", out)   # no content of a Secret
        return [line.split(": ", 1)[1].split("; ", 1)[1] for line in self.sentences(out) if line.startswith("refers to: ") and "; " in line]

    def test_the_management_cluster_alone(self):
        self.put(self.here, document("ConfigMap", "settings", data={"a": "1"}), "configmaps")
        self.put(self.here, document("Secret", "token", type="kubernetes.io/service-account-token",
                                     labels={"wharf.dev/copy": "true"}, data={"token": "c2VjcmV0"}), "secrets")
        self.put(self.here, document("Secret", "plain", data={"token": "c2VjcmV0"}), "secrets")
        self.here["/api/v1/namespaces/default/configmaps/closed"] = "no rule allows it"
        found = self.found("--look-up", volumes=volumes("settings", "gone", "closed") + volumes("maybe", optional=True),
                           imagePullSecrets=[{"name": "token"}, {"name": "plain"}])
        self.assertEqual(found, [
            "cannot be read in the management cluster: no rule allows it (Forbidden)",
            "missing in the management cluster: the workload waits until the object exists",
            "missing in the management cluster",
            "found in the management cluster",
            "found in the management cluster; not copied, as the Secret has no label wharf.dev/copy: \"true\": the worker must have the object",
            "found in the management cluster; not copied, as Secrets of this type never are: the worker must have the object"])
        self.assertEqual(self.worker.requests, [])

    def test_without_look_up_and_cluster_nothing_is_read(self):
        self.assertEqual(self.found(volumes=volumes("settings")), [])
        self.assertEqual(self.management.requests + self.worker.requests, [])

    def test_what_the_worker_has_is_compared(self):
        for name in ("new", "own", "same", "other"):
            self.put(self.here, document("ConfigMap", name, data={"a": "1"}), "configmaps")
        self.put(self.there, document("ConfigMap", "own", data={"a": "0"},
                                      labels={"wharf.dev/origin": "eu", "wharf.dev/copy-of": "uid-of-own"}), "configmaps")
        self.put(self.there, document("ConfigMap", "same", data={"a": "1"}), "configmaps")
        self.put(self.there, document("ConfigMap", "other", data={"a": "2"}), "configmaps")
        here = "found in the management cluster; w1 "
        self.assertEqual(self.found("--cluster", "w1", volumes=volumes("new", "own", "same")), [
            here + "has no such object yet", here + "has a copy",
            here + "has an equal object of another writer, which is used"])
        self.assertEqual(self.found("--cluster", "w1", volumes=volumes("other"), code=WRONG),
                         [here + "has an object of another writer with other content: another worker is tried"])
        self.assertEqual(self.found("--cluster", "w1", volumes=volumes("other", optional=True)),
                         [here + "has an object of another writer with other content"])

    def test_what_is_checked_must_be_in_the_worker(self):
        high = document("PriorityClass", "high", "scheduling.k8s.io/v1", namespace=None, value=10)
        self.put(self.here, high, "priorityclasses")
        self.assertEqual(self.found("--cluster", "w1", priorityClassName="high", code=WRONG),
                         ["found in the management cluster; w1 lacks the object: another worker is tried"])
        self.put(self.there, {**high, "value": 5}, "priorityclasses")
        self.assertEqual(self.found("--cluster", "w1", priorityClassName="high"),
                         ["found in the management cluster; w1 has the object, with the value 5 instead of 10"])
        self.here.clear()
        self.assertEqual(self.found("--cluster", "w1", priorityClassName="high"), ["w1 has the object"])

    def test_references_of_what_is_found_are_followed(self):
        self.put(self.here, document("ServiceAccount", "runner", imagePullSecrets=[{"name": "registry"}]), "serviceaccounts")
        self.put(self.here, document("Secret", "registry", labels={"wharf.dev/copy": "true"}, data={"x": "c2VjcmV0"}), "secrets")
        self.assertEqual(self.found("--cluster", "w1", serviceAccountName="runner"), [
            "found in the management cluster; w1 has no such object yet"] * 2)

    def test_in_a_worker_with_mapped_namespaces_the_mapped_one_is_read(self):
        self.write_config(more=COPIED, workers=())
        with open(self.folder + "/wharf.yaml", encoding="utf-8") as file:
            text = file.read()
        self.write("wharf.yaml", text.replace("workers:\n", "workers:\n- {name: w1, kubeconfig: w1.kubeconfig, "
                                              "namespaces: {map: {default: \"{origin}-{namespace}\"}}}\n"))
        self.put(self.here, document("ConfigMap", "settings", data={"a": "1"}), "configmaps")
        self.put(self.there, document("ConfigMap", "settings", namespace="eu-default", data={"a": "1"}), "configmaps")
        self.assertEqual(self.found("--cluster", "w1", volumes=volumes("settings")),
                         ["found in the management cluster; w1 has an equal object of another writer, which is used"])
