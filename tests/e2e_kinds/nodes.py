# SPDX-License-Identifier: Apache-2.0
"""The nodes of one cluster: kwok runs the pods, a binder takes the place of the scheduler. The binder decides how each pod
ends, from the annotations of its template, and writes that down for kwok's stages:

    e2e.example.com/pods   "succeed" (default), "fail", "fail-once" (the first pod of the namespace fails, later ones succeed),
                           "hold" (until the namespace is released, then succeed), "hold-fail", "evict-once", "kill-once" (by a
                           signal), "run" (until it is deleted, or something else sets END), "evict-once-run" (later ones run)
    e2e.example.com/says   the termination message of its containers when they succeed
"""
import json
import threading

import kube
from controllers import Found
from pod_watcher import PodWatcher
from proc import Process

# Not of wharf.dev: such annotations are not copied to mirrors, and some kinds have no other place for those of their pods.
PODS = "e2e.example.com/pods"
SAYS = "e2e.example.com/says"
END = "e2e.example.com/end"         # on a pod that runs: succeed, fail, kill or evict
_NODE = "kwok-0"


def _stage(name, match, next_, kind="Pod"):
    expressions = [{"key": key, "operator": operator, **({"values": values} if values else {})} for key, operator, values in match]
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": name}, "spec": {
        "resourceRef": {"apiGroup": "v1", "kind": kind}, "selector": {"matchExpressions": expressions},
        "delay": {"durationMilliseconds": 100}, "next": next_}}


_PHASE, _DELETED = ".status.phase", ".metadata.deletionTimestamp"
_ENDING = f'.metadata.annotations["{END}"]'
_STATUS = """
{{ $now := Now }}
phase: %(phase)s
%(reason)s
startTime: {{ or .status.startTime $now | Quote }}
hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
podIP: {{ PodIPWith .spec.nodeName false ( or .metadata.uid "" ) ( or .metadata.name "" ) ( or .metadata.namespace "" ) | Quote }}
conditions:
- {type: Initialized, status: "True", lastTransitionTime: {{ $now | Quote }}}
- {type: Ready, status: "%(ready)s", lastTransitionTime: {{ $now | Quote }}}
- {type: ContainersReady, status: "%(ready)s", lastTransitionTime: {{ $now | Quote }}}
%(condition)s
initContainerStatuses:
{{ range .spec.initContainers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  restartCount: 0
  ready: true
  state:
    terminated: {exitCode: 0, reason: Completed, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }}}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  restartCount: 0
  ready: %(running)s
  started: %(running)s
  state:
    %(state)s
{{ end }}
"""


def _status(phase, state, reason="", condition=""):
    running = phase == "Running"
    return {"statusTemplate": _STATUS % {
        "phase": phase, "state": state, "reason": reason and f"reason: {reason}", "ready": running, "running": str(running).lower(),
        "condition": condition}}


def _ended(code, reason, more=""):
    return f'terminated: {{exitCode: {code}, reason: {reason}, startedAt: {{{{ $now | Quote }}}}, finishedAt: {{{{ $now | Quote }}}}{more}}}'


