# SPDX-License-Identifier: Apache-2.0
"""The chart makes what the kustomize base makes; both follow from the adapters."""
import copy
import os
import re
import subprocess
import unittest

import cases
import chart
from chart import ROOT, key
from place import ADAPTERS, TO_JSON, WHARF
from template import Chart, TemplateError

HELM_LABELS = ("app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart", "app.kubernetes.io/name")
DELEGATE = os.path.join(ROOT, "etc", "overlays", "components", "delegate")


def plain(thing):
    """Without the labels that say who applied it; what holds YAML is read."""
    thing = copy.deepcopy(thing)
    labels = thing["metadata"].pop("labels", {})
    thing["metadata"]["labels"] = {name: value for name, value in labels.items() if name not in HELM_LABELS}
    return chart.read_config(TO_JSON, thing)


def by_key(things):
    things = list(things)
    found = {key(thing): plain(thing) for thing in things}
    assert len(found) == len(things), "an object is there twice"
    return found


class ChartTest(unittest.TestCase):
    @unittest.skipUnless(chart.kubectl(), "kubectl is not there")
    def test_the_default_chart_is_the_base_object_by_object(self):
        base, helm = by_key(chart.kustomize(TO_JSON, "etc/kubernetes")), by_key(chart.render(TO_JSON))
        namespace = base.pop(("Namespace", "", chart.NAMESPACE))   # of helm install --create-namespace
        self.assertEqual(namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "restricted")
        self.assertEqual(sorted(base), sorted(helm))
        self.assertGreater(len(base), 10)
        for name in base:
            self.assertEqual(base[name], helm[name], name)

    @unittest.skipUnless(chart.kubectl(), "kubectl is not there")
    def test_each_switch_of_the_chart_makes_what_its_component_makes(self):
        for switch in ("serviceMonitor", "podMonitor"):
            file = os.path.join(ROOT, "etc/overlays/components", switch.lower(), switch.lower() + ".yaml")
            with open(file, encoding="utf-8") as stream:
                theirs = by_key(chart.read_yaml(TO_JSON, stream.read()))
            ours = by_key(chart.render(TO_JSON, {switch: {"enabled": True}}))
            self.assertEqual(theirs, {name: ours[name] for name in theirs})

    def test_switches_leave_objects_out(self):
        names = {key(thing)[0] for thing in chart.render(TO_JSON, cases.FEW)}
        self.assertEqual(names, {"ConfigMap", "Deployment", "Service"})

    def test_values_reach_their_places(self):
        things = by_key(chart.render(TO_JSON, cases.PLACES))
        template = things["Deployment", chart.NAMESPACE, "wharf"]["spec"]["template"]
        pod, container = template["spec"], template["spec"]["containers"][0]
        self.assertEqual(container["image"], "registry.example.internal/wharf@sha256:" + "0" * 64)
        self.assertEqual((container["imagePullPolicy"], pod["imagePullSecrets"]), ("Always", [{"name": "registry"}]))
        self.assertEqual([volume["name"] for volume in pod["volumes"]], ["config", "scratch", "plugins"])
        self.assertEqual(container["volumeMounts"][-1]["mountPath"], "/opt/plugins")
        self.assertEqual((pod["initContainers"][0]["name"], container["env"][-1]), ("copy", {"name": "A", "value": "b"}))
        self.assertEqual((template["metadata"]["annotations"], template["metadata"]["labels"]["d"]), ({"a/b": "c"}, "e"))
        self.assertEqual((pod["nodeSelector"], pod["tolerations"], pod["priorityClassName"], pod["affinity"]),
                         ({"f": "g"}, [{"operator": "Exists"}], "high", {"nodeAffinity": {}}))
        config = things["ConfigMap", chart.NAMESPACE, "wharf"]["data"]["wharf.yaml"][0]
        self.assertEqual((config["namespace"], config["log"]), ("x", {"format": "json", "level": "debug"}))
        self.assertNotIn("workersFrom", config)
        peers = things["NetworkPolicy", chart.NAMESPACE, "wharf"]["spec"]["ingress"][0]["from"]
        self.assertEqual((len(peers), peers[-1]), (3, {"ipBlock": {"cidr": "10.0.0.10/32"}}))

    def test_dependencies_are_read_with_the_rights_of_wharf_rbac(self):
        name = ("ClusterRole", "", "wharf-dependencies")
        things = by_key(chart.render(TO_JSON, cases.PLACES))
        self.assertEqual([(rule["apiGroups"], rule["resources"], rule["verbs"]) for rule in things[name]["rules"]], [
            ([group], [resource], ["get", "list", "watch"])
            for group, resource in (("", "configmaps"), ("tekton.dev", "tasks"), ("scheduling.k8s.io", "priorityclasses"))])
        subject, = things["ClusterRoleBinding", "", "wharf-dependencies"]["subjects"]
        self.assertEqual((subject["name"], subject["namespace"]), ("wharf", chart.NAMESPACE))
        for values in ({}, {"config": {"dependencies": {"copy": [], "watch": "names"}}}, {**cases.PLACES, "rbac": {"create": False}}):
            self.assertNotIn(name, by_key(chart.render(TO_JSON, values)))

    def test_with_tenancy_namespaces_are_read(self):
        name = ("ClusterRole", "", "wharf-tenancy")
        for value in ("impersonate", {"mode": "impersonate", "withdrawn": "remove"}):
            things = by_key(chart.render(TO_JSON, {"config": {"tenancy": value}}))
            rule, = things[name]["rules"]
            self.assertEqual((rule["resources"], rule["verbs"]), (["namespaces"], ["get", "list", "watch"]))
            subject, = things["ClusterRoleBinding", "", "wharf-tenancy"]["subjects"]
            self.assertEqual((subject["name"], subject["namespace"]), ("wharf", chart.NAMESPACE))
        for values in ({}, {"config": {"tenancy": "none"}}, {"config": {"tenancy": "impersonate"}, "rbac": {"create": False}}):
            self.assertNotIn(name, by_key(chart.render(TO_JSON, values)))

    def test_more_than_one_replica_needs_an_election(self):
        def deployment(**values):
            return by_key(chart.render(TO_JSON, values))["Deployment", chart.NAMESPACE, "wharf"]["spec"]
        self.assertEqual((deployment(replicas=3)["replicas"], deployment()["strategy"]), (3, {"type": "RollingUpdate"}))
        for off in (None, {"enabled": False}):
            one = deployment(replicas=1, config={"leaderElection": off})
            self.assertEqual((one["replicas"], one["strategy"]), (1, {"type": "Recreate"}))
            with self.assertRaisesRegex(chart.Refused, "expected config.leaderElection.enabled: true"):
                deployment(config={"leaderElection": off})

    def test_the_schema_refuses_what_is_no_value(self):
        wrong = ({"imagee": {}}, {"image": {"repository": ""}}, {"image": {"digest": "sha256:12"}}, {"image": {"tag": "a b"}},
                 {"image": {"pullPolicy": "Sometimes"}}, {"config": {"serve": {"address": "0.0.0.0:80"}}}, {"podLabels": {"a": {}}},
                 {"config": {"adapters": {"enabled": []}}}, {"config": {"controllerName": "wharf"}}, {"rbac": {"create": "yes"}},
                 {"serviceMonitor": {"interval": "often"}}, {"replicas": "2"}, {"replicas": -1}, {"tolerations": {}},
                 {"config": {"dependencies": {"copy": "configmaps"}}},
                 {"config": {"leaderElection": True}}, {"config": {"leaderElection": {"enabled": "false"}}}, {"config": None},
                 *({name: None} for name in ("image", "rbac", "delegate", "networkPolicy", "podDisruptionBudget", "serviceMonitor",
                                             "podMonitor")))
        for values in wrong:
            with self.assertRaises(chart.SchemaError, msg=values):
                chart.render(TO_JSON, values)

    def test_templates_that_are_not_understood_are_errors(self):
        for text in ("{{ .Values.a.b }}", "{{ lookup \"v1\" }}", "{{ if .Values.x }}", "{{ end }}", "{{ .Values }}", "{{ upper \"a\" }}",
                     "{{ printf \"%d\" 1 }}", "{{ include \"nothing\" . }}", "{{ else }}", "{{ \"a\" \"b\" }}", "{{ ( }}", "{{ 1 ) }}"):
            with self.assertRaises((TemplateError, IndexError, TypeError), msg=text):
                Chart({"templates/a.yaml": text}, {"x": True}, {}, "n").render()


