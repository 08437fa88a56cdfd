# SPDX-License-Identifier: Apache-2.0
"""A management cluster and a worker, simulated by wharf-sandbox, and `wharf run` with the gallery's adapters."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import kinds
from client import Client, clusters
from members import ALL

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from free_port import free_port  # noqa: E402
from host_page import fetch  # noqa: E402
from percentile import percentile  # noqa: E402,F401
from processes import children  # noqa: E402


def until(what, look, seconds=60.0):
    """What `look` returns once it is true."""
    return clusters.wait_for(what, look, seconds)


class Stage:
    def __init__(self, build, members):
        self.build = os.path.abspath(build)
        self.folder = tempfile.mkdtemp(prefix="wharf-gallery-")
        self.directory = os.path.join(self.folder, "clusters")
        self.ten = kinds.ten(self.build)
        self.farms = {name: kinds.farm(name) for name in members}
        self.sandbox = clusters.Sandbox(self.build, self.directory)
        guide = self.sandbox.start("--workers", "1", *kinds.write_arguments([*self.ten, *self.farms.values()],
                                                                            self.folder))
        kinds.take_managers(self.ten, guide)
        self.child, self.port, self.log_path, self.hosts = None, free_port(), None, 0
        self.problems, self.notes = [], {}

    def client(self, cluster):
        return Client(os.path.join(self.directory, cluster + ".kubeconfig"))

    def configure(self, adapters, isolation="auto"):
        """With the ten kinds and the bad adapters of these names."""
        enabled = [f"  - {{name: {name}}}\n" for name in kinds.ADAPTERS]
        for name in adapters:
            limit = ALL[name].until
            settings = f", settings: {{until: {int(time.time()) + limit}}}" if limit else ""
            enabled.append(f"  - {{name: {name}, file: '{self.build}/gallery/{name}.so'{settings}}}\n")
        isolated = f"  isolation: {isolation}\n" if isolation else ""
        with open(f"{self.folder}/wharf.yaml", "w", encoding="utf-8") as file:
            file.write("apiVersion: wharf.dev/v1alpha1\nkind: HostConfiguration\norigin: gallery\n"
                       f"management: {{kubeconfig: {self.directory}/mgmt.kubeconfig}}\n"
                       f"workers: [{{name: w1, kubeconfig: {self.directory}/w1.kubeconfig}}]\n"
                       f"adapters:\n  directory: {self.build}/adapters\n{isolated}  enabled:\n" + "".join(enabled) +
                       f"serve: {{address: '127.0.0.1:{self.port}'}}\nmirrorRetention: 0s\n")

    def start(self):
        self.hosts += 1
        self.log_path = f"{self.folder}/wharf-{self.hosts}.log"
        environment = {**os.environ, "STATE_DIRECTORY": self.folder, "GALLERY": "secret"}
        with open(self.log_path, "wb") as log:
            self.child = subprocess.Popen([f"{self.build}/wharf", "run", "--config", f"{self.folder}/wharf.yaml"],
                                          stderr=log, stdin=subprocess.DEVNULL, env=environment,
                                          start_new_session=True)
        until("the host is ready", self.is_ready)

    def adapter_processes(self):
        return children(self.child.pid)

    def is_ready(self):
        assert self.child.poll() is None, f"the host has ended with {self.child.returncode}:\n{self.tail()}"
        return self.fetch("/readyz")[0] == 200

    def watch_readiness(self):
        """From now on until the host is stopped, /readyz is 200."""
        child = self.child

        def look():
            while child.poll() is None and self.child is child:
                status, text = self.fetch("/readyz")
                if status != 200 and self.child is child and child.poll() is None:
                    self.problems.append(f"/readyz: {status} {text}")
                    return
                time.sleep(0.1)
        threading.Thread(target=look, daemon=True).start()

    def fetch(self, path):
        return fetch(self.port, path)

    def wharf(self, *arguments):
        done = subprocess.run([f"{self.build}/wharf", *arguments, "--server", f"http://127.0.0.1:{self.port}"],
                              capture_output=True, text=True, timeout=60, check=False)
        return done.stdout + done.stderr

    def tail(self, lines=5):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-lines:])

    def logged(self, pattern):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return re.findall(pattern, file.read())

    def watch_events(self):
        """The notes of Events AdapterFailed, from now on, by the name of their object."""
        def look():
            try:
                for _, event in self.client("mgmt").watch("/apis/events.k8s.io/v1/namespaces/default/events"):
                    if event.get("reason") == "AdapterFailed":
                        self.notes.setdefault(event["regarding"]["name"], []).append(event.get("note", ""))
            except (OSError, ValueError):
                pass    # the sandbox has ended
        threading.Thread(target=look, daemon=True).start()

    def steps_over(self, seconds):
        """How many steps of the engine have taken longer; `seconds` is a bucket of the histogram."""
        text = self.fetch("/metrics")[1]
        counts = [int(re.search(rf'(?m)^wharf_engine_step_duration_seconds_bucket{{le="{re.escape(bound)}"}} (\d+)$', text)[1])
                  for bound in ("+Inf", seconds)]
        return counts[0] - counts[1]

    def _end_group(self, child):
        """Also what adapters have left behind."""
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()

    def stop(self, seconds=30):
        """The exit code; None if it had to be killed."""
        child, self.child = self.child, None
        child.send_signal(signal.SIGTERM)
        try:
            return child.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            self._end_group(child)

    def wait(self, seconds=30):
        """How the host ends by itself; None if it does not."""
        try:
            return self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def close(self, keep=False):
        if self.child:
            self._end_group(self.child)
        self.sandbox.tell("stop")
        if keep:
            print(f"        kept: {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
