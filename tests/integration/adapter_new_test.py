#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wharf adapter new: what is refused, what is left alone, and what is written. adapter_new_test.py BUILD_FOLDER [unittest
arguments]; needs BUILD_FOLDER/wharf. What is generated is built by tests/authors, the guesses are tested by tests/unit/cmd."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
WHARF = os.path.join(BUILD, "wharf")
CRDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "unit", "cmd", "crds")
FILES = {"c": ["Makefile", "README.md", "crd.yaml", "objects", "one.c"], "cpp": ["Makefile", "README.md", "crd.yaml", "objects", "one.cc"],
         "rust": ["Makefile", "README.md", "crd.yaml", "objects", "one.rs", "wharf.rs"]}
OBJECT = {"type": "object", "properties": {"spec": {"type": "object", "properties": {}}, "status": {"type": "object"}}}


def crd(schema=None, version="apiextensions.k8s.io/v1", served=True, **spec):
    return {"apiVersion": version, "kind": "CustomResourceDefinition", "metadata": {"name": "ones.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "One", "plural": "ones"},
                     "versions": [{"name": "v1", "served": served, "storage": True, "schema": {"openAPIV3Schema": schema or OBJECT}}], **spec}}


class AdapterNew(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_new(self, *arguments):
        done = subprocess.run([WHARF, "adapter", "new", *arguments], cwd=self.folder, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def write(self, content, name="crd.yaml"):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def test_what_is_no_crd_is_refused_with_a_sentence(self):
        cases = [
            ("kind: Pod\napiVersion: v1\n", "FILE: found no CustomResourceDefinition (apiextensions.k8s.io/v1), expected one\n"),
            ("", "FILE: found no CustomResourceDefinition"),
            ("[1, 2", "FILE:2:"),
            (crd(version="apiextensions.k8s.io/v1beta1"), 'FILE:1: found apiVersion "apiextensions.k8s.io/v1beta1", expected apiextensions.k8s.io/v1\n'),
            (crd(scope="Cluster"), "FILE:1: One: spec.scope: found Cluster, expected Namespaced"),
            (crd(names={"kind": "One"}), "FILE:1: One: spec: expected group, names.kind and names.plural\n"),
            (crd(served=False), "FILE:1: One: spec.versions: found no served version, expected one\n"),
            (crd({"type": "object", "x-kubernetes-preserve-unknown-fields": True}), "FILE:1: One: spec.versions: v1: found no schema with properties"),
            (crd({"type": "object", "properties": {"status": {"type": "object"}}}), "FILE:1: One: spec.versions: v1: found no spec in the schema, expected one\n"),
            (crd({"type": "object", "properties": {"spec": {"type": "object"}}}), "v1: found no status in the schema, expected one: the host copies it\n"),
            (crd({"type": "object", "properties": {"spec": {"type": "object"}, "status": {"type": "string"}}}),
             "One: cannot make an object: the types of the schema are contradictory"),
            (json.dumps(crd()) + "\n---\n" + json.dumps(crd(names={"kind": "Two", "plural": "twos"})),
             "FILE: found 2 CRDs (One, Two), expected one: --kind names its kind\n"),
        ]
        for content, sentence in cases:
            with self.subTest(sentence=sentence):
                path = self.write(content)
                code, out, err = self.run_new("one", "--crd", path)
                self.assertEqual((code, out), (1, ""))
                self.assertIn(sentence.replace("FILE", path), err)
                self.assertEqual(err.count("\n"), 1)
                self.assertFalse(os.path.exists(f"{self.folder}/one"))
        self.assertEqual(self.run_new("one", "--crd", "nowhere.yaml")[0], 1)
        self.assertIn("nowhere.yaml: No such file", self.run_new("one", "--crd", "nowhere.yaml")[2])

    def test_a_kind_is_chosen_by_any_of_its_names(self):
        path = os.path.join(CRDS, "services.yaml")
        for name in ("Fleet", "fleet", "fleets"):
            self.assertIn("kind: Fleet\n", self.run_new("--generic", "--crd", path, "--kind", name)[1])
        self.assertEqual(self.run_new("--generic", "--crd", path, "--kind", "ship")[2],
                         f"error: {path}: found no CRD of kind ship, expected one of Fleet, Film, Export, Report, Mount\n")

    def test_nothing_is_overwritten(self):
        path = self.write(crd())
        os.mkdir(f"{self.folder}/one")
        with open(f"{self.folder}/one/mine", "w", encoding="utf-8"):
            pass
        self.assertEqual(self.run_new("one", "--crd", path),
                         (1, "", "error: one is not empty, and nothing is overwritten: --output names another directory\n"))
        self.assertEqual(os.listdir(f"{self.folder}/one"), ["mine"])
        os.remove(f"{self.folder}/one/mine")
        self.assertEqual(self.run_new("one", "--crd", path)[0], 0)    # an empty directory
        self.assertEqual(self.run_new("one", "--crd", path)[0], 1)
        code, _, err = self.run_new("one", "--crd", path, "--output", "no/where")
        self.assertEqual((code, err), (1, "error: no/where: No such file or directory\n"))

    def test_each_language_has_its_files(self):
        for language, files in FILES.items():
            code, out, err = self.run_new("one", "-l", language, "--crd", os.path.join(CRDS, "mpijobs.yaml"), "-o", language)
            self.assertEqual((code, err), (0, ""))
            self.assertEqual(sorted(os.listdir(f"{self.folder}/{language}")), files)
            self.assertIn(f"make -C {language} test\n", out)
            for name in files:
                if name != "objects":
                    with open(f"{self.folder}/{language}/{name}", encoding="utf-8") as file:
                        self.assertNotRegex(file.read(), r"@[A-Z]+@", name)    # of a template

    def test_the_readme_says_how_an_object_is_delegated(self):
        schema = json.loads(json.dumps(OBJECT))
        self.assertEqual(self.run_new("one", "--crd", self.write(crd(schema)), "-o", "label")[0], 0)
        schema["properties"]["spec"]["properties"]["managedBy"] = {"type": "string"}
        self.assertEqual(self.run_new("one", "--crd", self.write(crd(schema)), "-o", "field")[0], 0)
        for folder, words in (("label", "with the label `example.com/managed-by: wharf`."), ("field", "with `spec.managedBy: wharf.dev/host`.")):
            with open(f"{self.folder}/{folder}/README.md", encoding="utf-8") as file:
                self.assertIn(words, file.read())

    def test_the_source_asks_for_the_least_version_of_the_abi(self):
        for crds, kind, minor in (("mpijobs.yaml", "MPIJob", 0), ("services.yaml", "Fleet", 2), ("services.yaml", "Export", 2),
                                  ("services.yaml", "Film", 2)):
            for language, words in (("c", f"#define WHARF_NEEDS_MINOR {minor} "), ("cpp", f"#define WHARF_NEEDS_MINOR {minor} "),
                                    ("rust", f"abi_minor: {minor},")):
                folder = f"{kind}-{language}"
                self.run_new("one", "-l", language, "--crd", os.path.join(CRDS, crds), "--kind", kind, "-o", folder)
                with open(f"{self.folder}/{folder}/one.{FILES[language][4].partition('.')[2]}", encoding="utf-8") as file:
                    self.assertIn(words, file.read())

    def test_what_was_not_guessed_is_said(self):
        _, out, _ = self.run_new("one", "--crd", self.write(crd()))
        for member in ("suspend: No field for suspension was found", "pods: No pod template was found", "carried: ", "removed: "):
            self.assertIn(f"\n  {member}", out)
        with open(f"{self.folder}/one/one.c", encoding="utf-8") as file:
            source = file.read()
        self.assertIn("// No field for the manager was found: a label names the manager.", source)
        self.assertIn("// suspend: No field for suspension was found", source)

    def test_lists_where_mappings_belong_are_no_fields(self):
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": ["x", {"a": 1}], "required": {"b": 1}},
                                                   "status": {"type": "object", "properties": [3], "items": [1]}}}
        code, out, err = self.run_new("one", "--crd", self.write(crd(schema)))
        self.assertEqual((code, err), (0, ""))
        self.assertIn("suspend: No field", out)

    def test_texts_of_the_schema_cannot_leave_their_place(self):
        """Names and descriptions that end a string, a comment or a line."""
        names = ['a"b', "a\\b", "a/b", "a~b", "*", "line\nfeed", "\u202eright"]
        schema = json.loads(json.dumps(OBJECT))
        spec = schema["properties"]["spec"]["properties"]
        for name in names:
            spec[name] = {"type": "object", "properties": {"replicas": {"type": "integer"}, "managedBy": {"type": "string"},
                                                           "template": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
        spec["ttl"] = {"type": "integer", "description": "ends with a backslash \\\nint x; \u202e */ \"; #include <x>"}
        path = self.write(crd(schema))
        for language, compiler in (("c", ["cc", "-std=c11"]), ("cpp", ["c++", "-std=c++17"])):
            self.assertEqual(self.run_new("one", "-l", language, "--crd", path, "-o", language)[0], 0)
            source = f"{self.folder}/{language}/one." + {"c": "c", "cpp": "cc"}[language]
            include = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "include")
            done = subprocess.run([*compiler, "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-I", include, "-o",
                                   f"{self.folder}/{language}/one.so", source], capture_output=True, text=True, timeout=120)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            done = subprocess.run([WHARF, "adapter", "test", f"{language}/one.so", "--objects", f"{language}/objects", "-q"],
                                  cwd=self.folder, capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=0)
