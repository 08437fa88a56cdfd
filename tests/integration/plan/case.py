# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of `wharf plan`: objects, a folder with a configuration, and runs of the program."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
WHARF = os.path.join(BUILD, "wharf")
WORLD = os.path.join(BUILD, "tests", "world", "world")
TO_JSON = os.path.join(BUILD, "tests", "to_json")
THING_SO = os.path.join(BUILD, "plan_adapters", "thing.so")
SCORER_SO = os.path.join(BUILD, "examples", "data-locality.so")
JOB_SO = os.path.join(BUILD, "adapters", "job.so")
DELEGATED, WRONG, USAGE, NOT_DELEGATED = 0, 1, 2, 3
KUEUE = "kueue.x-k8s.io/multikueue"


def thing(name="a", version="v1", metadata=None, status=None, managed=KUEUE, **spec):
    value = {"apiVersion": "example.com/" + version, "kind": "Thing", "metadata": {"name": name, **(metadata or {})},
             "spec": {"managedBy": managed, **spec}}
    if managed is None:
        del value["spec"]["managedBy"]
    if status is not None:
        value["status"] = status
    return value


def job(name="a", **spec):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {
        "managedBy": "wharf.dev/host", **spec, "template": {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "main", "image": "example.org/main:1"}]}}}}


def kubeconfig(url):
    return json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": url}}], "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]})


def documents(folder, text):
    """The YAML documents of an output, read by the project's own reader; comments alone are null."""
    path = os.path.join(folder, "output.yaml")
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    done = subprocess.run([TO_JSON, path], capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"{done.stderr}\n{text}")
    return [document for document in json.loads(done.stdout) if document is not None]


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="plan_test.", dir=BUILD)
        os.chmod(self.folder, 0o755)
        self.write_config()

    def tearDown(self):
        shutil.rmtree(self.folder)

    def write(self, name, content):
        with open(os.path.join(self.folder, name), "wb") as out:
            if not isinstance(content, (bytes, str)):
                content = json.dumps(content)
            out.write(content if isinstance(content, bytes) else content.encode())
        return name

    def write_config(self, more="", origin="origin: eu\n", workers=("w1", "w2")):
        lines = "".join("- {name: %s, kubeconfig: %s.kubeconfig}\n" % (name, name) for name in workers)
        self.write("wharf.yaml", "apiVersion: wharf.dev/v1alpha1\nkind: HostConfiguration\n" + origin +
                   "management: {kubeconfig: mgmt.kubeconfig}\nworkers:\n" + lines + "adapters:\n  enabled:\n"
                   f"  - {{name: thing, file: {THING_SO}}}\n  - {{name: job, file: {JOB_SO}}}\n" + more)

    def run_plan(self, *arguments, stdin=b""):
        done = subprocess.run([WHARF, "plan", "--config", "wharf.yaml", *arguments], input=stdin, capture_output=True,
                              cwd=self.folder, timeout=240, check=False)
        # With sanitizers there is no whole sandbox.
        told = [line for line in done.stderr.decode().splitlines(keepends=True) if "less confined than it could be" not in line]
        return done.returncode, done.stdout.decode(), "".join(told)

    def plan(self, content, *arguments, code=DELEGATED):
        """The output for one file; standard error must be empty."""
        found, out, err = self.run_plan("-f", self.write("o.yaml", content), *arguments)
        self.assertEqual((found, err), (code, ""), out)
        return out

    def sentences(self, out):
        return [line[2:] for line in out.splitlines() if line.startswith("# ")]

    def assert_says(self, text, *words):
        for word in words:
            self.assertIn(word, text)
