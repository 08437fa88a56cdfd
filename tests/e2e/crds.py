# SPDX-License-Identifier: Apache-2.0
"""The CustomResourceDefinitions of the workload kinds: the projects' own where there is a folder with them, otherwise
the small ones of crds/. The folder is the one that WHARF_CRDS names, or ../shared/crds beside the checkout. The API
server itself reads the YAML; a file's name says what it defines."""
import os
from concurrent.futures import ThreadPoolExecutor

import kube
from wait import until

_HERE = os.path.dirname(os.path.abspath(__file__))
OWN = os.path.join(_HERE, "crds")
_BESIDE = os.path.join(_HERE, "..", "..", "..", "shared", "crds")


def real_folder():
    """The folder of the projects' own, or None."""
    folder = os.environ.get("WHARF_CRDS") or _BESIDE
    return folder if os.path.isdir(folder) else None


def path_of(group, plural):
    """The file that defines the kind, preferably the project's own; None if there is none."""
    for folder in (real_folder(), OWN):
        path = folder and os.path.join(folder, f"{group}_{plural}.yaml")
        if path and os.path.exists(path):
            return path
    return None


def apply(client, path):
    """Server-side apply of one file."""
    group, _, plural = os.path.basename(path).removesuffix(".yaml").partition("_")
    with open(path, "rb") as file:
        document = file.read()
    # The projects' CRDs may have fields that this server does not know; those of tests/e2e/crds may not.
    strict = os.path.commonpath([OWN, os.path.abspath(path)]) == OWN
    made = client.apply_yaml("customresourcedefinitions", None, f"{plural}.{group}", document, timeout=120,
                             query={"fieldValidation": "Strict" if strict else "Ignore"})
    if made["spec"].get("conversion", {}).get("strategy") == "Webhook":
        # Nobody runs the webhook: the server would retry conversions for its own caches forever.
        client.patch("customresourcedefinitions", None, f"{plural}.{group}", {
            "spec": {"conversion": {"strategy": "None", "webhook": None}}}, timeout=120)
    return group, plural


def until_served(client, group, plural, version):
    """Waits until discovery lists the kind in this version, and until the version answers."""
    def probe():
        try:
            listed = client.call("GET", f"/apis/{group}/{version}")["resources"]
            assert any(each["name"] == plural for each in listed), listed
            client.call("GET", f"/apis/{group}/{version}/{plural}", query={"limit": 1})
            return True
        except kube.ApiError as error:
            assert error.code in (404, 429, 503), error
            return False
    until(probe, f"{plural}.{group}/{version} to be served")


def install(clients, files):
    """files: {path: version that is to be served then}. All clusters at the same time, each file after file."""
    def one_cluster(client):
        served = [(*apply(client, path), version) for path, version in files.items()]
        for group, plural, version in served:
            until_served(client, group, plural, version)
    with ThreadPoolExecutor(len(clients)) as pool:
        for done in [pool.submit(one_cluster, client) for client in clients]:
            done.result()


def uninstall(client, group, plural):
    """Deletes the kind with all its objects, and waits until that is done."""
    client.delete("customresourcedefinitions", None, f"{plural}.{group}")
    until(lambda: client.find("customresourcedefinitions", None, f"{plural}.{group}") is None,
          f"{plural}.{group} to be gone")
