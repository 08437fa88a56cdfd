# SPDX-License-Identifier: Apache-2.0
"""The kinds of the simulated clusters: ten that wharf has adapters for, with the stories of their fixtures, and one for
each bad adapter."""
import json
import os
import re
import subprocess

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures")
TEN = ("jobs", "jobsets", "trainjobs", "pytorchjobs", "tfjobs", "mpijobs", "rayjobs", "appwrappers", "pipelineruns",
       "taskruns")
ADAPTERS = ("job", "jobset", "trainjob", "kubeflow", "mpijob", "rayjob", "appwrapper", "pipelinerun")
FARM_STORIES = {"succeeded": "status: {state: running}\nphase: Active\n---\nstatus: {state: done}\nphase: Succeeded\n",
                "endless": "status: {state: running}\nphase: Active\n"}


class Kind:
    def __init__(self, workload, plural):
        self.workload, self.plural = workload, plural
        self.group, self.version = workload["apiVersion"].split("/")
        self.field, self.manager = "/spec/managedBy", "wharf.dev/host"

    @property
    def path(self):
        return f"/apis/{self.group}/{self.version}/namespaces/default/{self.plural}"

    def crd(self):
        return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": f"{self.plural}.{self.group}"},
                "spec": {"group": self.group, "scope": "Namespaced",
                         "names": {"plural": self.plural, "kind": self.workload["kind"]},
                         "versions": [{"name": self.version, "served": True, "storage": True,
                                       "subresources": {"status": {}},
                                       "schema": {"openAPIV3Schema": {
                                           "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}

    def object(self, name, **annotations):
        found = json.loads(json.dumps(self.workload))
        metadata = found["metadata"]
        metadata["name"], metadata["namespace"] = name, "default"
        metadata["annotations"] = {**metadata.get("annotations", {}), **annotations}
        place, words = found, self.field.split("/")[1:]
        for word in words[:-1]:
            place = place.setdefault(word, {})
        place[words[-1]] = self.manager
        return found


JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "default"}, "spec": {"template": {"spec": {
    "restartPolicy": "Never", "containers": [{"name": "main", "image": "registry.example/task:1"}]}}}}


def ten(build):
    """As their users submit them."""
    kinds = [Kind(JOB, "jobs")]
    for plural in TEN[1:]:
        text = subprocess.run([f"{build}/tests/to_json", f"{FIXTURES}/{plural}/workload.yaml"], capture_output=True,
                              text=True, check=True).stdout
        kinds.append(Kind(json.loads(text)[0], plural))
    return kinds


def farm(member):
    return Kind({"apiVersion": f"{member}.farm.example.com/v1", "kind": "Farm", "metadata": {"namespace": "default"},
                 "spec": {"size": 1}}, "farms")


def write_arguments(kinds, folder):
    """The arguments of wharf-sandbox, whose files are written."""
    arguments = []
    for kind in kinds:
        stories = {}
        if kind.plural == "farms":
            for name, text in FARM_STORIES.items():
                stories[name] = f"{folder}/{name}.yaml"
                with open(stories[name], "w", encoding="utf-8") as file:
                    file.write(text)
        elif kind.plural != "jobs":
            stories["succeeded"] = f"{FIXTURES}/{kind.plural}/succeeded.yaml"
        if not stories:
            continue
        path = f"{folder}/{kind.plural}.{kind.group}.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(kind.crd(), file)
        arguments += ["--crd", path]
        for story in stories.values():
            arguments += ["--story", story]
    return arguments


def take_managers(kinds, guide):
    """What the adapters manage, as the sandbox prints it."""
    for kind in kinds:
        found = re.search(rf"{re.escape(kind.plural)}\.{re.escape(kind.group)}: delegated by (\S+): (\S+)", guide)
        if found:
            kind.field, kind.manager = found[1], found[2]
