# SPDX-License-Identifier: Apache-2.0
"""The least rights on what Jobs refer to: watches by name, in one namespace, of named objects."""
import json

import manifests
import needs
from crowd import in_crowd
from skip import may_be_refused
from wait import until

_NAMES = {"copy": ["configmaps", "secrets"], "check": ["priorityclasses.scheduling.k8s.io"], "secrets": "all", "watch": "names"}
_OBJECTS = "configmaps/named,secrets/named"


def _grant_least(env):
    """In place of the rights that `use` has granted; those of other tests come back with `_apply_rbac`."""
    flags = ("--user", "wharf", "--namespaced", env.namespace, "--objects", _OBJECTS)
    manifests.apply_rights(env.clusters, {role: env.host.rights(role, *flags) for role in ("management", "worker")})
    for cluster in env.clusters.all:
        until(lambda cluster=cluster: not env.may(cluster, "list", "secrets", "wharf"), "the rights to all Secrets to be gone")


def _explained(env, name):
    return json.dumps(json.loads(env.host.explain(f"job/{name}", env.namespace, "-o", "json"))["dependencies"])


def _is_planned(env, worker):
    """With the host's rights."""
    body = needs.reading("planned", ["named", "other"], ["named"])
    body["metadata"]["namespace"] = env.namespace
    lines = [line for line in env.host.plan(body, "--cluster", worker).splitlines() if line.startswith("# refers to: ")]
    there = f"copied; found in the management cluster; {worker} has a copy"
    assert len(lines) == 3 and sum(line.endswith(there) for line in lines) == 2, lines
    assert sum("configmaps other" in line and "cannot be read in the management cluster: " in line for line in lines) == 1, lines


@in_crowd
@may_be_refused(("management", "*", 403), ("w1", "*", 403), ("w2", "*", 403))
def the_rights_to_named_objects_suffice_with_watches_by_name(env):
    env.use(2, dependencies=json.dumps(_NAMES))
    _grant_least(env)
    first = env.workers[0]
    needs.create(env.management, env.namespace, {
        "configmaps": [needs.configmap("named", text="first"), needs.configmap("other")],
        "secrets": [needs.secret("named", text="first"), needs.secret("other")]})
    env.submit(needs.reading("runs", ["named"], ["named"], only=first.name, hold="all"))
    env.until_counts("runs", ready=1)
    assert {copy[1:] for copy in env.copies(env.namespace)} == {("configmaps", env.namespace, "named"), ("secrets", env.namespace, "named")}
    _is_planned(env, first.name)
    env.management.patch("secrets", env.namespace, "named", {"data": {"text": needs.encoded("second")}})
    until(lambda: first.admin.get("secrets", env.namespace, "named")["data"]["text"] == needs.encoded("second"),
          "the changed Secret to be in the worker")
    env.submit(needs.reading("waits", ["other"], only=first.name))
    until(lambda: "forbidden" in _explained(env, "waits"), "the denied right to be told")
    assert not env.mirrors("waits")
    env._apply_rbac()
    env.until_finished("waits")
    env.release()
    env.until_finished("runs")
