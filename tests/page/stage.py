# SPDX-License-Identifier: Apache-2.0
"""What the page is looked at beside: simulated clusters, a host, and the management cluster's API."""
import base64
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
import urllib.request

TICKS = os.sysconf("SC_CLK_TCK")


class Stage:
    """Simulated clusters, a host, and the management cluster's API."""

    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.folder = tempfile.mkdtemp(prefix="wharf-page-")
        self.sandbox("--workers", "3", "--detach")
        with open(os.path.join(self.folder, "wharf.yaml"), "r+") as file:
            settings = file.read().replace("createNamespaces: true", "createNamespaces: false")
            file.seek(0)
            file.write(settings)
        self.address = re.search(r"127\.0\.0\.1:\d+", settings.split("serve:")[1]).group()
        with open(os.path.join(self.folder, "mgmt.kubeconfig")) as file:
            kubeconfig = file.read()
        self.server = re.search(r"server: (\S+)", kubeconfig).group(1)
        self.tls = ssl._create_unverified_context()
        pem = os.path.join(self.folder, "client.pem")
        with open(pem, "wb") as file:
            for key in ("client-certificate-data", "client-key-data"):
                file.write(base64.b64decode(re.search(key + r": \"?([^\s\"]+)", kubeconfig).group(1)))
        self.tls.load_cert_chain(pem)
        self.create_namespace("wharf-system")
        self.start_host()

    def start_host(self):
        with open(os.path.join(self.folder, "host.log"), "a") as log:
            self.host = subprocess.Popen([f"{self.build}/wharf", "run", "--config", f"{self.folder}/wharf.yaml"], stderr=log)
        self.until(self.ready, "the host to be ready")

    def stop_host(self):
        self.host.send_signal(signal.SIGTERM)
        self.host.wait(60)

    def sandbox(self, *arguments):
        subprocess.run([f"{self.build}/wharf-sandbox", *arguments, "--dir", self.folder], check=True, stdout=subprocess.DEVNULL, timeout=180)

    def close(self):
        self.stop_host()
        self.sandbox("stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    @staticmethod
    def until(condition, what, seconds=180):
        end = time.monotonic() + seconds
        while True:
            late = time.monotonic() > end
            if condition():
                return
            if late:
                raise TimeoutError(f"waited in vain for {what}")
            time.sleep(0.05)

    def ready(self):
        try:
            return urllib.request.urlopen(f"http://{self.address}/readyz", timeout=30).status == 200
        except OSError:
            return False

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.server + path, method=method, data=json.dumps(body).encode() if body else None)
        request.add_header("Content-Type", "application/json")
        return json.load(urllib.request.urlopen(request, context=self.tls, timeout=30))

    def create_namespace(self, name):
        """In the management cluster alone: the workers reject mirrors in it."""
        self.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def create_job(self, name, suspend=False, namespace="default", annotations=None):
        template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}
        self.call("POST", f"/apis/batch/v1/namespaces/{namespace}/jobs", {
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {"managedBy": "wharf.dev/host", "suspend": suspend, "template": template}})

    def delete_job(self, name, namespace="default"):
        self.call("DELETE", f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}")

    def cpu_seconds(self):
        with open(f"/proc/{self.host.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS
