# SPDX-License-Identifier: Apache-2.0
"""Values of the chart that between them reach each part of its templates."""
import os

from chart import FOLDER

_ON, _OFF = {"enabled": True}, {"enabled": False}

# A value in each place.
PLACES = {
    "image": {"repository": "registry.example.internal/wharf", "digest": "sha256:" + "0" * 64, "pullPolicy": "Always",
              "pullSecrets": [{"name": "registry"}]},
    "config": {"namespace": "x", "log": {"level": "debug"}, "workersFrom": None, "tenancy": "impersonate",
               "dependencies": {"copy": ["configmaps", "tasks.tekton.dev"], "check": ["priorityclasses.scheduling.k8s.io"]}},
    "networkPolicy": {"from": [{"ipBlock": {"cidr": "10.0.0.10/32"}}]},
    "extraVolumes": [{"name": "plugins", "emptyDir": {}}], "extraVolumeMounts": [{"name": "plugins", "mountPath": "/opt/plugins"}],
    "initContainers": [{"name": "copy", "image": "plugins"}], "extraEnv": [{"name": "A", "value": "b"}],
    "podAnnotations": {"a/b": "c"}, "podLabels": {"d": "e"}, "nodeSelector": {"f": "g"}, "tolerations": [{"operator": "Exists"}],
    "affinity": {"nodeAffinity": {}}, "priorityClassName": "high"}

# Each object that the chart has.
OBJECTS = {
    "delegate": _ON, "serviceMonitor": {**_ON, "labels": {"release": "prometheus"}}, "podMonitor": {**_ON, "labels": {"a": "b"}},
    "config": {"adapters": {"enabled": [{"name": name.removesuffix(".yaml")}
                                        for name in sorted(os.listdir(os.path.join(FOLDER, "files", "delegate")))]}}}

# As few as possible.
FEW = {"rbac": {"create": False}, "networkPolicy": _OFF, "podDisruptionBudget": _OFF, "replicas": 1, "config": {"leaderElection": None}}

ALL = {"the defaults": {}, "a value in each place": PLACES, "each object": OBJECTS, "few objects": FEW}
