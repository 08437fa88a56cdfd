# SPDX-License-Identifier: Apache-2.0
"""The comments of `wharf plan` without --cluster."""
import json
import os
import subprocess

from case import DELEGATED, KUEUE, NOT_DELEGATED, SCORER_SO, THING_SO, USAGE, WHARF, WRONG, Case, documents, job, thing


class Usage(Case):
    def test_wrong_calls_end_with_2_and_say_why(self):
        cases = [
            ([], "error: flag is required: -f\nSee 'wharf plan --help' for usage."),
            (["-f"], "error: flag needs an argument: -f"),
            (["-f", ""], "error: flag needs an argument: -f"),
            (["-f", "a", "-f", "b"], "error: flag given twice: -f"),
            (["-f", "a", "--status"], "error: flag needs an argument: --status"),
            (["-f", "a", "--cluster="], "error: flag needs an argument: --cluster"),
            (["-f", "a", "--online"], "error: unknown flag: --online"),
            (["o.yaml"], "error: unexpected argument: o.yaml"),
        ]
        for arguments, sentence in cases:
            with self.subTest(arguments=arguments):
                code, out, err = self.run_plan(*arguments)
                self.assertEqual((code, out), (USAGE, ""))
                self.assertIn(sentence, err)

    def test_help_names_its_flags_and_exit_codes(self):
        done = subprocess.run([WHARF, "help", "plan"], capture_output=True, text=True, check=True)
        self.assert_says(done.stdout, "wharf plan -f FILE [flags]", "--config", "--status", "--cluster", "with 3")


