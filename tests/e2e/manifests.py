# SPDX-License-Identifier: Apache-2.0
"""Applies the manifests of etc/kubernetes exactly as they are: the API server itself reads the YAML."""
import os
import re

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "etc", "kubernetes")


def documents(file):
    """(plural, namespace, name, text) of each document in the file."""
    with open(os.path.join(FOLDER, file), encoding="utf-8") as stream:
        return documents_of(stream.read())


def documents_of(whole):
    found = []
    for text in re.split(r"^---$", whole, flags=re.MULTILINE):
        kind = re.search(r"^kind: (\w+)$", text, re.MULTILINE).group(1)
        metadata = re.search(r"^metadata:\n((?:  .*\n)+)", text, re.MULTILINE).group(1)
        name = re.search(r"^  name: (\S+)$", metadata, re.MULTILINE).group(1)
        namespace = re.search(r"^  namespace: (\S+)$", metadata, re.MULTILINE)
        found.append((kind.lower() + "s", namespace and namespace.group(1), name, text))
    return found


def apply(client, file, dry_run=False):
    for plural, namespace, name, text in documents(file):
        client.apply_yaml(plural, namespace, name, text, query={"dryRun": "All"} if dry_run else None)


def apply_text(client, whole):
    for plural, namespace, name, text in documents_of(whole):
        client.apply_yaml(plural, namespace, name, text)


def apply_rights(clusters, texts):
    """{"management" or "worker": what `wharf rbac` prints}, in all clusters."""
    for cluster in clusters.all:
        apply_text(cluster.admin, texts["management" if cluster is clusters.management else "worker"])


def delete(client, file):
    for plural, namespace, name, _ in documents(file):
        client.delete(plural, namespace, name)
