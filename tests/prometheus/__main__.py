# SPDX-License-Identifier: Apache-2.0
"""The metrics, rules and dashboard as Prometheus reads them.

    python3 tests/prometheus BUILD_FOLDER [unittest arguments]

Debian's prometheus scrapes a host that runs in wharf-sandbox, and every expression of etc/prometheus/rules.yaml and of
etc/grafana/wharf.json is evaluated against it. Needs prometheus and promtool (Debian: apt-get install prometheus); without
them everything is skipped. Also BUILD_FOLDER/wharf-sandbox, wharf and adapters/*.so.
"""
import http.client
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

sys.dont_write_bytecode = True

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "tests", "sandbox", "test"), os.path.join(ROOT, "tests", "support")]

import clusters  # noqa: E402
from clusters import wait_for  # noqa: E402
from free_port import free_port  # noqa: E402

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
RULES = os.path.join(ROOT, "etc", "prometheus", "rules.yaml")
DASHBOARD = os.path.join(ROOT, "etc", "grafana", "wharf.json")
TOOLS = shutil.which("prometheus") and shutil.which("promtool")
JOBS = "/apis/batch/v1/namespaces/default/jobs"
RATE_INTERVAL = "20s"  # what Grafana makes of $__rate_interval
# Of these a healthy host has no series: they come with sources of workers.
ABSENT = {"wharf_worker_token_expiry_timestamp_seconds", "wharf_worker_token_lifetime_seconds"}


def promtool(*arguments, stdin=None, cwd=None):
    """(exit code, output)"""
    done = subprocess.run(["promtool", *arguments], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120, check=False, cwd=cwd)
    return done.returncode, done.stdout


def ask(address, path):
    connection = http.client.HTTPConnection(address, timeout=30)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def expressions(panels):
    """(title, expression) of every panel."""
    for panel in panels:
        yield from expressions(panel.get("panels", []))
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]


