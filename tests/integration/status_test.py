#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`wharf status`: what it shows, selects, counts and waits for. The host and API servers are played by this process.

    status_test.py BUILD_FOLDER [unittest arguments]
"""
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
import unittest
import urllib.parse

import operate_test
from operate_test import WHARF


def workload(name, namespace="default", phase="Running", **more):
    return {"kind": "Job", "group": "batch", "resource": "jobs", "namespace": namespace, "name": name, "uid": "uid-" + name,
            "phase": phase, "cluster": "w1", "attempt": 1, "waiting": None, **more}


class Status(operate_test.Case):
    def setUp(self):
        super().setUp()
        self.workloads = [workload("a"), workload("b", phase="Succeeded"), workload("c", "team", waiting={
            "reason": "worker", "message": "m", "since": "2026-01-02T03:04:05Z", "until": None})]
        self.ready, self.seen, self.dependencies = True, [], {}
        self.reason = "nothing was heard of " + "the-server " * 40
        self.host.answers.update({
            ("GET", "/api/v1/status"): lambda _: {"version": "1", "origin": "o", "managementUid": "management-uid", "ready": self.ready, "inSync": True,
                                                  "reasons": [] if self.ready else ["w1: lost"], "workloads": {"total": 3, "byPhase": {"Running": 2, "Succeeded": 1}},
                                                  "dependencies": self.dependencies},
            ("GET", "/api/v1/workloads"): self.list_workloads,
            ("GET", "/api/v1/adapters"): {"items": [{"kinds": [{"group": "batch", "kind": "Job", "resource": "jobs", "versions": ["v2", "v1"]}]}]}})

    def list_workloads(self, _):
        query = dict(urllib.parse.parse_qsl(self.host.paths[-1].partition("?")[2]))
        self.seen.append(query)
        wanted = {key: value for key, value in query.items() if key in ("namespace", "name", "cluster", "phase")}
        return {"items": [item for item in self.workloads if all(item[key] == value for key, value in wanted.items())], "sequence": 1}

    def status(self, *arguments, code=0):
        found, out, err = self.wharf("status", *arguments, "--config", self.config)
        self.assertEqual(found, code, out + err)
        return out if code in (0, 3) else err

    def test_the_state_of_a_worker_has_what_an_operator_asked_for_too(self):
        cases = (({"state": "Unreachable", "drain": "move", "cordoned": True}, "Unreachable,Draining"),
                 ({"state": "Suspect", "cordoned": True}, "Suspect,Cordoned"),
                 ({"state": "Refused", "leaving": True, "drain": "finish", "cordoned": True}, "Refused,Leaving"),
                 ({"state": "Draining", "drain": "finish", "cordoned": True}, "Draining"), ({"state": "Ready", "cordoned": False}, "Ready"))
        for worker, expected in cases:
            self.worker = {"name": "w1", "lastContactSeconds": 3, **worker}
            self.assertEqual(self.status("workers").splitlines()[1].split()[:2], ["w1", expected])

    def test_a_worker_that_was_never_reached_says_so(self):
        self.worker = {**self.worker, "lastContactSeconds": None}
        title, row = self.status("workers").splitlines()
        self.assertEqual(row[title.index("CONTACT"):].split()[0], "never")

    def on_terminal(self, *arguments, columns=100):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        done = subprocess.Popen([WHARF, "status", *arguments, "--config", self.config], stdin=subprocess.DEVNULL, stdout=theirs)
        os.close(theirs)
        out = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:
                break
            if not piece:
                break
            out += piece
        os.close(ours)
        self.assertEqual(done.wait(60), 0)
        return out.decode().replace("\r", "").splitlines()

    def test_watching_ends_without_a_message_when_the_reader_of_the_pipe_goes(self):
        reader, writer = os.pipe()
        done = subprocess.Popen([WHARF, "status", "workers", "--watch", "--config", self.config], stdin=subprocess.DEVNULL,
                                stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        out = b""
        while b"w1" not in out:
            out += os.read(reader, 4096)
        os.close(reader)
        self.worker = {**self.worker, "state": "Unreachable"}   # a row more
        _, err = done.communicate(timeout=60)
        self.assertEqual((done.returncode, err), (141, b""))

    def test_a_reason_ends_between_words_on_a_terminal_only(self):
        self.worker = {**self.worker, "reason": self.reason.strip()}
        for arguments in ((), ("-o", "wide")):
            self.assertTrue(self.status("workers", *arguments).rstrip().endswith(self.reason.strip()))
        self.assertTrue(self.on_terminal("workers", "-o", "wide")[-1].endswith(self.reason.strip()))
        row = self.on_terminal("workers")[-1]
        self.assertLessEqual(len(row), 100)
        self.assertRegex(row, r"nothing was heard of (the-server )*the-server\u2026$")

    def test_a_namespace_is_counted_alone(self):
        self.assertIn("workloads: 3: 2 Running, 1 Succeeded\n", self.status())
        self.assertIn("workloads in namespace default: 2: 1 Running, 1 Succeeded\n", self.status("-n", "default"))
        self.assertIn("workloads in namespace team: 1: 1 Running; waiting: 1 worker\n", self.status("-n", "team"))
        self.assertIn("workloads in namespace nope: none\n", self.status("-n", "nope"))
        self.assertEqual(json.loads(self.status("-n", "default", "-o", "json"))["workloads"],
                         {"namespace": "default", "total": 2, "byPhase": {"Running": 1, "Succeeded": 1}, "waiting": {}})
        self.assertEqual(self.status("workloads", "-n", "nope"), "No workloads found in namespace nope.\n")

    def test_what_workloads_refer_to_is_counted(self):
        for there, here, line in (({}, {"needed": 3}, None), ({"copied": 12, "conflict": 1}, {"needed": 3}, "12 copied, 1 conflict in workers"),
                                  ({}, {"missing": 2, "unknown": 1}, "2 missing in the management cluster"),
                                  ({"found": 1}, {"missing": 1, "refused": 2},
                                   "1 found in workers; 1 missing, 2 refused in the management cluster")):
            self.dependencies = {"management": here, "workers": there}
            told = [text.partition(": ")[2] for text in self.status().splitlines() if text.startswith("objects that workloads refer to: ")]
            self.assertEqual(told, [line] if line else [])

    def test_workloads_are_selected(self):
        def names(*arguments):
            return [line.split()[2] for line in self.status("workloads", *arguments).splitlines()[1:]]
        self.assertEqual(names("--phase", "running", "-n", "default", "--cluster", "w1", "--kind", "job", "--name", "a"), ["a"])
        self.assertEqual({key: self.seen[-1][key] for key in ("phase", "namespace", "cluster", "kind", "name")},
                         {"phase": "Running", "namespace": "default", "cluster": "w1", "kind": "job", "name": "a"})
        self.assertEqual(names("--phase", "Succeeded"), ["b"])
        self.assertEqual(self.status("workloads", "--cluster", "w7"), "No workloads found that match.\n")

    def test_a_selector_chooses_by_the_labels_in_the_management_cluster(self):
        asked = []
        def select(_):
            asked.append(urllib.parse.unquote(self.management.paths[-1]))
            more = {"continue": "2"} if "continue" not in asked[-1] else {}
            return {"kind": "JobList", "apiVersion": "batch/v1", "metadata": {"resourceVersion": "1", **more},
                    "items": [{"metadata": {"uid": "uid-c" if more else "uid-other"}}]}
        self.management.answers["GET", "/apis/batch/v1/jobs"] = self.management.answers["GET", "/apis/batch/v1/namespaces/team/jobs"] = select
        self.assertEqual(self.status("workloads", "-l", "team in (a,b),x=y").splitlines()[1].split()[2], "c")
        self.assertEqual([path.split("&")[0] for path in asked], ["/apis/batch/v1/jobs?labelSelector=team in (a,b),x=y"] * 2)
        asked.clear()
        self.assertIn("c", self.status("workloads", "-l", "x=y", "-n", "team"))
        self.assertEqual(asked[0].split("?")[0], "/apis/batch/v1/namespaces/team/jobs")
        self.management.answers["GET", "/apis/batch/v1/jobs"] = (400, {
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 400, "message": "unable to parse requirement"})
        self.assertIn("jobs.batch: unable to parse requirement", self.status("workloads", "-l", "!!", code=1))

    def test_wrong_filters_are_usage(self):
        cases = ((("workers", "-n", "x"), "--namespace selects workloads"), (("--phase", "Running"), "--phase selects workloads"),
                 (("workloads", "--phase", "Runing"), 'found "Runing", expected Pending, Suspended, Running, Succeeded or Failed; did you mean "Running"?'),
                 (("workloads", "--wait"), "--wait is for the host and its workers"), (("--timeout", "3s"), "--timeout is for --wait"),
                 (("--wait", "--timeout", "soon"), '--timeout: found "soon"'), (("workloads", "-w", "-l", "a=b"), "--watch"),
                 (("workers", "--wait", "-w"), "--watch"), (("-n", "x", "-w"), "--namespace selects workloads"), (("adapters", "--cluster", "w1"), "--cluster selects"))
        for arguments, sentence in cases:
            self.assertIn(sentence, self.status(*arguments, code=2))

    def test_not_ready_is_an_exit_code(self):
        self.assertIn("o: ready", self.status())
        self.ready = False
        self.assertIn("o: not ready", self.status(code=3))
        self.assertFalse(json.loads(self.status("-o", "json", code=3))["ready"])
        self.assertIn("w1", self.status("workers"))

    def test_it_is_waited_for(self):
        self.ready = False
        code, out, err = self.wharf("status", "--wait", "--timeout", "1s", "--config", self.config)
        self.assertEqual(code, 3, err)
        self.assertIn("o: not ready", out)
        self.assertEqual(err, "error: the host is not ready after 1s\n")
        threading.Timer(1, lambda: setattr(self, "ready", True)).start()
        self.assertIn("o: ready", self.status("--wait"))
        self.worker = {**self.worker, "state": "Connecting"}
        code, out, err = self.wharf("status", "workers", "--wait", "--timeout", "1s", "--config", self.config)
        self.assertEqual((code, err), (3, "error: worker w1 is Connecting after 1s\n"))
        self.assertIn("Connecting", out)
        threading.Timer(1, lambda: setattr(self, "worker", {**self.worker, "state": "Ready"})).start()
        self.assertIn("Ready", self.status("workers", "--wait", "--cluster", "w1"))
        code, out, err = self.wharf("status", "workers", "--wait", "--cluster", "w2", "--timeout", "1s", "--config", self.config)
        self.assertEqual((code, err), (3, "error: there is no worker w2 after 1s\n"))
        self.host.stop()
        code, out, err = self.wharf("status", "--wait", "--timeout", "1s", "--config", self.config)
        self.assertEqual((code, out), (1, ""))
        self.assertIn("cannot reach the host", err)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:])
