# SPDX-License-Identifier: Apache-2.0
"""The objects without which a kubelet starts no container of a pod."""

_OF_VOLUME = {"configMap": ("configmaps", "name"), "secret": ("secrets", "secretName"),
              "persistentVolumeClaim": ("persistentvolumeclaims", "claimName")}
_OF_ENVIRONMENT = {"configMapRef": "configmaps", "secretRef": "secrets", "configMapKeyRef": "configmaps", "secretKeyRef": "secrets"}


def _of_volume(volume):
    for source in (volume, *volume.get("projected", {}).get("sources", ())):
        for member, (plural, field) in _OF_VOLUME.items():
            if member in source and not source[member].get("optional"):
                # A projected Secret has `name`.
                yield plural, source[member].get(field) or source[member]["name"]


def _of_container(container):
    for source in (*container.get("envFrom", ()), *(each.get("valueFrom", {}) for each in container.get("env", ()))):
        for member, plural in _OF_ENVIRONMENT.items():
            if member in source and not source[member].get("optional"):
                yield plural, source[member]["name"]


def needed(pod):
    """{(plural, name)} of the ConfigMaps, Secrets and claims that are not optional."""
    spec = pod["spec"]
    found = {each for volume in spec.get("volumes", ()) for each in _of_volume(volume)}
    return found | {each for container in (*spec.get("initContainers", ()), *spec["containers"]) for each in _of_container(container)}
