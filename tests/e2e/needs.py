# SPDX-License-Identifier: Apache-2.0
"""Objects that Jobs refer to, and Jobs that do."""
import base64
import json

from compare import merge
from jobs import job

PRIORITY = "wanted"   # a priority class
COPY_OF = "wharf.dev/copy-of"   # the label of a copy


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def configmap(name, **data):
    return {"metadata": {"name": name}, "data": data}


def secret(name, **data):
    return {"metadata": {"name": name}, "data": {key: encoded(value) for key, value in data.items()}}


def pull_secret(name):
    return {"metadata": {"name": name}, "type": "kubernetes.io/dockerconfigjson", "data": {
        ".dockerconfigjson": encoded(json.dumps({"auths": {"registry.example": {"username": "u", "password": "p"}}}))}}


def account(name, *pull_secrets):
    return {"metadata": {"name": name}, "imagePullSecrets": [{"name": each} for each in pull_secrets],
            "automountServiceAccountToken": False}


def claim(name):
    return {"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}


def priority_class(name=PRIORITY, value=1000):
    return {"metadata": {"name": name}, "value": value}


def sources(name):
    """{plural: [object]} of what `needing` names."""
    return {"configmaps": [configmap(name + "-env", word="first"), configmap(name + "-file", text="first")],
            "secrets": [secret(name, password="first"), pull_secret(name + "-pull")],
            "serviceaccounts": [account(name, name + "-pull")], "persistentvolumeclaims": [claim(name)]}


def create(client, namespace, objects):
    for plural, bodies in objects.items():
        for body in bodies:
            client.create(plural, namespace, body)


def pod_spec(name, priority=PRIORITY):
    """The references of a pod to `sources`, and to what is not there and may be missing."""
    return {"serviceAccountName": name, **({"priorityClassName": priority} if priority else {}),
            "volumes": [{"name": "file", "configMap": {"name": name + "-file"}},
                        {"name": "all", "projected": {"sources": [{"secret": {"name": name}}, {"configMap": {
                            "name": name + "-absent", "optional": True}}]}},
                        {"name": "data", "persistentVolumeClaim": {"claimName": name}}],
            "containers": [{"name": "main", "image": "example.invalid/none", "envFrom": [{"configMapRef": {"name": name + "-env"}}],
                            "env": [{"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": name, "key": "password"}}},
                                    {"name": "MORE", "valueFrom": {"secretKeyRef": {
                                        "name": name + "-absent", "key": "more", "optional": True}}}]}]}


def needing(name, of, priority=PRIORITY, **more):
    """A Job that needs the sources of this name."""
    return merge(job(name, **more), {"spec": {"template": {"spec": pod_spec(of, priority)}}})


def reading(name, configmaps=(), secrets=(), **more):
    """A Job that needs only these."""
    volumes = [{"name": f"c{place}", "configMap": {"name": each}} for place, each in enumerate(configmaps)]
    volumes += [{"name": f"s{place}", "secret": {"secretName": each}} for place, each in enumerate(secrets)]
    return merge(job(name, **more), {"spec": {"template": {"spec": {"volumes": volumes}}}})


def shared(**data):
    """What all Jobs of `sharing` need."""
    return {"configmaps": [configmap("shared", **data)], "secrets": [secret("shared", a="1")], "serviceaccounts": [account("shared")]}


def sharing(name, **more):
    return merge(reading(name, ["shared"], ["shared"], **more), {"spec": {"template": {"spec": {"serviceAccountName": "shared"}}}})
