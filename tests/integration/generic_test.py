#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors in settings of the generic adapter, as reported by `wharf check`: the line, the setting, and the cause.

    generic_test.py BUILD_FOLDER [unittest arguments]

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
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

HEAD = """apiVersion: wharf.dev/v1alpha1
kind: HostConfiguration
management: {kubeconfig: mgmt.kubeconfig}
workers:
- {name: w1, kubeconfig: w1.kubeconfig}
adapters:
  directory: %s
  enabled:
  - name: generic
    settings:
""" % os.path.join(BUILD, "adapters")

GOOD = """kinds:
- group: example.com
  versions: [v1, v1beta1]
  kind: Thing
  plural: things
  statusSubresource: true
  neverFinishes: false
  managedBy:
    field: /spec/managedBy
    builtIn: example.com/thing-operator
    allowed: [example.com/other, kueue.x-k8s.io/multikueue]
  suspend:
    field: /spec/suspend
    value: "Yes"
  carry:
  - /spec/replicas
  - field: /spec/groups/*/replicas
    key: groupName
  - field: /spec/template/labels
    when: WhileSuspended
  remove:
  - /spec/ttl
  - /metadata/labels/example.com~1uid
  pods:
  - template: /spec/groups/*/template
    count: [/spec/groups/*/replicas, /spec/slices, /spec/a, /spec/b]
  references:
  - {name: /spec/priority, kind: PriorityClass}
  - name: /spec/parts/*/plan
    kind: Plan
    group: plans.io
    version: v1
    resource: plans
    kindField: /spec/parts/*/type
    kindByDefault: true
    namespaceField: /spec/parts/*/team
    optionalField: /spec/parts/*/maybe
  - {name: /spec/data, kind: Secret, of: plans.plans.io, optional: true}
  - {name: /spec/output, kind: ConfigMap, made: true}
  - {container: /spec/driver}
  - {volume: /spec/disks/*}
  - {podSpec: /spec/pod, of: plans.plans.io}
  continuity:
  - {field: /status/checkpoint, name: CHECKPOINT}
  - {field: /status/training/step, name: STEP}
  phases:
  - condition: Complete
    phase: Succeeded
  - condition: Ended
    status: "False"
    field: /status/outcome
    phase: Failed
  - field: /status/state
    value: broken
    phase: Failed
  - condition: Suspended
    reason: Halted
    phase: Suspended
    whileSuspended: true
  - field: /status/broken
    value: true
    phase: Active
  - field: /status/attempts
    value: 0
    phase: Pending
  finishedAt: /status/completionTime
  observedGeneration: /status/observedGeneration
  conditionTime: lastUpdateTime
  suspendedStatus:
  - condition: Suspended
    status: "True"
    reason: "{kind}Suspended"
    message: "{namespace}/{name} is suspended"
  - condition: Running
    status: "False"
    when: IfTrue
  - zero: /status/groups/*/ready
  - remove: /status/startTime
  - field: /status/state
    value: halted
    when: IfAbsent
  resumedStatus:
  - condition: Suspended
    status: "False"
    reason: Resumed
  statusRemove:
  - /status/pods/*/ip
"""

GOOD_SERVICE = """- group: example.com
  versions: [v2]
  kind: Service
  plural: services
  neverFinishes: true
  managedBy: {field: /spec/managedBy}
"""

