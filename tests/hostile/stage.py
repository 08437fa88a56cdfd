# SPDX-License-Identifier: Apache-2.0
"""The host with three workers: two hostile ones and w1, a healthy one."""
import collections
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import api

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from free_port import free_port  # noqa: E402
from host_page import fetch  # noqa: E402
from percentile import percentile  # noqa: E402,F401

JOBS = "/apis/batch/v1/namespaces/default/jobs"


def until(check, what, seconds=60.0):
    end = time.monotonic() + seconds
    while True:
        late = time.monotonic() > end
        if check():
            return
        if late:
            raise AssertionError(f"not within {seconds:.0f} s: {what}")
        time.sleep(0.02)


class Stage:
    def __init__(self, build, scenarios, settings=""):
        self.build = os.path.abspath(build)
        self.folder = tempfile.mkdtemp(prefix="wharf-hostile-")
        self.world = subprocess.Popen([f"{self.build}/tests/world/world", "--clusters", "2", "--plain", "--dir",
                                       self.folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.urls = {}
        for line in self.world.stdout:
            if line == "ready\n":
                break
            name, url = line.split()
            self.urls[name] = url
        self.hostile = [api.Server(scenario) for scenario in scenarios]
        for number, server in enumerate(self.hostile):
            with open(f"{self.folder}/x{number}.kubeconfig", "w", encoding="utf-8") as file:
                file.write(server.kubeconfig(f"x{number}"))
        self.port, self.peak, self.child, self.placed, self.done = free_port(), 0, None, set(), {}
        self.largest = 0  # Job, as a watch shows it
        # Each Job as it is in the management cluster, its versions so far, and their bytes.
        self.jobs, self.versions, self.bytes = {}, collections.Counter(), collections.Counter()
        self.began = time.monotonic()
        self._configure(settings)

    def _configure(self, settings):
        more = [("w1", "")]
        more += [(f"x{number}", getattr(server.scenario, "settings", "")) for number, server in enumerate(self.hostile)]
        workers = "".join(f"- {{name: {name}, kubeconfig: {name}.kubeconfig{of_it}}}\n" for name, of_it in more)
        with open(f"{self.folder}/wharf.yaml", "w", encoding="utf-8") as file:
            file.write("apiVersion: wharf.dev/v1alpha1\nkind: HostConfiguration\norigin: hostile\n"
                       "management: {kubeconfig: mgmt.kubeconfig}\nworkers:\n" + workers +
                       f"adapters: {{directory: {self.build}/adapters, enabled: [{{name: job}}]}}\n"
                       f"serve: {{address: '127.0.0.1:{self.port}'}}\nmirrorRetention: 0s\n" + settings)

    def start(self):
        self.log = open(f"{self.folder}/wharf.log", "w", encoding="utf-8")
        self.child = subprocess.Popen([f"{self.build}/wharf", "run", "--config", f"{self.folder}/wharf.yaml"],
                                      stderr=self.log, stdin=subprocess.DEVNULL)
        threading.Thread(target=self._watch_memory, daemon=True).start()
        threading.Thread(target=self._watch_jobs, daemon=True).start()
        until(lambda: 'wharf_worker_eligible{cluster="w1",kind="jobs.batch"} 1\n' in self.fetch("/metrics")[1],
              "w1 gets work")

    def _watch_memory(self):
        path = f"/proc/{self.child.pid}/status"
        while self.child.poll() is None:
            try:
                with open(path, encoding="utf-8") as file:
                    found = re.search(r"VmHWM:\s+(\d+)", file.read())
            except OSError:
                return
            self.peak = max(self.peak, int(found.group(1)) // 1024 if found else 0)
            time.sleep(0.02)

    def _watch_jobs(self):
        """Which Jobs are placed, and when each was finished, as a user of the management cluster sees it."""
        host, port = self.urls["mgmt"].rsplit("/", 1)[1].split(":")
        connection = http.client.HTTPConnection(host, int(port))
        connection.request("GET", JOBS + "?watch=true")
        answer = connection.getresponse()
        for line in answer:
            now = time.monotonic()
            self.largest = max(self.largest, len(line))
            found = json.loads(line)["object"]
            status = found.get("status", {})
            name, marks = found["metadata"]["name"], found["metadata"].get("annotations", {})
            self.versions[name] += 1
            self.bytes[name] += len(line)
            self.jobs[name] = found
            if "wharf.dev/cluster" in marks:
                self.placed.add(name)
            done = any(c["type"] == "Complete" and c["status"] == "True" for c in status.get("conditions") or [])
            if done:
                self.done.setdefault(name, now)

    def fetch(self, path):
        return fetch(self.port, path)

    def submit(self, name):
        """Returns when."""
        host, port = self.urls["mgmt"].rsplit("/", 1)[1].split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=60)
        body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {
            "name": name, "annotations": {"world.test/duration": "20ms"}}, "spec": {
                "managedBy": "wharf.dev/host", "template": {"spec": {
                    "restartPolicy": "Never", "containers": [{"name": "main", "image": "example.invalid/none"}]}}}}
        at = time.monotonic()
        connection.request("POST", JOBS, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 201, answer.read()
        connection.close()
        return at

    def logged(self, pattern):
        self.log.flush()
        with open(f"{self.folder}/wharf.log", encoding="utf-8", errors="replace") as file:
            return re.search(pattern, file.read(), re.IGNORECASE) is not None

    def terminate(self):
        """How long SIGTERM takes, in seconds."""
        at = time.monotonic()
        self.child.send_signal(signal.SIGTERM)
        try:
            self.child.wait(timeout=120)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        return time.monotonic() - at

    def close(self, keep=False):
        if self.child and self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        for server in self.hostile:
            server.stop()
        self.world.stdin.close()
        self.world.wait()
        if self.child:
            self.log.close()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)
