# SPDX-License-Identifier: Apache-2.0
"""The requests of a few kubectl commands, for documents that are run where there is no kubectl: create namespace, apply,
get, wait and patch, of Renders. KUBECONFIG names the cluster. Prints what -o jsonpath prints, and nothing else."""
import json
import os
import re
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sandbox", "test"))

import clusters  # noqa: E402

RENDERS = "/apis/render.example.com/v1/namespaces/film/renders"
EVENTS = "/api/v1/namespaces/film/events"


def flag(words, name):
    """The value of --name=value, or of -n value."""
    for index, word in enumerate(words):
        if word.startswith(name + "="):
            return word.partition("=")[2]
        if word == name:
            return words[index + 1]
    return None


def value_at(found, path):
    """{.a.b\\.c}"""
    for key in re.split(r"(?<!\\)\.", path.strip("{}").lstrip(".")):
        found = found.get(key.replace("\\.", "."), "") if isinstance(found, dict) else ""
    return str(found)


def read_yaml(path):
    """With what reads the fixtures, since Python has no YAML."""
    done = subprocess.run([os.environ["TO_JSON"], path], capture_output=True, text=True, check=True)
    documents = json.loads(done.stdout)
    return documents[0] if isinstance(documents, list) else documents


def must(answer):
    if answer[0] >= 300:
        sys.exit(f"{answer[0]}: {answer[1]}")
    return answer[1]


def run(words):
    cluster = clusters.Cluster(os.environ["KUBECONFIG"])
    name = next((word.rpartition("/")[2] for word in words[1:] if word.endswith("opening-scene")), "")
    if words[:2] == ["create", "namespace"]:
        must(cluster.ask("POST", "/api/v1/namespaces",
                         {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": words[2]}}))
    elif words[0] == "apply":
        must(cluster.ask("POST", RENDERS, read_yaml(flag(words, "-f"))))
    elif words[0] == "patch":
        must(cluster.ask("PATCH", f"{RENDERS}/{name}", json.loads(flag(words, "-p")), "application/merge-patch+json"))
    elif words[0] == "wait":
        path, _, wanted = flag(words, "--for").partition("=")[2].partition("=")
        clusters.wait_for(f"{path} is {wanted}",
                          lambda: value_at(cluster.get(f"{RENDERS}/{name}"), path) == wanted, 180)
    elif words[0] == "get":
        found = must(cluster.ask("GET", EVENTS if "events" in words else f"{RENDERS}/{name}".rstrip("/")))
        template = (flag(words, "-o") or "").partition("jsonpath=")[2]
        print(re.sub(r"\{[^}]*\}", lambda part: value_at(found, part[0]), template), end="")
    else:
        sys.exit(f"not known here: {' '.join(words)}")


run(sys.argv[1:])
