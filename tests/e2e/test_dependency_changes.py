# SPDX-License-Identifier: Apache-2.0
"""Sources that change, go and come again while Jobs use their copies: rules D5 and D6 of docs/lifecycle.md."""
import json
import threading
import time

import crowd
import needs
from crowd import in_crowd
from wait import until

_ROTATIONS = 5
_PROMISED = 2.0   # seconds until a change is in all workers


class Watcher(threading.Thread):
    """When each value of a Secret came to a worker: {value: time.monotonic()}."""

    def __init__(self, worker, namespace, name):
        super().__init__(daemon=True)
        self.seen = {}
        self.stream = worker.admin.watch("secrets", namespace, {"fieldSelector": f"metadata.name={name}"})
        self.start()

    def run(self):
        for line in self.stream:
            event = json.loads(line)
            if event["type"] in ("ADDED", "MODIFIED"):
                self.seen.setdefault(event["object"]["data"]["password"], time.monotonic())


@in_crowd
def a_rotated_secret_is_in_nine_workers_within_two_seconds_also_under_load(env):
    env.use()
    needs.create(env.management, env.namespace, {"secrets": [needs.secret("rotated", password="0")]})
    for worker in env.workers:
        env.submit(needs.reading(f"in-{worker.name}", [], ["rotated"], only=worker.name, hold="all"))
    for worker in env.workers:
        env.until_counts(f"in-{worker.name}", ready=1)
    watchers = [Watcher(worker, env.namespace, "rotated") for worker in env.workers]
    took = []
    try:
        for number in range(1, _ROTATIONS + 1):
            for more in range(20):   # the load
                env.submit(needs.reading(f"load-{number}-{more}", [], ["rotated"]))
            value, began = needs.encoded(str(number)), time.monotonic()
            env.management.patch("secrets", env.namespace, "rotated", {"data": {"password": value}})
            until(lambda value=value: all(value in each.seen for each in watchers), f"password {number} to be in all workers", every=0.01)
            took.append(max(each.seen[value] for each in watchers) - began)
    finally:
        for each in watchers:
            each.stream.close()
    print(f"        in all workers after {', '.join(f'{each:.2f}' for each in took)} s")
    assert sorted(took)[len(took) // 2] < _PROMISED, took
    for number in range(1, _ROTATIONS + 1):
        for more in range(20):
            env.until_finished(f"load-{number}-{more}")
    for audit in (env.audits[worker.name] for worker in env.workers):
        patches = audit.host(env.namespace, verb="patch", resource="secrets", name="rotated")
        assert len(patches) <= _ROTATIONS, f"{audit.name}: {len(patches)} patches for {_ROTATIONS} changes"
    _check_no_content(env, map(str, range(1, _ROTATIONS + 1)))
    env.release()


def _check_no_content(env, values):
    with open(env.host.process.log, encoding="utf-8", errors="replace") as log:
        text = log.read()
    told = [value for value in values if needs.encoded(value) in text]
    assert not told, f"the log has the content of a Secret: {told}"


@in_crowd
def a_source_that_is_made_anew_leaves_no_gap_in_which_a_pod_finds_nothing(env):
    """Immutable ones too, and a Secret of another type; short Jobs come and go all the time."""
    env.use(2)
    first, places = env.workers[0], (("configmaps", "c"), ("secrets", "s"))
    needs.create(env.management, env.namespace, _immutable("0"))
    env.submit(needs.reading("uses", ["c"], ["s"], only=first.name, hold="all"))
    env.until_counts("uses", ready=1)
    uids = {plural: first.admin.get(plural, env.namespace, name)["metadata"]["uid"] for plural, name in places}
    for number in range(1, 6):
        for more in range(6):
            env.submit(needs.reading(f"short-{number}-{more}", ["c"], ["s"], only=first.name))
        for plural, name in places:
            env.management.delete(plural, env.namespace, name)
        needs.create(env.management, env.namespace, _immutable(str(number)))
        until(lambda number=number: _word(env, first, "configmaps", "c") == str(number)
              and _word(env, first, "secrets", "s") == needs.encoded(str(number)), f"content {number} to be in the copies")
    for number in range(1, 6):
        for more in range(6):
            env.until_finished(f"short-{number}-{more}")
    for plural, name in places:
        found = first.admin.get(plural, env.namespace, name)
        assert found["metadata"]["uid"] == uids[plural] and not found.get("immutable"), found["metadata"]
    # A deleted source: what runs keeps its copies.
    for plural, name in places:
        env.management.delete(plural, env.namespace, name)
    env.submit(needs.reading("too-late", ["c"]))
    env.until_event("too-late", "MissingDependency")
    assert _word(env, first, "configmaps", "c") == "5"
    assert not env.mirrors("too-late")
    env.management.create("secrets", env.namespace, {"metadata": {"name": "s"}, "type": "example.com/other", "data": {"a": "Ng=="}})
    until(lambda: (first.admin.find("secrets", env.namespace, "s") or {}).get("type") == "example.com/other",
          "the Secret to have the other type")
    env.release()
    env.until_finished("uses")


def _immutable(word):
    return {"configmaps": [{**needs.configmap("c", a=word), "immutable": True}], "secrets": [{**needs.secret("s", a=word), "immutable": True}]}


def _word(env, worker, plural, name):
    found = worker.admin.find(plural, env.namespace, name)
    assert found, f"{worker.name} has no {plural} {name}"
    return found["data"]["a"]


@in_crowd
def secrets_without_the_label_and_of_denied_types_are_not_copied(env):
    env.use(2, dependencies=json.dumps({**crowd.COPIED, "secrets": "labelled"}))
    first = env.workers[0]
    labelled = needs.secret("labelled", a="1")
    labelled["metadata"]["labels"] = {"wharf.dev/copy": "true"}
    token = {"metadata": {"name": "token", "labels": {"wharf.dev/copy": "true"}, "annotations": {
        "kubernetes.io/service-account.name": "default"}}, "type": "kubernetes.io/service-account-token"}
    release = {"metadata": {"name": "release", "labels": {"wharf.dev/copy": "true"}}, "type": "helm.sh/release.v1", "data": {"release": "eA=="}}
    needs.create(env.management, env.namespace, {"secrets": [labelled, needs.secret("plain", a="1"), token, release]})
    env.submit(needs.reading("fine", [], ["labelled"]))
    env.until_finished("fine")
    denied = ("plain", "token", "release")
    for name in denied:
        env.submit(needs.reading(f"not-{name}", [], [name]))
        env.until_event(f"not-{name}", "w1 lacks an object of the workload")
        told = env.host.explain(f"job/not-{name}", env.namespace)
        assert f"secrets {env.namespace}/{name}" in told, told
        assert not env.mirrors(f"not-{name}")
    # A worker that has one of its own is good enough.
    first.admin.create("secrets", env.namespace, needs.secret("plain", b="of the worker"))
    env.until_finished("not-plain")
    assert env.pods_created("not-plain") == {first.name: 1}, env.pods_created("not-plain")
    assert {place[3] for place in env.copies(env.namespace, ("secrets",))} == {"labelled"}, env.copies(env.namespace)
    asked = {entry["objectRef"]["name"] for entry in env.audits["management"].reads(env.namespace, "secrets")}
    assert "plain" not in asked, "the host has read a Secret that it must not copy"