class Users(threading.Thread):
    """Submits a Job now and then, and lets a pod of one be in trouble."""

    def __init__(self, sandbox):
        super().__init__(daemon=True)
        self.sandbox, self.stopping, self.failure = sandbox, threading.Event(), None
        self.management = sandbox.cluster("mgmt")

    def job(self, number):
        return {"apiVersion": "batch/v1", "kind": "Job",
                "metadata": {"name": f"job-{number}", "annotations": {"world.test/duration": "2s"}},
                "spec": {"managedBy": "wharf.dev/host", "suspend": number % 10 == 9,
                         "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}}}}

    def trouble(self, number):
        """The Event of a pod of the Job's mirror, once that exists."""
        place = self.management.get(f"{JOBS}/job-{number}").get("metadata", {}).get("annotations", {}).get("wharf.dev/cluster")
        if not place:
            return
        worker = self.sandbox.cluster(place)
        pods = worker.get("/api/v1/namespaces/default/pods").get("items", [])
        pod = next((p["metadata"] for p in pods if p["metadata"]["name"].startswith(f"job-{number}-")), None)
        if pod:
            worker.ask("POST", "/apis/events.k8s.io/v1/namespaces/default/events", {
                "apiVersion": "events.k8s.io/v1", "kind": "Event", "type": "Warning", "reason": "FailedMount",
                "metadata": {"name": f"event-{number}", "namespace": "default"}, "note": "no such volume", "action": "Mount",
                "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": pod["name"],
                              "uid": pod["uid"]},
                "reportingController": "kubelet", "reportingInstance": "node-1",
                "eventTime": "2026-01-02T03:04:05.000000Z"})

    def run(self):
        try:
            number = 0
            while not self.stopping.wait(0.3):
                number += 1
                self.management.ask("POST", JOBS, self.job(number))
                if number > 3 and number % 3 == 0:
                    self.trouble(number - 2)
        except Exception as failure:  # pylint: disable=broad-except
            self.failure = failure

    def stop(self):
        self.stopping.set()
        self.join(60)


@unittest.skipUnless(TOOLS, "prometheus and promtool are not installed")
class Prometheus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="wharf-prometheus-")
        cls.sandbox = clusters.Sandbox(BUILD, os.path.join(cls.directory, "sandbox"))
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        cls.sandbox.start("--run", "--workers", "2")
        cls.addClassCleanup(cls.sandbox.tell, "stop")
        with open(os.path.join(cls.directory, "sandbox", "wharf.yaml"), encoding="utf-8") as file:
            cls.host = re.search(r'address: "([^"]+)"', file.read())[1]
        cls.users = Users(cls.sandbox)
        cls.users.start()
        cls.addClassCleanup(cls.users.stop)
        cls.start_prometheus()

    @classmethod
    def start_prometheus(cls):
        cls.address = f"127.0.0.1:{free_port()}"
        config = os.path.join(cls.directory, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [RULES],
                       "scrape_configs": [{"job_name": "wharf", "static_configs": [{"targets": [cls.host]}]}]}, file)
        log = open(os.path.join(cls.directory, "prometheus.log"), "wb")
        cls.child = subprocess.Popen(["prometheus", "--config.file", config, "--web.listen-address", cls.address,
                                      "--storage.tsdb.path", os.path.join(cls.directory, "data"), "--log.level=warn"],
                                     stdout=log, stderr=log)
        log.close()
        cls.addClassCleanup(cls.end_prometheus)
        wait_for("prometheus scrapes the host", lambda: cls.has_samples("wharf_in_sync == 1"))
        wait_for("a status was written and a pod's Event was told",
                 lambda: cls.has_samples("sum(wharf_pod_events_reported_total) > 0 and sum(wharf_status_latency_seconds_count) > 0"))
        time.sleep(5)  # so that there are rates of what came last

    @classmethod
    def end_prometheus(cls):
        cls.child.terminate()
        cls.child.wait(60)

    @classmethod
    def query(cls, expression):
        """The samples' values; None with an error."""
        try:
            status, text = ask(cls.address, "/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
        except OSError:
            return None
        if status == 503:  # it is starting
            return None
        answer = json.loads(text) if text.startswith("{") else {}
        if answer.get("status") != "success":
            raise AssertionError(f"{expression}: {answer.get('error', text)}")
        return [float(sample["value"][1]) for sample in answer["data"]["result"]]

    @classmethod
    def has_samples(cls, expression):
        return any(not math.isnan(value) for value in cls.query(expression) or [])

    def test_the_metrics_are_as_promtool_wants_them(self):
        status, text = ask(self.host, "/metrics")
        self.assertEqual(status, 200)
        self.assertEqual(promtool("check", "metrics", stdin=text), (0, ""))

    def test_prometheus_evaluates_each_rule_without_an_error(self):
        def rules():
            _, text = ask(self.address, "/api/v1/rules")
            found = [rule for group in json.loads(text)["data"]["groups"] for rule in group["rules"]]
            return found if all(rule["health"] != "unknown" for rule in found) else None
        found = wait_for("the rules are evaluated", rules)
        self.assertGreater(len(found), 30)
        for rule in found:
            with self.subTest(rule["name"]):
                self.assertEqual((rule["health"], rule.get("lastError", "")), ("ok", ""))
                self.query(rule["query"])
                if rule["type"] == "recording":
                    wait_for("it has a value: " + rule["name"], lambda r=rule: self.has_samples(r["name"]), 30)
                else:
                    self.assertEqual(set(rule["annotations"]), {"summary", "description", "runbook"})
                    self.assertIn(rule["labels"]["severity"], ("critical", "warning", "info"))
                    self.assertNotEqual(rule["state"], "firing", "a healthy host must not alert")

    def test_each_panel_of_the_dashboard_shows_something(self):
        with open(DASHBOARD, encoding="utf-8") as file:
            dashboard = json.load(file)
        count = 0
        for title, expression in expressions(dashboard["panels"]):
            with self.subTest(title, expression=expression):
                count += 1
                expression = expression.replace("$__rate_interval", RATE_INTERVAL).replace("$job", ".*")
                expression = expression.replace("$instance", ".*")
                self.assertNotIn("$", expression)
                wait_for("samples of " + expression, lambda e=expression: self.has_samples(e), 20)
        self.assertGreater(count, 35)
        self.assertIsNone(self.users.failure)

    def test_every_metric_that_an_expression_names_exists(self):
        _, text = ask(self.host, "/metrics")
        families = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
        endings = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("", "_sum", "_count")}
        names = {name + ending for name, kind in families.items() for ending in endings.get(kind, ("",))}
        used = set()
        for path in (RULES, DASHBOARD):
            with open(path, encoding="utf-8") as file:
                used |= set(re.findall(r"\b(?:wharf|process)_[a-z0-9_]+(?=[{\[ )]|$)", file.read(), re.MULTILINE))
        self.assertGreater(len(used), 40)
        self.assertEqual(used - names - set(families) - ABSENT, set())


@unittest.skipUnless(TOOLS, "prometheus and promtool are not installed")
class Rules(unittest.TestCase):
    def test_they_are_valid(self):
        code, output = promtool("check", "rules", "--lint=all", "--lint-fatal", RULES)
        self.assertEqual(code, 0, output)

    def test_alerts_fire_when_they_should_and_only_then(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(RULES, folder)
            shutil.copy(os.path.join(ROOT, "tests", "prometheus", "rules_test.yaml"), folder)
            code, output = promtool("test", "rules", "rules_test.yaml", cwd=folder)
            self.assertEqual(code, 0, output)


if __name__ == "__main__":
    if not TOOLS:
        print("prometheus-test: skipped, prometheus and promtool are not installed (Debian: apt-get install prometheus)")
    unittest.main(argv=["prometheus", *sys.argv[2:]])