class Telling(Case):
    def test_annotations_with_values_that_the_host_ignores(self):
        out = self.plan(thing("a", metadata={"annotations": {"wharf.dev/continue": "no", "wharf.dev/attempt-env": "yes"}}))
        self.assertIn('# ignored: annotation wharf.dev/continue: found "no", expected "false"\n', out)
        self.assertIn('# ignored: annotation wharf.dev/attempt-env: found "yes", expected "true"\n', out)
        for values in (("true", "false"), ("false", "true")):
            self.assertNotIn("ignored", self.plan(thing("a", metadata={"annotations": dict(zip(
                ("wharf.dev/continue", "wharf.dev/attempt-env"), values))})))

    def test_all_of_an_output_as_it_stands(self):
        out = self.plan(thing("a", metadata={
            "namespace": "ns", "uid": "u-1", "finalizers": ["x/y"], "labels": {"app": "a", "local": "1"},
            "annotations": {"wharf.dev/note": "n"}}, ttl=5, added=[1, "two"], remark="half of it is missing", parts=[
                {"name": "p", "owner": "me", "replicas": 2, "template": {"spec": {"containers": [
                    {"name": "c", "image": "i:1", "resources": {
                        "requests": {"cpu": "500m"}, "limits": {"cpu": 1, "memory": "1Gi"}}}]}}}]))
        self.assertEqual(out, f"""\
---
# Thing ns/a (o.yaml:1): would be delegated
# adapter: thing 1.2.3 for things.example.com/v1, {THING_SO}
# managedBy: /spec/managedBy is "kueue.x-k8s.io/multikueue", which this host manages
# phase: Pending
# pods: 2: c (i:1) with cpu 500m, memory 1Gi
# remark: half of it is missing (FieldsDropped)
# not validated without --cluster: no API server has checked this mirror
# not in the mirror: /metadata/uid (the worker's API server sets its own)
# not in the mirror: /metadata/finalizers (no controller in the worker would remove them)
# not in the mirror: /metadata/labels/local (the adapter removes it from every mirror)
# not in the mirror: /metadata/annotations/wharf.dev~1note (it concerns the workload only)
# not in the mirror: /spec/managedBy (in the worker the kind's own controller runs it)
# not in the mirror: /spec/ttl (the adapter removes it from every mirror)
# not in the mirror: /spec/parts/0/owner (the adapter removes it from every mirror)
# added in the mirror: /spec/addedByAdapter: [1,"two"] (by the adapter)
""" + out[out.index("apiVersion:"):])
        mirror, = documents(self.folder, out)
        self.assertEqual(mirror["metadata"]["annotations"].pop("wharf.dev/rest", "")[:0], "")
        self.assertEqual(mirror, {
            "apiVersion": "example.com/v1", "kind": "Thing",
            "metadata": {"name": "a", "namespace": "ns", "labels": {
                "app": "a", "wharf.dev/origin": "eu", "wharf.dev/uid": "u-1", "wharf.dev/kind": "things.example.com"},
                "annotations": {"wharf.dev/attempt": "1", "wharf.dev/carried": "v2:r:ocMnZBX7::"}},
            "spec": {"added": [1, "two"], "addedByAdapter": [1, "two"], "remark": "half of it is missing", "parts": [
                {"name": "p", "replicas": 2, "template": {"spec": {"containers": [
                    {"name": "c", "image": "i:1", "resources": {
                        "requests": {"cpu": "500m"}, "limits": {"cpu": 1, "memory": "1Gi"}}}]}}}]}})
        self.assertEqual(list(mirror), ["apiVersion", "kind", "metadata", "spec"])

    def test_each_verdict_with_its_reason_and_exit_code(self):
        cases = [   # object, exit code, verdict, a sentence, whether there is a mirror
            (thing(), DELEGATED, "would be delegated", 'which this host manages', True),
            (thing(version="v1beta1"), DELEGATED, "would be delegated", "for things.example.com/v1beta1", True),
            (thing(managed=None), NOT_DELEGATED, "would not be delegated",
             f'managedBy: /spec/managedBy is absent; this host manages "{KUEUE}"', False),
            (thing(managed="example.com/thing-controller"), NOT_DELEGATED, "would not be delegated",
             "the kind's own controller; this host manages", False),
            (thing(managed="wharf.dev/host"), WRONG, "would be rejected by the API server",
             f'which the API server rejects; it accepts "example.com/thing-controller", "{KUEUE}"', False),
            (thing(managed=7), WRONG, "would be rejected by the API server",
             "managedBy: /spec/managedBy: 7 (the API server rejects it: expected a string)", False),
            ({**job(), "spec": {"managedBy": "wharf.dev/hots"}}, NOT_DELEGATED, "would not be delegated",
             'another controller; this host manages "wharf.dev/host", did you mean that?', False),
            ({**job(), "spec": {"managedBy": "acme.example/x"}}, NOT_DELEGATED, "would not be delegated",
             '"acme.example/x", another controller; this host manages "wharf.dev/host"\n', False),
            ({**job(), "spec": []}, NOT_DELEGATED, "would not be delegated", "/spec/managedBy is absent", False),
            (thing(version="v2"), NOT_DELEGATED, "would not be delegated",
             "adapter: thing supports things.example.com in v1, v1beta1, but not in v2", False),
            ({**thing(), "apiVersion": "v1"}, NOT_DELEGATED, "would not be delegated",
             "adapter: none supports Thing of v1; did you mean Thing of example.com/v1?", False),
            ({**thing(), "kind": "Thingy"}, NOT_DELEGATED, "would not be delegated", "did you mean Thing of", False),
            ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}, NOT_DELEGATED,
             "would not be delegated", "adapter: none supports ConfigMap of v1\n", False),
            (thing(metadata={"labels": {"kueue.x-k8s.io/queue-name": "q"}}), DELEGATED, "would be delegated",
             'label kueue.x-k8s.io/queue-name is "q": where a Kueue Workload owns the object, it is dispatched once that is admitted', True),
            (thing(suspend=True), DELEGATED, "would be delegated once it is resumed",
             "suspended: by /spec/suspend; it is placed once it is resumed", True),
            (thing(status={"conditions": [{"type": "Done", "status": "True", "reason": "AllDone", "message": "ok"}]}),
             NOT_DELEGATED, "would not be delegated", "phase: Succeeded, AllDone: ok\n# finished: ", False),
            (thing(metadata={"deletionTimestamp": "2026-01-02T03:04:05Z"}), NOT_DELEGATED, "would not be delegated",
             "deleted: an object that is being deleted gets no mirror", False),
            (thing(refuse="it has a wart"), WRONG, "would be rejected by its adapter",
             "rejected: the adapter creates no mirror: it has a wart (Unwilling)", False),
            (thing(wait=1), WRONG, "would have to wait", "the adapter asks to retry later", False),
            ({**thing(), "metadata": {}}, WRONG, "Thing unnamed (o.yaml:1): would be rejected by the API server",
             "neither metadata.name nor metadata.generateName is set", False),
            ({**thing(), "metadata": {"generateName": "a-"}}, DELEGATED, "Thing default/a-xxxxx",
             "a-xxxxx stands for the name that the API server generates", True),
            (thing(metadata={"annotations": {"wharf.dev/cluster": "w2", "wharf.dev/attempt": "4"}}), DELEGATED,
             "would be delegated", "placed: in w2 according to its annotations, attempt 4", True),
            (thing(metadata={"uid": "x" * 50}), WRONG, "would be rejected", "metadata.uid has more than 39", False),
        ]
        for value, code, verdict, sentence, has_mirror in cases:
            with self.subTest(sentence=sentence):
                out = self.plan(value, code=code)
                self.assertIn(verdict, out.splitlines()[1])
                self.assertIn(sentence, out)
                self.assertEqual(len(documents(self.folder, out)), has_mirror)

    def test_names_that_no_api_server_accepts_are_wrong(self):
        dns = "at most 253 lower-case letters, digits, '-' and '.', with a letter or digit at both ends)"
        word = "at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends"
        key = "expected an optional DNS prefix and '/', then " + word
        rejects = " (the API server rejects it: expected "
        big = {"a/b": "x" * (128 << 10), "c": "x" * (128 << 10)}
        cases = [   # metadata, the sentence; "": it is accepted
            ({"name": "Simulation_1"}, 'name: /metadata/name: "Simulation_1"' + rejects + dns),
            ({"name": "a" * 254}, 'name: /metadata/name: "aaa'),
            ({"name": "a..b"}, 'name: /metadata/name: "a..b"'),
            ({"name": "-a"}, 'name: /metadata/name: "-a"'),
            ({"name": 7}, "name: /metadata/name: 7" + rejects + "a string)"),
            ({"generateName": "Big-"}, 'name: /metadata/generateName: "Big-"' + rejects + dns),
            ({"generateName": "-"}, 'name: /metadata/generateName: "-"'),
            ([], "metadata: /metadata: []" + rejects + "a mapping)"),
            ({"name": "a", "namespace": "a.b"}, 'namespace: /metadata/namespace: "a.b"' + rejects + "at most 63 lower-case"),
            ({"name": "a", "namespace": "a" * 64}, "namespace: /metadata/namespace: "),
            ({"name": "a", "labels": {"app": 1}}, "labels: /metadata/labels/app: 1" + rejects + "a string (in quotes))"),
            ({"name": "a", "labels": {"app": "x y"}}, 'labels: /metadata/labels/app: "x y"' + rejects + word + ", or nothing)"),
            ({"name": "a", "labels": {"app": "x" * 64}}, "labels: /metadata/labels/app: "),
            ({"name": "a", "labels": {"a b": "x"}}, 'labels: the API server rejects the key "a b": ' + key),
            ({"name": "a", "labels": {"X.y/a": "x"}}, 'labels: the API server rejects the key "X.y/a": '),
            ({"name": "a", "labels": {"/a": "x"}}, 'labels: the API server rejects the key "/a": '),
            ({"name": "a", "labels": {"a/b/c": "x"}}, 'labels: the API server rejects the key "a/b/c": '),
            ({"name": "a", "labels": ["x"]}, 'labels: /metadata/labels: ["x"]' + rejects + "a mapping)"),
            ({"name": "a", "annotations": {"a b": "x"}}, 'annotations: the API server rejects the key "a b": '),
            ({"name": "a", "annotations": {"n": True}}, "annotations: /metadata/annotations/n: true" + rejects + "a string"),
            ({"name": "a", "annotations": big}, "annotations: 262148 bytes of keys and values; the API server rejects more than"),
            ({"name": "a.b-c." + "d" * 247, "namespace": "a" * 63, "annotations": {"X.y/A_b": "any text\n"},
              "labels": {"x.y/A.b_c-d": "", "k": "A" * 63}}, ""),
            ({"generateName": "a-"}, ""),
            ({"name": "a", "generateName": None, "labels": None, "annotations": None, "namespace": None}, ""),
        ]
        for metadata, sentence in cases:
            for managed in (KUEUE, None) if sentence else (KUEUE,):
                with self.subTest(sentence=sentence, managed=managed):
                    value = {**thing(managed=managed), "metadata": metadata}
                    out = self.plan(value, code=WRONG if sentence else DELEGATED)
                    self.assertIn("# " + sentence, out)
                    self.assertEqual(len(documents(self.folder, out)), 0 if sentence else 1)
                    if sentence:
                        self.assertIn("would be rejected by the API server", out.splitlines()[1])

    def test_a_mirror_that_no_server_has_checked_is_said_to_be_that(self):
        self.assertEqual(self.plan(thing()).count("# not validated without --cluster: "), 1)
        self.assertNotIn("not validated", self.plan(thing(managed=None), code=NOT_DELEGATED))

    def test_what_only_clusters_know_is_a_placeholder(self):
        self.write_config(origin="")
        out = self.plan(thing())
        self.assert_says(out, "# namespace: not set, \"default\" is assumed",
                         "# placeholder: UID-OF-KUBE-SYSTEM for the origin", "# placeholder: UID-OF-THE-WORKLOAD for")
        labels = documents(self.folder, out)[0]["metadata"]["labels"]
        self.assertEqual((labels["wharf.dev/origin"], labels["wharf.dev/uid"]),
                         ("UID-OF-KUBE-SYSTEM", "UID-OF-THE-WORKLOAD"))

    def test_scores_of_adapters(self):
        self.write_config(more="  - {name: data-locality, file: %s}\n" % SCORER_SO)
        with open(os.path.join(self.folder, "wharf.yaml"), encoding="utf-8") as file:
            config = file.read()
        self.write("wharf.yaml", config.replace("{name: w2,", "{name: w2, labels: {dataset-genomes: near},"))
        annotated = thing(metadata={"annotations": {"data.example.com/dataset": "genomes"}})
        self.assertIn("scores: data-locality: w2 50 (of the workers in the configuration, as if they were empty)",
                      self.sentences(self.plan(annotated)))
        self.assert_says(self.plan(thing()), "# scores: data-locality: no opinion (of")

    def test_an_annotated_attempt_is_that_of_the_mirror(self):
        out = self.plan(thing(metadata={"annotations": {"wharf.dev/cluster": "w2", "wharf.dev/attempt": "4"}}))
        self.assertEqual(documents(self.folder, out)[0]["metadata"]["annotations"]["wharf.dev/attempt"], "4")

    def test_several_objects_come_to_one_exit_code(self):
        config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
        cases = [
            ([thing(), config_map], DELEGATED),
            ([config_map], NOT_DELEGATED),
            ([thing("a"), thing("b")], DELEGATED),
            ([thing("a"), thing("b", managed=None)], NOT_DELEGATED),
            ([thing("a"), thing("b", version="v9")], NOT_DELEGATED),
            ([thing("a", managed=None), thing("b", refuse="no")], WRONG),
        ]
        for values, code in cases:
            with self.subTest(code=code, values=len(values)):
                out = self.plan("\n---\n".join(map(json.dumps, values)), code=code)
                self.assertEqual(out.count("---\n"), len(values))

    def test_the_output_is_yaml_whatever_the_object_says(self):
        nasty = "a\nb\u2028c\x1b[31m \u0085 --- \ufeff\t'\"# {x: 1}\r\n---\nkind: Evil"
        nasty_key = {"annotations": {"wharf.dev/" + nasty: nasty}, "labels": {nasty: nasty}}
        out = self.plan(thing(nasty, metadata=nasty_key), code=WRONG)
        self.assertEqual((documents(self.folder, out), "\x1b" in out), ([], False))
        out = self.plan(thing("a", remark=nasty, metadata={"annotations": {"x": nasty}},
                              status={"state": nasty}, text=nasty, **{nasty: nasty}))
        mirror, = documents(self.folder, out)
        self.assertEqual(mirror["spec"]["text"], nasty)
        self.assertEqual(mirror["metadata"]["annotations"]["x"], nasty)
        self.assertNotIn("\x1b", out)
        again = subprocess.run([WHARF, "plan", "--config", "wharf.yaml", "-f", "-"], input=out, capture_output=True,
                               text=True, cwd=self.folder, check=False)
        self.assertEqual((again.returncode, again.stderr), (NOT_DELEGATED, ""))
        self.assertIn("/spec/managedBy is absent", again.stdout)

    def test_the_same_input_gives_the_same_output(self):
        value = thing(suspend=True, parts=[{"template": {}}])
        self.assertEqual(self.plan(value), self.plan(value))