# What is replaced in GOOD, by what, and the expected problem: a word of its line, and its text.
SPEC = "expected a field of the spec: labels and annotations are always carried"
REFUSED = [
    ("kinds:\n", "kind:\n", "kind:", 'settings.kind: unknown setting, did you mean "kinds"?'),
    ("  kind: Thing\n", "", "- group", "settings.kinds[0].kind: found nothing, expected a value: it is required"),
    ("plural: things", "plural: 7", "plural: 7", "settings.kinds[0].plural: found 7, expected a text"),
    ("[v1, v1beta1]", "v1", "versions:", 'settings.kinds[0].versions: found "v1", expected a list'),
    ("[v1, v1beta1]", "[]", "versions:", "settings.kinds[0].versions: found a list, expected a list that is not empty"),
    ("[v1, v1beta1]", "[v1, v1]", "versions:", 'settings.kinds[0].versions[1]: found "v1" a second time'),
    ("statusSubresource: true", "statusSubresource: maybe", "statusSub", 'found "maybe", expected true or false'),
    ("statusSubresource:", "statusSubResource:", "statusSubR", 'did you mean "statusSubresource"?'),
    ("neverFinishes:", "foo/bar~:", "foo/bar~", "settings.kinds[0].foo/bar~: unknown setting, expected one of group,"),
    ("  managedBy:\n", "  managedby:\n", "managedby:", 'did you mean "managedBy"?'),
    ("    field: /spec/managedBy\n", "", "managedBy:", "settings.kinds[0].managedBy.field: found nothing"),
    ("/spec/managedBy", "spec/managedBy", "spec/managedBy", "expected a JSON pointer (RFC 6901) like /spec/suspend"),
    ("/spec/managedBy", "/spec//managedBy", "//", "expected a pointer without empty names"),
    ("/spec/managedBy", "/spec/*/managedBy", "*/managedBy", 'expected a pointer to one field, without "*"'),
    ("/spec/managedBy", "/spec/a~b", "a~b", 'in which a "~" in a name is written ~0'),
    ("/spec/managedBy", "/metadata/ownerReferences", "ownerReferences", "expected a field of the spec, or one label or an"),
    ("/spec/managedBy", "/metadata/labels/a/b", "a/b", 'a "/" in its name is written "~1"'),
    ("/spec/managedBy", "/status/manager", "/status/manager", "expected a field of the spec"),
    ("    field: /spec/suspend\n", "", "suspend:", "settings.kinds[0].suspend.field: found nothing"),
    ("- /spec/replicas", "- /metadata/labels/a", "- /metadata/labels/a", SPEC),
    ("- /spec/replicas", "- [x]", "- [x]", "settings.kinds[0].carry[0]: found a list, expected a JSON pointer"),
    ("when: WhileSuspended", "when: Never", "when: Never", 'found "Never", expected Always or WhileSuspended'),
    ("- /spec/ttl", "- /metadata/name", "- /metadata/name", "settings.kinds[0].remove[0]"),
    ("  - condition: Complete", "  - condition: Complete\n    value: x", "- condition: Complete",
     "settings.kinds[0].phases[0]: expected either condition"),
    ("  - field: /status/state\n    value: broken", "  - value: broken", "- value: broken", "phases[2].field: found nothing"),
    ("value: broken", "value: broken\n    status: \"True\"", 'status: "True"', "phases[2].status: found it without condition"),
    ("    phase: Succeeded", "    phase: Done", "phase: Done", 'found "Done", expected Pending, Suspended, Active'),
    ("field: /status/outcome", "field: /spec/outcome", "/spec/outcome", 'expected a pointer that begins with "/status/"'),
    ("value: broken", "value: [a]", "value: [a]", "phases[2].value: found a list, expected a text"),
    ("whileSuspended: true", "whileSuspended: 1", "whileSuspended", "phases[3].whileSuspended: found 1, expected true or"),
    ("zero: /status/groups/*/ready", "zero: /spec/ready", "zero:", "suspendedStatus[2].zero: found \"/spec/ready\""),
    ("remove: /status/startTime", "remove: /status/startTime\n    zero: /status/x", "- remove: /status/startTime",
     "suspendedStatus[3]: expected one of condition, field, zero and remove"),
    ("value: halted", "status: halted", "- field: /status/state\n    status: halted", "suspendedStatus[4]: expected status with"),
    ("when: IfTrue", "when: Never", "when: Never", 'suspendedStatus[1].when: found "Never", expected Always, IfTrue or IfA'),
    ("value: broken", "values: broken", "values: broken", 'phases[2].values: found "broken", expected a list'),
    ("value: broken", "values: [broken, [a]]", "values:", "phases[2].values[1]: found a list, expected a text"),
    ("value: broken", "value: broken\n    values: [a]", "- field: /status/state", "phases[2]: expected either condition or"),
    ("value: broken", "exists: false", "- field: /status/state", "phases[2]: expected either condition or"),
    ("value: broken", "value: broken\n    key: x", "key: x", "phases[2].key: found it without condition"),
    ("  - condition: Complete\n", "  - condition: Complete\n    conditions: [Done]\n", "- condition: Complete",
     "phases[0]: expected either condition or"),
    ("  - condition: Complete\n", "  - exists: true\n", "- exists:", "phases[0].field: found nothing, expected a pointer"),
    ("  - condition: Complete\n", "  - all: [{condition: A}]\n    condition: B\n", "condition: B",
     "phases[0].condition: found it beside all, expected it in the items"),
    ("  - condition: Complete\n", "  - all: [{condition: A, phase: Failed}]\n", "phase: Failed}",
     "phases[0].all[0].phase: unknown setting"),
    ("  - condition: Complete\n", "  - all: [{condition: A}, {value: b}]\n", "- all:",
     "phases[0].all[1].field: found nothing, expected a pointer"),
    ("  - condition: Complete\n", "  - all: []\n", "- all:", "phases[0].all: found a list, expected a list that is not"),
    ("    value: \"Yes\"", "    value: \"Yes\"\n    values: [a]", "suspend:\n",
     "suspend: found value and values, expected one of them"),
    ("- template: /spec/groups/*/template", "- template: /spec/groups/*/template\n    offset: 1.5", "offset:",
     "pods[0].offset: found 1.5, expected a whole number"),
    ("{name: /spec/priority, kind: PriorityClass}", "{kind: PriorityClass}", "{kind: PriorityClass}",
     "references[0]: expected one of name, podTemplate, podSpec, container and volume"),
    ("{name: /spec/priority, kind: PriorityClass}", "{name: /spec/priority}", "{name: /spec/priority}",
     "references[0].kind: expected it with name, and with name only"),
    ("    version: v1\n", "", "- name: /spec/parts",
     "references[1]: found name and kind, expected also group, version and resource of this kind"),
    ("kind: ConfigMap", "kind: Config", "kind: Config", "references[3]: found name and kind, expected also group, version and"),
    ("{container: /spec/driver}", "{container: /spec/driver, volume: /spec/x}", "{container:", "references[4]: expected one of"),
    ("{container: /spec/driver}", "{container: /spec/driver, kind: Secret}", "{container:", "references[4].kind: expected it with"),
    ("kindByDefault: true", "kindByDefault: 7", "kindByDefault", "references[1].kindByDefault: found 7, expected true or false"),
    ("namespaceField:", "namespaces:", "namespaces:", 'references[1].namespaces: unknown setting, did you mean "name"'),
    ("finishedAt: /status/completionTime", "finishedAt: [a]", "finishedAt", "finishedAt: found a list, expected a JSON"),
    ("{field: /status/checkpoint, name: CHECKPOINT}", "{field: /status/checkpoint}", "- {field: /status/checkpoint",
     "continuity[0].name: found nothing, expected a value: it is required"),
    ("{field: /status/checkpoint, name", "{pointer: /status/checkpoint, name", "- {pointer:",
     "continuity[0].pointer: unknown setting, expected one of field, name"),
]

