# SPDX-License-Identifier: Apache-2.0
"""wharf-sandbox and its clusters, as a program of a user has them: commands, and requests with a kubeconfig."""
import base64
import http.client
import json
import os
import re
import shutil
import ssl
import subprocess
import tempfile
import time


def find_kubectl():
    """KUBECTL where it is set; else one on PATH, or that of envtest. None if there is none (KUBECTL=none)."""
    assets = os.environ.get("KUBEBUILDER_ASSETS", "/usr/local/kubebuilder/bin")
    candidates = [os.environ["KUBECTL"]] if "KUBECTL" in os.environ else \
        [shutil.which("kubectl"), os.path.join(assets, "kubectl")]
    return next((candidate for candidate in candidates if candidate and os.access(candidate, os.X_OK)), None)


def wait_for(what, look, seconds=90):
    """What `look` returns once it is true."""
    until = time.monotonic() + seconds
    while True:
        late = time.monotonic() > until     # it is looked at once more then: perhaps this process did not run meanwhile
        found = look()
        if found:
            return found
        if late:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.05)


class Cluster:
    def __init__(self, kubeconfig):
        with open(kubeconfig, encoding="utf-8") as file:
            text = file.read()
        self.address = re.search(r"server: https://127\.0\.0\.1:(\d+)", text)[1]
        self.context = ssl.create_default_context(cadata=self.part(text, "certificate-authority-data").decode())
        with tempfile.NamedTemporaryFile() as pair:
            pair.write(self.part(text, "client-key-data") + self.part(text, "client-certificate-data"))
            pair.flush()
            self.context.load_cert_chain(pair.name)

    @staticmethod
    def part(text, key):
        return base64.b64decode(re.search(rf"{key}: (\S+)", text)[1])

    def ask(self, method, path, body=None, content_type="application/json", accept="application/json"):
        connection = http.client.HTTPSConnection("127.0.0.1", int(self.address), context=self.context, timeout=60)
        headers = {"Accept": accept, **({"Content-Type": content_type} if body is not None else {})}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, json.loads(text) if text.startswith("{") else text

    def get(self, path):
        """The object, or {} if there is none."""
        status, answer = self.ask("GET", path)
        return answer if status == 200 else {}


class Sandbox:
    def __init__(self, build, directory):
        self.build, self.directory = build, directory

    def run(self, *arguments, timeout=120):
        """(exit code, output, errors)"""
        done = subprocess.run([os.path.join(self.build, "wharf-sandbox"), *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=timeout, check=False)
        return done.returncode, done.stdout, done.stderr

    def tell(self, *arguments):
        return self.run(*arguments, "--dir", self.directory)

    def start(self, *arguments):
        code, output, errors = self.tell("--detach", *arguments)
        if code != 0:
            raise AssertionError(f"wharf-sandbox: exit code {code}\n{output}{errors}")
        return output

    def cluster(self, name):
        return Cluster(os.path.join(self.directory, name + ".kubeconfig"))
