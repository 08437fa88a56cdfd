# SPDX-License-Identifier: Apache-2.0
"""The programs of Helm on this machine. HELM names one; without HELM: the one in PATH, and helm-VERSION/helm in the folder of
WHARF_CONTROLLERS (default /usr/local/wharf-controllers)."""
import functools
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile

OLDEST = "1.30.0"   # Kubernetes of the chart's kubeVersion
_SCHEMA = "don't meet the specifications of the schema"


class Refused(Exception):
    """Helm or the chart refuses the values."""


class SchemaError(Refused):
    """The chart's schema refuses the values."""


@functools.cache
def programs():
    """Paths, the newest version first; each version once."""
    named = os.environ.get("HELM")
    folder = os.environ.get("WHARF_CONTROLLERS", "/usr/local/wharf-controllers")
    paths = [named] if named else [shutil.which("helm"), *glob.glob(os.path.join(folder, "helm-*", "helm"))]
    found = {}
    for path in paths:
        if path and (named or os.access(path, os.X_OK)):
            found.setdefault(version(path), path)
    return [found[key] for key in sorted(found, reverse=True)]


def version(program):
    """Of a program, as (4, 3, 1)."""
    said = subprocess.run([program, "version", "--template", "{{ .Version }}"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.match(r"v(\d+(?:\.\d+)+)", said).group(1).split(".")))


def name(program):
    return "Helm " + ".".join(map(str, version(program)))


def run(program, *arguments, values=None, check=True):
    """Helm with its own folders, not those of the user; with these values, if any. Returns its CompletedProcess."""
    with tempfile.TemporaryDirectory(prefix="wharf-helm-") as home:
        if values is not None:
            path = os.path.join(home, "values.yaml")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(values, file)
            arguments += ("--values", path)
        own = {variable: os.path.join(home, "helm") for variable in ("HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME")}
        done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=300,
                              env={**os.environ, **own, "HOME": home})
    if check and done.returncode != 0:
        raise (SchemaError if _SCHEMA in done.stderr else Refused)(f"{name(program)}: {message(done)}")
    return done


def message(done):
    """What Helm says on stderr, without the notes about the links in the chart."""
    return "\n".join(line for line in done.stderr.splitlines() if "found symbolic link in path" not in line)


def template(program, folder, namespace, values):
    """The text of all objects."""
    return run(program, "template", "wharf", folder, "--namespace", namespace, "--kube-version", OLDEST, values=values).stdout