# Found by the checks of every kind, and reported at the setting whose text is wrong.
CONTRADICTIONS = [
    ("kind: Thing", "kind: thing", "kind: thing", 'settings.kinds[0].kind: found "thing", expected the name of a kind'),
    ("plural: things", "plural: Things", "plural:", 'kinds[0].plural: found "Things", expected the name of a resource'),
    ("plural: things", "plural: " + "t" * 60, "plural:", 'kinds[0].plural: found "ttt'),
    ("group: example.com", "group: Example", "- group:", 'kinds[0].group: found "Example", expected an API group'),
    ("[v1, v1beta1]", "[v1, V2]", "versions:", 'kinds[0].versions[1]: found "V2", expected an API version'),
    ("statusSubresource: true", "statusSubresource: false", "observedGeneration:",
     'kinds[0].observedGeneration: found "/status/observedGeneration", expected NULL with WHARF_KIND_NO_STATUS_SUBRESOURCE'),
    ("/spec/managedBy", "/spec/suspend", 'field: /spec/suspend\n    value: "Yes"',
     'kinds[0].suspend.field: found "/spec/suspend", expected another field: managed_by is never'),
    ("/spec/managedBy", "/metadata/labels/manager", "builtIn:",
     'kinds[0].managedBy.builtIn: found "example.com/thing-operator", expected what the value of a label may be'),
    ("example.com/other", "example.com/thing-operator", "allowed:",
     'kinds[0].managedBy.allowed[0]: found "example.com/thing-operator", expected values other than the built-in one'),
    ("  suspend:\n    field: /spec/suspend\n    value: \"Yes\"\n", "", "- field: /spec/template/labels",
     'kinds[0].carry[2].field: found "/spec/template/labels", expected no WHARF_CARRY_WHILE_SUSPENDED in a kind without suspend'),
    ("- /spec/replicas", "- /spec/managedBy", "- /spec/managedBy",
     'kinds[0].carry[0]: found "/spec/managedBy", expected another field: managed_by is never'),
    ("- /spec/replicas", "- /spec", "- /spec\n",
     'kinds[0].carry[0]: found "/spec", expected another field: managed_by is never carried, nor what'),
    ("- /spec/replicas", "- /spec/ttl", "- /spec/ttl", 'kinds[0].carry[0]: found "/spec/ttl", expected it not to be in removed too'),
    ("- /spec/replicas", "- /spec/template/labels", "- field: /spec/template/labels",
     'kinds[0].carry[2].field: found "/spec/template/labels", expected it once'),
    ("field: /spec/template/labels", "field: /spec/suspend", "- field: /spec/suspend",
     'kinds[0].carry[2].field: found "/spec/suspend", expected WHARF_CARRY_ALWAYS for the field of suspend'),
    ("- /spec/ttl", "- /spec/suspend", "field: /spec/suspend\n",
     'kinds[0].suspend.field: found "/spec/suspend", expected it not to be in removed too'),
    ("[/spec/groups/*/replicas, /", "[/spec/sets/*/replicas, /", "count:",
     'kinds[0].pods[0].count[0]: found "/spec/sets/*/replicas", expected the same path up to the last "*"'),
    ("  - field: /status/state\n    value: broken", "  - condition: Complete",
     "- condition: Complete\n    phase: Failed",
     'kinds[0].phases[2].condition: found a second rule for /status/conditions "Complete" (3), expected one: the earlier one (1)'),
    ("/status/pods/*/ip", "/status/conditions", "- /status/conditions",
     'kinds[0].statusRemove[0]: found "/status/conditions", expected it not to be in status_removed'),
    ("  - condition: Complete\n", "  - condition: Complete\n    key: status\n", "key: status",
     'phases[0].key: found key "status", expected WHARF_RULE_EXISTS'),
    ("  - condition: Complete\n", "  - condition: Complete\n    exists: true\n    status: Unknown\n", "status: Unknown",
     "phases[0].status: found status with WHARF_RULE_EXISTS"),
    ("  - field: /status/state\n    value: broken", "  - conditions: [Other, Complete, Other]", "conditions:",
     'phases[2].conditions[2]: found "Other" a second time'),
    ("  - field: /status/state\n    value: broken", "  - all: [{condition: Complete}, {condition: Other}]", "- all:",
     'phases[2].all[0].condition: found a second rule for /status/conditions "Complete" (3), expected one: the earlier one (1)'),
    ("    value: \"Yes\"", "    values: [\"Yes\", \"Yes\"]", "values:", 'suspend.values[1]: found "Yes", expected values other'),
    ("field: /spec/suspend\n    value: \"Yes\"", "field: /metadata/annotations/wharf.dev~1stop", "field: /metadata",
     'suspend.field: found "/metadata/annotations/wharf.dev~1stop", expected a label or annotation that is not the host'),
    ("- template: /spec/groups/*/template", "- template: /spec/groups/*/template\n    fallback: /spec/template", "fallback:",
     'pods[0].fallback: found "/spec/template", expected the same path up to the last "*"'),
    ("- template: /spec/groups/*/template\n    count: [/spec/groups/*/replicas, /spec/slices, /spec/a, /spec/b]",
     "- template: /spec/template\n    offset: 1", "- template:", 'pods[0].template: found offset 1 without counts, expected counts'),
    ("kindField: /spec/parts/*/type", "kindField: /spec/part/*/type", "kindField:",
     'references[1].kindField: found "/spec/part/*/type", expected the same path up to the last "*"'),
    ("kind: Secret, of: plans.plans.io", "kind: Secret, of: plans.io", "of: plans.io", 'references[2].of: found "plans.io", expected a'),
    ("group: plans.io", "group: Plans", "group: Plans", 'references[1].group: found "Plans", expected an API group'),
    ("{volume: /spec/disks/*}", "{volume: /status/disks/*}", "{volume:", 'references[5].volume: found "/status/disks/*", expected a field'),
    ("kindByDefault: true\n", "clusterScoped: true\n", "- name: /spec/parts",
     "references[1].name: found namespace_ with WHARF_REFERENCE_CLUSTER_SCOPED"),
    ("{field: /status/checkpoint, name: CHECKPOINT}", "{field: /spec/checkpoint, name: CHECKPOINT}", "- {field: /spec/checkpoint",
     'continuity[0].field: found "/spec/checkpoint", expected a pointer that begins with "/status/"'),
    ("name: STEP}", "name: step}", "name: step}", 'continuity[1].name: found "step", expected at most 40 upper-case letters'),
    ("name: STEP}", "name: CHECKPOINT}", "field: /status/training/step", 'continuity[1].name: found "CHECKPOINT", expected it once'),
    ("neverFinishes: false", "neverFinishes: true", "finishedAt:",
     'kinds[0].finishedAt: found "/status/completionTime", expected NULL with WHARF_KIND_NEVER_FINISHES'),
    ("conditionTime: lastUpdateTime", "conditionTime: reason", "conditionTime:",
     'kinds[0].conditionTime: found "reason", expected the name'),
    ("zero: /status/groups/*/ready", "zero: /status/pods/x/ip", "- /status/pods/*/ip",
     'kinds[0].statusRemove[0]: found "/status/pods/x/ip", expected it not to be in status_removed'),
    ("status: \"True\"", "status: \"Yes\"", 'status: "Yes"',
     'kinds[0].suspendedStatus[0].status: found value "Yes", expected True, False or Unknown'),
    ("    reason: Halted\n    phase: Suspended", "    reason: Halted\n    phase: Pending", "- condition: Suspended\n    status: \"False\"",
     'kinds[0].resumedStatus[0].condition: found a change, expected a rule for WHARF_SUSPENDED'),
]


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="generic_test.", dir=BUILD)
        os.chmod(self.folder, 0o755)
        self.config = os.path.join(self.folder, "wharf.yaml")
        for name in ("mgmt", "w1"):
            with open(os.path.join(self.folder, name + ".kubeconfig"), "w", encoding="utf-8") as out:
                json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                           "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9/" + name}}],
                           "users": [{"name": "u", "user": {}}],
                           "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}, out)

    def tearDown(self):
        shutil.rmtree(self.folder)

    def kinds(self):
        """Those that are loaded in spite of a problem."""
        done = subprocess.run([WHARF, "adapters", "--config", self.config], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=240, check=False)
        return [re.split(r"\s{2,}", line)[3] for line in done.stdout.splitlines()[1:]]

    def check(self, settings, more="", isolation="none"):
        """Exit code, output, and the problems; the last one is their number. `more`: adapters before."""
        with open(self.config, "w", encoding="utf-8") as out:
            head = HEAD if isolation == "none" else HEAD.replace("adapters:\n", "adapters:\n  isolation: %s\n" % isolation)
            out.write(head.replace("  enabled:\n", "  enabled:\n" + more) + re.sub("^(?=.)", "      ", settings, flags=re.MULTILINE))
        done = subprocess.run([WHARF, "check", "--config", self.config], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=240, check=False)
        # With sanitizers there is no whole sandbox.
        told = [line for line in done.stderr.splitlines() if "less confined than it could be" not in line]
        return done.returncode, done.stdout, told

    def assert_refused(self, settings, where, what):
        code, _, problems = self.check(settings)
        self.assertEqual((code, len(problems)), (1, 2), problems)
        line = (HEAD + settings[:settings.index(where)]).count("\n") + 1
        self.assertIn("%s:%d: adapter generic: settings." % (self.config, line), problems[0])
        self.assertIn(what, problems[0])


