# SPDX-License-Identifier: Apache-2.0
"""The fixtures of tests/fixtures, see the README there; to_json reads the YAML."""
import json
import os
import subprocess

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures")
# Jobs have a real controller here, and tests of their own.
_REAL = ("jobs",)
_OBJECTS = ("workload", "mirror")


def plurals():
    """The kinds that have fixtures to be played, by the names of their folders."""
    return sorted(name for name in os.listdir(FOLDER)
                  if name not in _REAL and os.path.exists(os.path.join(FOLDER, name, "workload.yaml")))


class Fixture:
    """One folder: an object, the mirror that is to be made of it, and {name: [step]}."""

    def __init__(self, plural, workload, mirror, stories):
        self.plural, self.workload, self.mirror, self.stories = plural, workload, mirror, stories
        self.api_version, self.kind = workload["apiVersion"], workload["kind"]
        self.group, _, self.version = self.api_version.partition("/")


class Reader:
    def __init__(self, build):
        self.program = os.path.join(build, "tests", "to_json")

    def documents(self, path):
        done = subprocess.run([self.program, path], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, check=False)
        assert done.returncode == 0, f"{path}: {done.stderr}"
        return json.loads(done.stdout)

    def fixture(self, plural):
        folder = os.path.join(FOLDER, plural)
        found = {name.removesuffix(".yaml"): self.documents(os.path.join(folder, name))
                 for name in sorted(os.listdir(folder)) if name.endswith(".yaml")}
        workload, mirror = (found.pop(name)[0] for name in _OBJECTS)
        return Fixture(plural, workload, mirror, found)

    def settings(self, adapter):
        """Settings that fixtures need in the host's configuration of an adapter; {} if none."""
        path = os.path.join(FOLDER, adapter + ".yaml")
        return self.documents(path)[0] if os.path.exists(path) else {}