class Status(Case):
    def plan_status(self, value, status, code=DELEGATED):
        self.write("s.yaml", status)
        return self.plan(value, "--status", "s.yaml", code=code)

    def test_a_status_of_the_mirror_becomes_that_of_the_workload(self):
        status = {"state": "running", "podName": "p-1", "note": "x", "observedGeneration": 9}
        for given in (status, {"status": status}, thing("other", status=status)):
            out = self.plan_status(thing(metadata={"namespace": "ns", "generation": 4}), given)
            _, written = documents(self.folder, out)
            self.assertEqual(written, {
                "apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a", "namespace": "ns"},
                "status": {"state": "running", "observedGeneration": 4, "cluster": "w1"}})
            self.assertEqual(out[out.rindex("---\n"):out.rindex("apiVersion")], """\
---
# status written on Thing ns/a for this status of its mirror
# phase: Active, running
# not copied: /status/podName (it is meaningful in the worker only)
# not copied: /status/note (the adapter removes it)
# rewritten: /status/observedGeneration: 9 -> 4 (the generation of the workload)
# added: /status/cluster: "w1" (by the adapter)
""")

    def test_a_final_status_says_what_becomes_of_the_mirror(self):
        out = self.plan_status(thing(), {"conditions": [{"type": "Done", "status": "True", "reason": "Ok"}]})
        self.assert_says(out, "# phase: Succeeded, Ok\n", "# finished: the mirror is kept for mirrorRetention")

    def test_a_status_that_is_there_already_is_not_written(self):
        same = {"state": "running", "cluster": "w1"}
        self.assertIn("# nothing is written: the status is up to date", self.plan_status(thing(status=same), same))

    def test_a_status_that_the_adapter_refuses_is_wrong(self):
        out = self.plan_status(thing(), {"refuse": "too odd"}, code=WRONG)
        self.assertIn("# rejected: the adapter creates no status: too odd (Unwilling)", out)
        self.assertEqual(len(documents(self.folder, out)), 1)

    def test_a_suspended_job_gets_the_status_that_it_is_owed(self):
        out = self.plan(job(suspend=True))
        _, written = documents(self.folder, out)
        self.assertIn("# status written on Job default/a while it has no mirror", out)
        self.assertEqual([(c["type"], c["status"]) for c in written["status"]["conditions"]], [("Suspended", "True")])

    def test_what_is_no_status_is_told(self):
        cases = [
            ("[1]", "s.yaml: found 1 document that is not an object, expected one object with the status of a mirror"),
            ("", "s.yaml: found 0 documents, expected one object"),
            ("a: 1\n---\nb: 1\n", "s.yaml: found 2 documents, expected one object"),
            ("\nstatus: 7\n", "s.yaml:2: status: expected an object"),
            ("apiVersion: v1\nkind: Thing\n", "s.yaml: found an object without a status, expected a status"),
            ("a: [\n", "s.yaml:2:1: "),
        ]
        for text, sentence in cases:
            with self.subTest(text=text):
                self.write("s.yaml", text)
                code, out, err = self.run_plan("-f", self.write("o.yaml", thing()), "--status", "s.yaml")
                self.assertEqual((code, out), (WRONG, ""))
                self.assertIn(sentence, err)
        code, _, err = self.run_plan("-f", "o.yaml", "--status", "nowhere.yaml")
        self.assertEqual(code, WRONG)
        self.assert_says(err, "nowhere.yaml", "No such file")

    def test_a_status_is_for_one_object(self):
        self.write("o.yaml", json.dumps(thing("a")) + "\n---\n" + json.dumps(thing("b")))
        self.write("s.yaml", "{}")
        code, out, err = self.run_plan("-f", "o.yaml", "--status", "s.yaml")
        self.assertEqual((code, out), (WRONG, ""))
        self.assertIn("--status: found 2 objects of supported kinds in o.yaml, expected one", err)