class Settings(Case):
    def test_settings_with_everything_in_them_are_good(self):
        for settings, kinds in ((GOOD, "1 kind\n"), (GOOD + GOOD_SERVICE, "2 kinds\n")):
            code, out, problems = self.check(settings)
            self.assertEqual((code, problems), (0, []))
            self.assertIn(kinds, out)

    def test_the_settings_of_the_documentation_are_good(self):
        with open(os.path.join(ROOT, "docs", "generic.md"), encoding="utf-8") as source:
            blocks = re.findall(r"```yaml\n(.*?)```", source.read(), re.DOTALL)
        whole = [b for b in blocks if b.startswith("kinds:")]
        self.assertTrue(whole)
        for settings in whole:
            self.assertEqual(self.check(settings)[2], [])

    def test_what_is_wrong_is_refused_with_its_line(self):
        for old, new, where, what in REFUSED:
            with self.subTest(old=old, new=new):
                self.assertEqual(GOOD.count(old), 1)
                self.assert_refused(GOOD.replace(old, new), where, what)

    def test_what_contradicts_itself_is_refused_with_its_line(self):
        for old, new, where, what in CONTRADICTIONS:
            with self.subTest(old=old, new=new):
                self.assertEqual(GOOD.count(old), 1)
                self.assert_refused(GOOD.replace(old, new), where, what)

    def test_a_kind_is_described_once(self):
        for old, new in (("Service", "Thing"), ("services", "things")):
            again = GOOD_SERVICE.replace(old, new)
            self.assert_refused(GOOD + again, again, "settings.kinds[1]: kind 2 (%s): found the kind or the plural of "
                                "things.example.com a second time" % re.search("kind: (.*)", again)[1])

    def test_a_bad_kind_is_refused_alone(self):
        """By the adapter, by the host's checks, and as another adapter's; the others stay."""
        later = GOOD_SERVICE.replace("Service", "Later").replace("services", "laters")
        for old, new in (("kind: Thing", "kynd: Thing"), ("kind: Thing", "kind: 7"), ("plural: things", "plural: Things"),
                         ("plural: things", "plural: services"), ("/spec/managedBy", "/spec/suspend")):
            with self.subTest(old=old, new=new):
                bad = GOOD.replace("kinds:\n", "").replace(old, new)
                code, _, problems = self.check("kinds:\n" + GOOD_SERVICE + bad + later)
                self.assertEqual((code, len(problems)), (1, 2), problems)
                self.assertIn("adapter generic: settings.kinds[1]", problems[0])
                self.assertEqual(self.kinds(), ["services.example.com/v2", "laters.example.com/v2"])
        code, _, problems = self.check("kinds:\n" + GOOD_SERVICE + GOOD_SERVICE.replace("example.com", "batch").replace(
            "services", "jobs") + later, more="  - name: job\n")
        self.assertEqual((code, len(problems)), (1, 2), problems)
        self.assertIn("kind jobs.batch: found a second adapter for it", problems[0])
        self.assertEqual(self.kinds(), ["jobs.batch/v1", "services.example.com/v2", "laters.example.com/v2"])

    def test_in_a_process_of_its_own_the_same_is_refused(self):
        """A text that is there several times is attributed to its kind."""
        for old, new, where, what in (
                ("plural: things", "plural: 7", "plural: 7", "settings.kinds[0].plural: found 7, expected a text"),
                ("/spec/managedBy", "/status/manager", "/status/manager", 'kinds[0].managedBy.field: found "/status/manager"'),
                ("[v1, v1beta1]", "[v1, v1]", "- group", 'settings.kinds[0]: kind 1 (Thing): versions: found "v1" a second')):
            with self.subTest(old=old, new=new):
                settings = GOOD.replace(old, new)
                code, _, problems = self.check(settings + GOOD_SERVICE, isolation="all")
                self.assertEqual((code, len(problems)), (1, 2), problems)
                line = (HEAD + settings[:settings.index(where)]).count("\n") + 2
                self.assertIn("%s:%d: adapter generic: " % (self.config, line), problems[0])
                self.assertIn(what, problems[0])
                self.assertEqual(self.kinds(), ["services.example.com/v2"])

    def test_a_kind_must_be_able_to_finish(self):
        short = GOOD_SERVICE.replace("  neverFinishes: true\n", "")
        self.assert_refused("kinds:\n" + short, "- group", "settings.kinds[0]: kind 1 (Service): phase")
        more = GOOD_SERVICE + "  finishedAt: /status/end\n"
        self.assert_refused("kinds:\n" + more, "finishedAt:", 'settings.kinds[0].finishedAt: found "/status/end", expected')
        more = GOOD_SERVICE + "  phases: [{condition: Done, phase: Succeeded}]\n"
        self.assert_refused("kinds:\n" + more, "phases:", "settings.kinds[0].phases[0].condition: found a final phase, "
                            "expected none with WHARF_KIND_NEVER_FINISHES")

    def test_a_label_cannot_hold_the_name_of_the_host(self):
        label = GOOD_SERVICE.replace("/spec/managedBy", "/metadata/labels/manager")
        self.assert_refused("kinds:\n" + label, "- group",
                            "settings.kinds[0]: kind 1 (Service): managed_by_allowed: found nothing")

    def test_without_kinds_there_is_nothing_to_load(self):
        for settings in ("{}\n", "kinds: null\n"):
            code, _, problems = self.check(settings)
            self.assertEqual(code, 1)
            self.assertIn("adapter generic: settings.kinds: found nothing, expected a value: it is required", problems[0])
        self.assert_refused("kinds: []\n", "kinds", "settings.kinds: found a list, expected a list that is not empty")
        self.assert_refused("kinds: [x]\n", "kinds", 'settings.kinds[0]: found "x", expected a mapping')

    def plan(self, status, suspend):
        """The output of `wharf plan` for a Thing."""
        self.assertEqual(self.check(GOOD)[0], 0)
        path = os.path.join(self.folder, "thing.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a", "namespace": "n"},
                       "spec": {"managedBy": "example.com/other", "suspend": suspend}, "status": status}, out)
        done = subprocess.run([WHARF, "plan", "--config", self.config, "-f", path], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=240, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def test_a_suspended_object_without_a_mirror_gets_the_status_that_is_described(self):
        out = self.plan({"startTime": "x", "groups": [{"ready": 2}, {"ready": 0}],
                         "conditions": [{"type": "Running", "status": "True"}]}, "Yes")
        status = out[out.index("while it has no mirror"):]
        for part in ("reason: ThingSuspended", "message: n/a is suspended", "lastUpdateTime", "state: halted"):
            self.assertIn(part, status)
        self.assertEqual((status.count("ready: 0"), status.count('status: "False"'), status.count("startTime")), (2, 1, 0))

    def test_rules_match_booleans_and_numbers_and_count_while_suspended(self):
        halted = {"conditions": [{"type": "Suspended", "status": "True", "reason": "Halted"}], "attempts": 0}
        for status, suspend, phase in (({"broken": True}, "No", "Active"), ({"broken": "true"}, "No", "Active"),
                                       ({"attempts": 0}, "No", "Pending"), ({"attempts": 1}, "No", "Active"),
                                       (halted, "Yes", "Suspended"), (halted, "No", "Pending")):
            with self.subTest(status=status, suspend=suspend):
                self.assertIn("# phase: %s" % phase, self.plan(status, suspend))

    def test_there_may_be_many_kinds(self):
        many = "kinds:\n" + "".join(GOOD_SERVICE.replace("services", "services%d" % i).replace("Service", "Service%d" % i)
                                    for i in range(1000))
        code, out, problems = self.check(many)
        self.assertEqual((code, problems), (0, []))
        self.assertIn("1000 kinds", out)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