# In a flow mapping, after another member.
_MESSAGE = '{{ with $.metadata.annotations }}{{ with index . "%s" }}, message: {{ . | Quote }}{{ end }}{{ end }}' % SAYS
_DISRUPTED = '- {type: DisruptionTarget, status: "True", reason: EvictionByEvictionAPI, lastTransitionTime: {{ $now | Quote }}}'
_NODE_STATUS = """
{{ $now := Now }}
conditions:
- {type: Ready, status: "True", reason: KubeletReady, lastTransitionTime: {{ $now | Quote }}, lastHeartbeatTime: {{ $now | Quote }}}
capacity: {cpu: 1k, memory: 1Ti, pods: 10k}
allocatable: {cpu: 1k, memory: 1Ti, pods: 10k}
"""
_STAGES = (
    # Without a stage for nodes kwok manages none.
    _stage("ready", (('.status.conditions.[] | select( .type == "Ready" ) | .status', "NotIn", ("True",)),),
           {"statusTemplate": _NODE_STATUS}, "Node"),
    _stage("start", ((_DELETED, "DoesNotExist", ()), (_PHASE, "In", ("Pending",))),
           _status("Running", "running: {startedAt: {{ $now | Quote }}}")),
    _stage("succeed", ((_DELETED, "DoesNotExist", ()), (_PHASE, "In", ("Running",)), (_ENDING, "In", ("succeed",))),
           _status("Succeeded", _ended(0, "Completed", _MESSAGE))),
    _stage("fail", ((_DELETED, "DoesNotExist", ()), (_PHASE, "In", ("Running",)), (_ENDING, "In", ("fail",))),
           _status("Failed", _ended(1, "Error"))),
    _stage("kill", ((_DELETED, "DoesNotExist", ()), (_PHASE, "In", ("Running",)), (_ENDING, "In", ("kill",))),
           _status("Failed", _ended(137, "Error"))),
    _stage("evict", ((_DELETED, "DoesNotExist", ()), (_PHASE, "In", ("Running",)), (_ENDING, "In", ("evict",))),
           _status("Failed", _ended(137, "Error"), "Evicted", _DISRUPTED)),
    _stage("terminate", ((_DELETED, "Exists", ()), (_PHASE, "In", ("Running",))), _status("Failed", _ended(143, "Error"))),
    _stage("remove", ((_DELETED, "Exists", ()), (_PHASE, "In", ("Pending", "Succeeded", "Failed"))), {"delete": True}),
)


class Nodes(PodWatcher):
    """One node with kwok as its kubelet, and the binder. `check` raises what went wrong in the binder's thread."""

    def __init__(self, cluster, found: Found):
        super().__init__("binder", cluster)
        self.lock, self.released, self.failed, self.held = threading.Lock(), set(), set(), {}
        config = cluster.write("kwok.yaml", "---\n".join(json.dumps(each) + "\n" for each in _STAGES))
        self.kwok = Process(cluster.name + "/kwok", [found.program("kwok"), "--kubeconfig", cluster.admin_config, "--config", config,
                                                     "--manage-all-nodes=true", "--node-lease-duration-seconds=0"],
                            cluster.path("kwok.log"), cwd=cluster.folder)

    def start(self):
        if not self.client.find("nodes", None, _NODE):
            self.client.create("nodes", None, {"metadata": {"name": _NODE}})
        self.kwok.start()
        super().start()

    def stop(self):
        super().stop()
        self.kwok.kill()

    def check(self):
        super().check()
        self.kwok.check()

    def release(self, namespace):
        """Held pods of this namespace end, also those that come later."""
        with self.lock:
            self.released.add(namespace)
            held = self.held.pop(namespace, {})
        for name, end in held.items():
            self._end(namespace, name, end)

    def seen(self, event):
        pod = event["object"]
        if event["type"] not in ("ADDED", "MODIFIED") or pod["metadata"].get("deletionTimestamp"):
            return
        if not pod["spec"].get("nodeName") and not pod["spec"].get("schedulingGates"):
            self._bind(pod)

    def _bind(self, pod):
        meta = pod["metadata"]
        try:
            self.client.create("pods", meta["namespace"], {
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"], "uid": meta["uid"]},
                "target": {"apiVersion": "v1", "kind": "Node", "name": _NODE}}, "binding", meta["name"])
        except kube.ApiError as error:
            if error.code not in (404, 409):
                raise
            return
        wanted = meta.get("annotations", {}).get(PODS, "succeed")
        first, _, rest = wanted.partition("-")
        once, _, later = rest.partition("-")
        with self.lock:
            if once == "once":
                wanted = first if meta["namespace"] not in self.failed else later or "succeed"
                self.failed.add(meta["namespace"])
            elif first == "hold":
                wanted = once or "succeed"
                if meta["namespace"] not in self.released:
                    self.held.setdefault(meta["namespace"], {})[meta["name"]] = wanted
                    return
        self._end(meta["namespace"], meta["name"], wanted)

    def _end(self, namespace, name, end):
        try:
            self.client.patch("pods", namespace, name, {"metadata": {"annotations": {END: end}}})
        except kube.ApiError as error:
            if error.code != 404:
                raise
