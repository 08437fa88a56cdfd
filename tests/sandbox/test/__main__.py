# SPDX-License-Identifier: Apache-2.0
"""wharf-sandbox from outside.

    python3 tests/sandbox/test BUILD_FOLDER [unittest arguments]

Needs BUILD_FOLDER/wharf-sandbox, wharf, adapters/*.so and plan_adapters/thing.so.
"""
import http.client
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import clusters  # noqa: E402
from clusters import wait_for  # noqa: E402

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
KUBECTL = clusters.find_kubectl()
JOBS = "/apis/batch/v1/namespaces/default/jobs"
THINGS = "/apis/example.com/v1/namespaces/default/things"
CRD = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, shortNames: [tg]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: State, type: string, jsonPath: .status.state}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            description: What a thing is to do.
            properties:
              managedBy: {type: string}
              size: {type: integer}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""
STORY = """status: {state: running, at: '2026-01-02T03:04:05Z'}
phase: Active
---
patch: {spec: {size: 3}}
---
status: {state: done, conditions: [{type: Done, status: 'True', lastTransitionTime: '2026-01-02T03:05:05Z'}]}
phase: Succeeded
"""
ENDLESS = "status: {state: running}\n"


def job(name, duration="500ms"):
    return {"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "annotations": {"world.test/duration": duration}},
            "spec": {"managedBy": "wharf.dev/host", "template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "main", "image": "registry.example/task:1"}]}}}}


def thing(name, **annotations):
    return {"apiVersion": "example.com/v1", "kind": "Thing",
            "metadata": {"name": name, "annotations": {"world.test/step": "200ms", **annotations}},
            "spec": {"managedBy": "kueue.x-k8s.io/multikueue", "size": 1}}


def is_complete(found):
    return any(c["type"] == "Complete" and c["status"] == "True" for c in found.get("status", {}).get("conditions", []))


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="wharf-sandbox-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.directory = os.path.join(self.folder, "clusters")
        self.sandbox = clusters.Sandbox(BUILD, self.directory)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def start(self, *arguments):
        self.addCleanup(self.sandbox.tell, "stop")
        return self.sandbox.start(*arguments)

    def with_things(self):
        return ("--crd", self.write("crd.yaml", CRD), "--story", self.write("succeeded.yaml", STORY),
                "--story", f"things={self.write('endless.yaml', ENDLESS)}", "--adapters",
                os.path.join(BUILD, "plan_adapters"))

    def expect(self, code, text, *arguments):
        found, output, errors = self.sandbox.tell(*arguments)
        self.assertEqual((found, output if code == 0 else ""), (code, output if code == 0 else ""), errors)
        self.assertIn(text, output if code == 0 else errors)


class CommandLine(Case):
    def test_what_is_wrong_is_said_with_what_may_have_been_meant(self):
        for arguments, text in ((["--wrkers", "3"], "unknown flag: --wrkers, did you mean --workers?"),
                                (["--work", "3"], "unknown flag: --work"),
                                (["--workers"], "flag needs an argument: --workers"),
                                (["--workers", "17"], 'found "17", expected a number from 1 to 16'),
                                (["--run=1"], "flag takes no argument: --run"),
                                (["lst"], "unknown command: lst, did you mean list?"),
                                (["cut"], "expected the name of a cluster"),
                                (["cut", "w1", "w2"], "unexpected argument: w2"),
                                (["list", "--run"], "list takes no flag but --dir"),
                                (["--story", "x.yaml"], "expected after the --crd of its kind")):
            code, output, errors = self.sandbox.run(*arguments)
            self.assertEqual((code, output), (2, ""), arguments)
            self.assertIn(text, errors)

    def test_files_that_are_wrong_are_named_with_their_line(self):
        bad = self.write("bad.yaml", CRD.replace("scope: Namespaced", "scope: Everywhere"))
        job_file = self.write("job.yaml", "kind: Job\n")
        story = self.write("story.yaml", "state: done\n")
        crd = self.write("crd.yaml", CRD)
        for arguments, text in ((["--crd", bad], f"{bad}:1: spec.scope: expected Namespaced or Cluster"),
                                (["--crd", job_file], f"{job_file}: found no CustomResourceDefinition"),
                                (["--crd", "/nowhere.yaml"], "cannot read /nowhere.yaml"),
                                (["--crd", crd, "--crd", crd], "things.example.com is defined twice"),
                                (["--crd", crd, "--story", story], f'{story}:1: a step has no member "state"'),
                                (["--crd", crd, "--story", f"other={story}"], "no --crd defines other"),
                                (["--adapters", "/nowhere"], "--adapters /nowhere: No such file or directory"),
                                (["--adapters", self.folder], "expected files *.so")):
            self.expect(1, text, *arguments)
        self.assertFalse(os.path.exists(self.directory))

    def test_help_and_version(self):
        self.assertIn("--story FILE", self.sandbox.run("--help")[1])
        self.assertRegex(self.sandbox.run("--version")[1], r"^wharf-sandbox \d")

    def test_without_a_sandbox_commands_say_so(self):
        self.expect(1, f"no clusters are served in {self.directory}", "list")


class Life(Case):
    def test_a_second_one_in_the_same_directory_is_refused(self):
        self.start("--workers", "1")
        self.expect(1, f"clusters are served in {self.directory} already")
        self.expect(0, "w1", "list")
        self.expect(1, 'no cluster "w2", did you mean "w1"?', "cut", "w2")

    def test_a_directory_that_others_may_write_to_is_refused(self):
        os.mkdir(self.directory)
        os.chmod(self.directory, 0o777)
        self.expect(1, "that nobody else may write to", "--workers", "1")

    def test_it_ends_on_sigterm_and_leaves_what_it_has_not_written(self):
        os.mkdir(self.directory, 0o700)
        own = self.write("clusters/own.txt", "mine\n")
        program = subprocess.Popen([os.path.join(BUILD, "wharf-sandbox"), "--dir", self.directory, "--run"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        lines = []
        while not lines or "back w1" not in lines[-1]:
            lines.append(program.stdout.readline())
            self.assertTrue(lines[-1], "it has ended")
        program.send_signal(signal.SIGTERM)
        output, errors = program.communicate(timeout=60)
        self.assertEqual((program.returncode, output, errors), (0, "", ""))
        self.assertEqual(os.listdir(self.directory), [os.path.basename(own)])

    def test_wharf_runs_jobs_and_a_kind_with_a_story_and_a_lost_worker_is_seen(self):
        guide = self.start("--workers", "2", *self.with_things())
        self.assertIn("things.example.com: delegated by /spec/managedBy: kueue.x-k8s.io/multikueue (adapter thing); "
                      "stories: succeeded, endless", guide)
        management, workers = self.sandbox.cluster("mgmt"), {n: self.sandbox.cluster(n) for n in ("w1", "w2")}
        with Wharf(self.directory) as wharf:
            wait_for("wharf is ready", wharf.is_ready)
            self.assertEqual(management.ask("POST", JOBS, job("quick"))[0], 201)
            self.assertEqual(management.ask("POST", JOBS, job("long", "1h"))[0], 201)
            self.assertEqual(management.ask("POST", THINGS, thing("one"))[0], 201)
            self.assertEqual(management.ask("POST", THINGS, thing("two", **{"world.test/story": "endless"}))[0], 201)
            wait_for("the Job's status is copied", lambda: is_complete(management.get(f"{JOBS}/quick")))
            running = wait_for("the thing runs", lambda: self.state(management, "one", "running"))
            self.assertNotEqual(running["status"]["at"], "2026-01-02T03:04:05Z")
            merge = "application/merge-patch+json"
            self.assertEqual(management.ask("PATCH", f"{THINGS}/one", {"spec": {"size": 3}}, merge)[0], 200)
            # size is not among the fields that this adapter carries: a user of the worker sees to it.
            mirror = workers[running["metadata"]["annotations"]["wharf.dev/cluster"]]
            self.assertEqual(mirror.ask("PATCH", f"{THINGS}/one", {"spec": {"size": 3}}, merge)[0], 200)
            wait_for("the thing is done", lambda: self.state(management, "one", "done"))
            wait_for("the endless one runs", lambda: self.state(management, "two", "running"))
            self.lose_worker(management, wharf)
            self.assertEqual(wharf.stop(), 0)
        code, output, errors = self.sandbox.tell("stop")
        self.assertEqual((code, output, errors), (0, "", ""))
        self.assertFalse(os.path.exists(self.directory))

    def test_what_happens_to_the_pods_of_a_mirror_is_told_on_its_job(self):
        self.start("--workers", "1")
        management, worker = self.sandbox.cluster("mgmt"), self.sandbox.cluster("w1")
        pods = "/api/v1/namespaces/default/pods"

        def both(found):
            return found if len(found) == 2 else None
        with Wharf(self.directory) as wharf:
            wait_for("the host is ready", wharf.is_ready)
            body = job("long", "1h")
            body["spec"].update(parallelism=2, completions=2)
            self.assertEqual(management.ask("POST", JOBS, body)[0], 201)
            wait_for("the Events of pods are watched, from the first mirror on",
                     lambda: 'wharf_pod_events_watched{cluster="w1"} 1' in wharf.ask("/metrics"))
            found = wait_for("two pods", lambda: both(worker.get(pods)["items"]))
            # What comes within two seconds is told together: the host does not run meanwhile.
            wharf.child.send_signal(signal.SIGSTOP)
            for pod in found:
                name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
                self.assertEqual(worker.ask("POST", "/apis/events.k8s.io/v1/namespaces/default/events", {
                    "apiVersion": "events.k8s.io/v1", "kind": "Event", "type": "Warning", "reason": "FailedScheduling",
                    "metadata": {"name": name, "namespace": "default"}, "note": "0/5 nodes are available",
                    "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": name, "uid": uid},
                    "action": "Scheduling", "reportingController": "scheduler", "reportingInstance": "s-1",
                    "eventTime": "2026-01-02T03:04:05.000000Z"})[0], 201)
            wharf.child.send_signal(signal.SIGCONT)
            wait_for("the Event of the Job", lambda: [
                event for event in management.get("/api/v1/namespaces/default/events")["items"]
                if event["involvedObject"]["name"] == "long" and event["reason"] == "FailedScheduling"
                and event["message"] == "w1: 2 pods: 0/5 nodes are available" and event["type"] == "Warning"])
            wait_for("it to be counted", lambda: 'wharf_pod_events_reported_total{cluster="w1"} 1\n' in wharf.ask("/metrics"))
            self.assertEqual(wharf.stop(), 0)

    @staticmethod
    def state(cluster, name, state):
        found = cluster.get(f"{THINGS}/{name}")
        return found if found.get("status", {}).get("state") == state else None

    def lose_worker(self, management, wharf):
        def place():
            annotations = management.get(f"{JOBS}/long")["metadata"].get("annotations", {})
            return annotations.get("wharf.dev/cluster"), int(annotations.get("wharf.dev/attempt", "0"))
        lost, attempt = wait_for("the Job is placed", lambda: place() if place()[0] else None)
        self.expect(0, f"{lost} is cut off", "cut", lost)
        self.assertRegex(self.sandbox.tell("list")[1], rf"{lost} +cut ")
        wait_for("the Job is placed elsewhere", lambda: place()[0] not in (lost, None) and place()[1] == attempt + 1)
        reported = f'wharf_watch_state{{cluster="{lost}",kind="jobs.batch",state="lost"}} 1'
        wait_for("the worker is reported lost", lambda: reported in wharf.ask("/metrics"))
        self.expect(0, f"{lost} is back", "back", lost)
        old = self.sandbox.cluster(lost)
        wait_for("the stale mirror is deleted", lambda: not old.get(f"{JOBS}/long"))


@unittest.skipUnless(KUBECTL, "there is no kubectl (KUBECTL, PATH, KUBEBUILDER_ASSETS)")
class Kubectl(Case):
    """What people type: each command with kubectl's own defaults."""

    def output(self, command, given=None):
        words = [KUBECTL, *shlex.split(command)]
        done = subprocess.run(words, input=given or "", capture_output=True, text=True, timeout=120, check=False, env={
            **os.environ, "HOME": self.folder, "KUBECONFIG": os.path.join(self.directory, "mgmt.kubeconfig")})
        self.assertEqual(done.returncode, 0, f"{command}: {done.stdout}{done.stderr}")
        self.assertEqual(done.stderr, "", command)
        return done.stdout

    def kubectl(self, command, text, given=None):
        self.assertRegex(self.output(command, given), text, command)

    def eventually(self, command, text):
        """For what wharf writes on its own time."""
        wait_for(f"{command}: {text}", lambda: re.search(text, self.output(command)))

    def test_a_day_with_kubectl(self):
        self.start("--workers", "1", "--run", *self.with_things())
        self.kubectl(f"apply -f {self.directory}/job.yaml", "job.batch/hello created")
        self.kubectl(f"apply -f {self.directory}/job.yaml", "job.batch/hello unchanged")
        self.kubectl("create namespace film", "namespace/film created")
        self.kubectl("create job here --image=a --namespace film -- sleep 1", "job.batch/here created")
        self.kubectl("create -f -", "thing.example.com/one created", json.dumps(thing("one")))
        self.kubectl("get jobs", r"NAME +STATUS +COMPLETIONS +DURATION +AGE\nhello +(Running|SuccessCriteriaMet|Complete) +\d/4 ")
        self.kubectl("wait --for=jsonpath='{.status.state}'=running thing/one --timeout=90s", "condition met")
        self.kubectl("get tg", r"NAME +STATE\none +running\n")
        self.kubectl("patch job hello -p '{\"spec\":{\"parallelism\":4}}'", "job.batch/hello patched")
        self.kubectl("patch thing one --type=json -p '[{\"op\":\"add\",\"path\":\"/spec/size\",\"value\":2}]'", "patched")
        self.kubectl("label job hello a=b", "job.batch/hello labeled")
        self.kubectl("annotate thing one a=b", "thing.example.com/one annotated")
        self.eventually("describe job hello", r"(?s)Parallelism: +4.*Dispatched .*created in cluster w1")
        self.eventually("get events", r"LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n.*Dispatched +\w+/")
        self.kubectl("explain thing.spec", "What a thing is to do.")
        self.kubectl("get all,ns", r"namespace/film +Active")
        self.kubectl("auth can-i create jobs", "yes")
        self.kubectl("replace -f -", "replaced", self.read("job hello"))
        self.kubectl("delete thing one", "deleted")
        self.kubectl("delete namespace film", "deleted")

    def read(self, what):
        done = subprocess.run([KUBECTL, "get", *what.split(), "-o", "json", "--kubeconfig",
                               os.path.join(self.directory, "mgmt.kubeconfig")], capture_output=True, text=True,
                              timeout=60, check=True)
        found = json.loads(done.stdout)
        del found["metadata"]["resourceVersion"]    # its status may have changed since
        return json.dumps(found)

    def test_a_field_that_a_job_does_not_have_is_refused(self):
        self.start("--workers", "1")
        wrong = job("wrong")
        wrong["spec"]["parallel"] = 3
        done = subprocess.run([KUBECTL, "apply", "-f", "-", "--kubeconfig",
                               os.path.join(self.directory, "mgmt.kubeconfig")], input=json.dumps(wrong),
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertIn('unknown field "spec.parallel"', done.stderr)


class Wharf:
    """`wharf run` with the configuration that the sandbox has written, and less patience."""

    def __init__(self, directory):
        with open(os.path.join(directory, "wharf.yaml"), encoding="utf-8") as file:
            text = file.read()
        self.address = text.split('address: "')[1].split('"')[0]
        self.config, self.log = os.path.join(directory, "quick.yaml"), os.path.join(directory, "quick.log")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(text.replace("workerLostTimeout: 10s", "workerLostTimeout: 2s"))

    def __enter__(self):
        with open(self.log, "wb") as log:
            self.child = subprocess.Popen([os.path.join(BUILD, "wharf"), "run", "--config", self.config], stderr=log)
        return self

    def ask(self, path):
        connection = http.client.HTTPConnection(self.address, timeout=30)
        try:
            connection.request("GET", path)
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def is_ready(self):
        try:
            return self.ask("/readyz").startswith("ok")
        except OSError:
            return False

    def stop(self):
        self.child.terminate()
        return self.child.wait(60)

    def __exit__(self, kind, *_):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        if kind:
            with open(self.log, encoding="utf-8") as log:
                print(log.read()[-3000:])
        for path in (self.config, self.log):
            os.unlink(path)


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    unittest.main(argv=["sandbox", *sys.argv[2:]])