class DelegateTest(unittest.TestCase):
    """The policies that set managedBy: one for each adapter, with the field and the value that the adapter answers to."""

    def policies(self):
        found = {}
        for name in sorted(os.listdir(DELEGATE)):
            if name != "kustomization.yaml":
                with open(os.path.join(DELEGATE, name), encoding="utf-8") as file:
                    found[name[:-len(".yaml")]] = chart.read_yaml(TO_JSON, file.read())
        return found

    def test_they_are_of_the_kinds_fields_and_values_of_the_adapters(self):
        run = subprocess.run([WHARF, "adapters", "--config", os.path.join(ROOT, "etc/all-adapters.yaml"), "--adapters", ADAPTERS],
                             capture_output=True, text=True, check=True)
        wanted, found = {}, {}
        for line in run.stdout.splitlines()[1:]:
            adapter, _, _, kind, field, value = line.split()[:6]
            if adapter != "generic":
                plural, group, versions = re.fullmatch(r"(\w+)\.([^/]+)/(.*)", kind).groups()
                wanted[adapter, group, plural] = (set(versions.split(",")), field, value)
        for adapter, (policy, binding) in self.policies().items():
            spec = policy["spec"]
            expression = spec["mutations"][0]["applyConfiguration"]["expression"]
            path = re.findall(r"(\w+)(?:: Object[\w.]*\{|: ')", expression)
            for rule in spec["matchConstraints"]["resourceRules"]:
                for plural in rule["resources"]:
                    found[adapter, rule["apiGroups"][0], plural] = (
                        set(rule["apiVersions"]), "/" + "/".join(path), re.search(r"'(.*)'", expression)[1])
            self.assertIn("!has(object." + ".".join(path) + ")", spec["matchConditions"][0]["expression"])
            self.assertEqual(binding["spec"]["policyName"], policy["metadata"]["name"])
            self.assertEqual(binding["spec"]["matchResources"]["namespaceSelector"], {"matchLabels": {"wharf.dev/delegate": "true"}})
        self.assertEqual(found, wanted)

    def test_the_chart_makes_those_of_the_enabled_adapters(self):
        def made(**config):
            things = chart.render(TO_JSON, {"delegate": {"enabled": True}, "config": config})
            return by_key(thing for thing in things if thing["kind"].startswith("MutatingAdmissionPolicy"))
        policies = self.policies()
        enabled = {"enabled": [{"name": "job"}, {"name": "generic"}, {"name": "kubeflow"}]}
        self.assertEqual(made(adapters=enabled), by_key(policies["job"] + policies["kubeflow"]))
        self.assertIn("'example.com/host'", str(made(controllerName="example.com/host")))
        self.assertEqual(made(controllerName=None), made())
