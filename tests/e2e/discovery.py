# SPDX-License-Identifier: Apache-2.0
"""Kinds and paths of objects as an API server's discovery has them, for objects of any kind."""
import kube


def _root(version):
    return ("/apis/" if "/" in version else "/api/") + version


def resources(client, version):
    """Those of an API version, without subresources; none if the version is not served."""
    try:
        return [each for each in client.call("GET", _root(version))["resources"] if "/" not in each["name"]]
    except kube.ApiError as error:
        assert error.code == 404, error
        return []


def lists(client):
    """(kind, path of the list) of all kinds that can be listed and deleted, each in the preferred version."""
    versions = ["v1"] + [group["preferredVersion"]["groupVersion"] for group in client.call("GET", "/apis")["groups"]]
    for version in versions:
        for resource in resources(client, version):
            if {"list", "delete"} <= set(resource["verbs"]):
                yield resource["kind"], f"{_root(version)}/{resource['name']}"


def resource_of(client, thing):
    """The resource of an object's kind; None if the kind is not served."""
    return next((each for each in resources(client, thing["apiVersion"]) if each["kind"] == thing["kind"]), None)


def path_of(client, thing, namespace="default"):
    """The path of an object, or of its list if the object has no name yet; None if its kind is not served. `namespace`: of an
    object that names none."""
    resource = resource_of(client, thing)
    if not resource:
        return None
    within = ["namespaces", thing["metadata"].get("namespace", namespace)] if resource["namespaced"] else []
    name = [thing["metadata"]["name"]] if "name" in thing["metadata"] else []
    return "/".join([_root(thing["apiVersion"]), *within, resource["name"], *name])