class Input(Case):
    def test_bad_input_is_told_with_its_place(self):
        good = json.dumps(thing())
        cases = [   # content, what is said on standard error, whether the good object beside it is planned
            ("a: 1\nb: [1\n", "o.yaml:3:1: ", False),
            ("a: 1\na: 2\n", "o.yaml:2:1: ", False),
            ("a: \x01\n", "o.yaml:1:", False),
            (b"a: \xff\n", "o.yaml:1:", False),
            ("{\"a\": 1", "o.yaml:2:1: ", False),
            ("", "o.yaml: found no object, expected at least one", False),
            ("# nothing\n---\n---\n", "o.yaml: found no object, expected at least one", False),
            ("kind: List\napiVersion: v1\nitems: []\n", "o.yaml: found no object, expected at least one", False),
            (good + "\n---\n\nmetadata: {name: x}\n", "o.yaml:4: apiVersion: found nothing, expected a string", True),
            ("apiVersion: v1\nmetadata: {}\n---\n" + good, "o.yaml:1: kind: found nothing, expected a string", True),
            ("apiVersion: v1\nkind: [1]\n---\n" + good, "o.yaml:1: kind: found something else, expected a string", True),
            ("just text\n---\n" + good, "o.yaml:1: found no object, expected one with apiVersion", True),
            ("- 1\n---\n" + good, "o.yaml:1: found no object", True),
            ("kind: List\nitems:\n- 1\n- " + good, "o.yaml:3: found no object", True),
            ("x: &x [a, a, a, a]\ny: &y [*x, *x, *x, *x]\n" + "".join(
                f"z{i}: &z{i} [*{p}, *{p}, *{p}, *{p}, *{p}, *{p}, *{p}, *{p}]\n"
                for i, p in enumerate(["y"] + ["z%d" % n for n in range(9)])), "o.yaml:", False),
        ]
        for content, sentence, planned in cases:
            with self.subTest(sentence=sentence, content=content[:40]):
                code, out, err = self.run_plan("-f", self.write("o.yaml", content))
                self.assertEqual(code, WRONG, out)
                self.assertIn(sentence, err)
                self.assertEqual("would be delegated" in out, planned)

    def test_files_that_cannot_be_read(self):
        cases = [("nowhere.yaml", "No such file"), (".", "Is a directory")]
        for path, sentence in cases:
            code, out, err = self.run_plan("-f", path)
            self.assertEqual((code, out), (WRONG, ""))
            self.assert_says(err, "error: cannot read " + path, sentence)

    def test_a_huge_file_is_refused_and_a_large_one_is_not(self):
        path = os.path.join(self.folder, "huge.yaml")
        with open(path, "wb") as out:
            out.truncate(65 << 20)
        code, out, err = self.run_plan("-f", "huge.yaml")
        self.assertEqual((code, out), (WRONG, ""))
        self.assertIn("huge.yaml is larger than", err)
        code, out, err = self.run_plan("-f", "-", stdin=b" " * (65 << 20))
        self.assertIn("standard input is larger than", err)
        self.assertIn("would be delegated", self.plan(thing(text="x" * (4 << 20))))
        deep = "apiVersion: example.com/v1\nkind: Thing\nspec: " + "[" * 600 + "]" * 600
        code, _, err = self.run_plan("-f", self.write("deep.yaml", deep))
        self.assertEqual(code, WRONG)
        self.assertIn("deep.yaml:3:", err)

    def test_the_same_object_in_other_clothes(self):
        value = thing(text="line 1\nline 2", smile="\U0001f600")
        yaml = ("apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: a\nspec:\n"
                f"  managedBy: {KUEUE}\n  text: |-\n    line 1\n    line 2\n  smile: \U0001f600\n")
        wanted = documents(self.folder, self.plan(yaml))
        self.assertEqual(wanted[0]["spec"], {"text": "line 1\nline 2", "smile": "\U0001f600"})
        cases = {
            "JSON with escaped surrogates": json.dumps(value),
            "indented JSON": json.dumps(value, indent=1),
            "JSON with tabs": json.dumps(value, indent="\t"),
            "CRLF": yaml.replace("\n", "\r\n"),
            "a byte order mark": "\ufeff" + yaml,
            "a List": json.dumps({"apiVersion": "v1", "kind": "List", "items": [value]}),
            "a List in YAML": "apiVersion: v1\nkind: List\nitems:\n- " + yaml.replace("\n", "\n  "),
            "a List in a List": json.dumps({"kind": "List", "items": [{"kind": "List", "items": [value]}]}),
            "a ThingList": json.dumps({"apiVersion": "example.com/v1", "kind": "ThingList", "items": [
                {k: v for k, v in value.items() if k not in ("apiVersion", "kind")}]}),
            "documents around it": "---\n# nothing\n---\n" + yaml + "...\n---\n",
        }
        for name, text in cases.items():
            with self.subTest(name=name):
                self.assertEqual(documents(self.folder, self.plan(text)), wanted)

    def test_standard_input_is_named(self):
        code, out, err = self.run_plan("-f", "-", stdin=b"\n" + json.dumps(thing()).encode())
        self.assertEqual((code, err), (DELEGATED, ""))
        self.assertIn("# Thing default/a (standard input:2): would be delegated", out)
        code, _, err = self.run_plan("-f", "-", stdin=b"a: [\n")
        self.assertEqual(code, WRONG)
        self.assertIn("standard input:2:1: ", err)

    def test_items_of_a_list_have_their_lines(self):
        out = self.plan("kind: List\nitems:\n- %s\n- %s\n" % (json.dumps(thing("a")), json.dumps(thing("b"))))
        self.assert_says(out, "# Thing default/a (o.yaml:3)", "# Thing default/b (o.yaml:4)")

    def test_a_bad_configuration_is_told_and_what_is_left_is_used(self):
        self.write("o.yaml", thing())
        cases = [("origins: x\n", "wharf.yaml:", True), ("  - {name: nowhere}\n", "adapter nowhere", True),
                 ("a: [\n", "wharf.yaml:", False)]
        for more, sentence, planned in cases:
            self.write_config(more=more)
            code, out, err = self.run_plan("-f", "o.yaml")
            self.assertEqual(code, WRONG)
            self.assertIn(sentence, err)
            self.assertEqual("would be delegated" in out, planned, more)

    def test_a_worker_that_is_not_configured_gets_a_suggestion(self):
        code, out, err = self.run_plan("-f", self.write("o.yaml", thing()), "--cluster", "w3")
        self.assertEqual((code, out), (WRONG, ""))
        self.assertIn('--cluster: found "w3", expected a worker of ', err)
        self.assertIn('(w1, w2); did you mean "w1"?', err)
        code, _, err = self.run_plan("-f", "o.yaml", "--cluster", "w1")
        self.assertEqual(code, WRONG)
        self.assert_says(err, "w1", "w1.kubeconfig", "No such file")
