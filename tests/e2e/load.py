# SPDX-License-Identifier: Apache-2.0
"""Many Jobs at once: the users who create them and the naive dispatcher, as processes (tests/e2e_bench has the programs),
and what a dispatcher sent, counted from the audit logs."""
import collections
import json
import os
import sys

from audit import HOST_USERS
from proc import Process
from wait import until

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e_bench")
NAIVE_USERS, NAIVE_MANAGED_BY = ("naive",), "naive.example/dispatcher"
WHARF_USERS = HOST_USERS
# Part of `edit`, which itself has no rules without the controller that aggregates them.
_AUTHOR_ROLE = "system:aggregate-to-edit"


def program(name, *args, folder):
    return Process(name, [sys.executable, "-B", os.path.join(PROGRAMS, name + ".py"), *map(str, args)],
                   os.path.join(folder, name + ".log"), cwd=folder)


def until_prints(process, word, timeout=60):
    """Waits until a line of its log, which is empty when it starts, is this word."""
    def probe():
        process.check()
        return word in process.tail().splitlines()
    until(probe, f"{process.name} to print {word}", timeout, every=0.02)


class Load:
    """The users and the naive dispatcher of some clusters. They are users of their own, with no more permissions than
    they need: members of system:masters would pass by the API server's own queues."""

    def __init__(self, clusters, folder, connections=1):
        self.folder = folder
        bindings = [(clusters.management, "naive", "wharf-management"), (clusters.management, "author", _AUTHOR_ROLE)]
        bindings += [(worker, "naive", "wharf-worker") for worker in clusters.workers]
        bindings += [(cluster, "other", _AUTHOR_ROLE) for cluster in clusters.all]
        for cluster, user, role in bindings:
            _bind(cluster.admin, user, role)
        configs = {(cluster.name, user): cluster.kubeconfig(user, cluster.authority.client(user, user))
                   for cluster, user, _ in bindings}
        self.author = configs[clusters.management.name, "author"]
        self.naive = program("naive", connections, *(configs[cluster.name, "naive"] for cluster in clusters.all),
                             folder=folder)
        self.others = program("others", *(configs[cluster.name, "other"] for cluster in clusters.all), folder=folder)

    def start_naive(self):
        _empty(self.naive)
        self.naive.start()
        until_prints(self.naive, "ready")

    def start_others(self):
        _empty(self.others)
        self.others.start()
        until_prints(self.others, "ready")

    def users(self, namespace, managed_by, count, clients=8, run="1s", labels=None, references=(0, 0)):
        """The process that creates so many Jobs; not started yet. `references`: ConfigMaps of each Job, and of all."""
        process = program("users", self.author, namespace, managed_by, count, clients, run, json.dumps(labels or {}),
                          *references, folder=self.folder)
        _empty(process)
        return process

    @staticmethod
    def created(users, timeout=300):
        """Waits for its end; what it printed."""
        until(lambda: not users.running(), "the users to have created their Jobs", timeout)
        assert users.child.returncode == 0, f"the users ended with {users.child.returncode}:\n{users.tail()}"
        with open(users.log, encoding="utf-8") as log:
            told = json.loads(log.read())
        assert not told["failed"], f"{len(told['failed'])} Jobs were not created: {told['failed'][0]}"
        return told


def _bind(client, user, role):
    # JSON is YAML.
    client.apply_yaml("clusterrolebindings", None, f"{user}-{role}", json.dumps({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": f"{user}-{role}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]}))


def _empty(process):
    with open(process.log, "wb"):
        pass


def requests(audits, users, marks, namespace=None):
    """{(cluster, verb, resource/subresource): number} of what these users have sent since the marks, without watches and
    lists; a watch is only recorded when it ends."""
    found = collections.Counter()
    for name, audit in audits.items():
        for entry in audit.entries(namespace, marks[name]):
            if entry["user"].get("username") in users and entry["verb"] not in ("watch", "list"):
                what = entry.get("objectRef", {"resource": entry["requestURI"]})
                place = "/".join(filter(None, (what.get("resource"), what.get("subresource"))))
                found[name, entry["verb"], place] += 1
    return found
