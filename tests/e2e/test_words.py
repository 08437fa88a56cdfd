# SPDX-License-Identifier: Apache-2.0
"""Last words: the end of a failed workload is kept until the workload is deleted, after its mirror and over restarts of the host. The
API servers are real (server-side apply with a right that is limited to a name, pods/log); kubelet.py plays the nodes."""
import json
import threading

import pods
from jobs import condition, job
from skip import may_be_refused
from test_logs import _READ, _run, _running_pod, _user, _with_nodes
from wait import until

_MAP = "wharf-last-words"
_MANY = 30


def _failing(name, said=None, **more):
    body = job(name, hold="all", fail="always", backoffLimit=0, **more)
    if said:
        body["spec"]["template"]["metadata"]["annotations"][pods.SAID] = said
    return body


def _until_failed(env, name):
    found = env.until_finished(name, "Failed")
    assert condition(found, "Failed"), found


def _kept(env):
    """The entries of the namespace's ConfigMap: {key: value}."""
    found = env.management.find("configmaps", env.namespace, _MAP)
    return {key: json.loads(value) for key, value in (found or {}).get("data", {}).items()}


def _until_kept(env, count):
    def probe():
        kept = _kept(env)
        assert len(kept) == count, sorted(kept)
        return kept
    return until(probe, f"last words of {count} attempts to be kept")


def _until_none_kept(env):
    until(lambda: env.management.find("configmaps", env.namespace, _MAP) is None, "the ConfigMap to be deleted")


def _words(env, name):
    return json.loads(env.host.explain(f"job/{name}", env.namespace, "-o", "json"))["lastWords"]


@_with_nodes
def the_end_of_a_failed_job_is_kept_after_its_mirror_and_a_kill_until_its_deletion(env, nodes):
    env.use_all(mirrorRetention="0s")
    reader = _user(env, "reader", _READ)
    env.submit(_failing("broken", said="disk full\nat step 7"))
    worker, pod = _running_pod(env, "broken")
    nodes[worker].log(env.namespace, pod).write(*(f"line {number}" for number in range(2000)), "\x1b[31mred \u202eback\x00", "the end")
    env.release()
    _until_failed(env, "broken")
    env.until_no_mirror("broken")
    uid = env.job("broken")["metadata"]["uid"]
    for _ in range(2):
        (key, entry), = _until_kept(env, 1).items()
        assert key == uid + ".1" and (entry["cluster"], entry["attempt"], entry["failed"]) == (worker, 1, 1), (key, entry)
        container, = entry["containers"]
        assert (container["pod"], container["container"], container["exitCode"], container["reason"]) == (pod, "main", 1, "Error"), container
        assert container["message"] == "disk full\nat step 7" and container["logCut"], container
        lines = container["log"].splitlines()
        assert lines[-1] == "the end" and lines[-2].startswith("\\u001b[31mred \\u202eback") and len(container["log"]) <= 8192, lines[-3:]
        assert len(lines) > 150 and lines[0].startswith("line "), lines[:2]
        text = f"pod {pod}, container main: Error, exit code 1: at step 7"
        words, = _words(env, "broken")
        assert (words["cluster"], words["attempt"], words["text"]) == (worker, 1, text), words
        code, out, err = _run(env, reader, "logs", "job/broken", "--previous-attempt")
        assert code == 0 and out == container["log"] and f"kept of attempt 1 in {worker}: {text}" in err, (code, out[-200:], err)
        code, out, err = _run(env, reader, "logs", "job/broken", "--previous-attempt", "--tail", "1")
        assert (code, out) == (0, "the end\n"), (code, out, err)
        code, out, err = _run(env, reader, "explain", "job/broken")
        assert code == 0 and f"attempt 1 in {worker}: {text}" in out, (code, out, err)
        env.until_event("broken", f"LastWords: {worker}: {text}")
        env.host.kill()
        env.host.start()
        env.host.ready()
    code, out, err = _run(env, reader, "logs", "job/broken", "--previous-attempt", "-f")
    assert code == 2 and "--previous-attempt cannot be used with --follow" in err, (code, out, err)
    assert sum("LastWords" in text for text in env.events("broken")) == 1, env.events("broken")
    env.management.delete("jobs", env.namespace, "broken")
    _until_none_kept(env)


@_with_nodes
def a_restarted_host_keeps_what_it_has_not_read_and_reads_nothing_twice(env, nodes):
    env.use_all(mirrorRetention="1h")
    for name in ("before", "meanwhile"):
        env.submit(_failing(name, only="w1"))
    places = {name: _running_pod(env, name) for name in ("before", "meanwhile")}
    for worker, pod in places.values():
        nodes[worker].log(env.namespace, pod).write("from " + pod)
    env.host.kill()
    env.release()
    until(lambda: all(condition(env.mirror(worker, name) or {}, "Failed") for name, (worker, _) in places.items()),
          "the mirrors to fail without the host")
    env.host.start()
    _until_kept(env, 2)
    marks = {worker.name: env.audits[worker.name].mark() for worker in env.workers}
    env.host.kill()
    env.host.start()
    env.host.ready()
    env.submit(job("later"))
    env.until_finished("later")
    again = [entry for name, mark in marks.items() for entry in env.audits[name].host(env.namespace, mark, verb="get", resource="pods",
                                                                                        subresource="log")]
    assert not again and len(_kept(env)) == 2, again
    # With the Job of the first entry goes that alone.
    env.management.delete("jobs", env.namespace, "before")
    _until_kept(env, 1)
    # The last one is deleted while no host is there to see it.
    env.host.kill()
    env.management.delete("jobs", env.namespace, "meanwhile")
    env.host.start()
    _until_none_kept(env)


@_with_nodes
def many_failures_at_a_time_delay_no_status_and_become_few_writes(env, nodes):
    env.use_all(mirrorRetention="1h")
    names = [f"many-{number}" for number in range(_MANY)]
    for name in names:
        env.submit(_failing(name))
    for name in names:
        _running_pod(env, name)
    mark = env.audits["management"].mark()
    env.release()
    for name in names:
        _until_failed(env, name)
    _until_kept(env, _MANY)
    writes = env.audits["management"].host(env.namespace, mark, verb="patch", resource="configmaps")
    assert len(writes) <= _MANY // 2, f"{len(writes)} writes"
    for name in names:
        env.management.delete("jobs", env.namespace, name)
    _until_none_kept(env)


@_with_nodes
def other_writers_of_the_configmap_lose_nothing(env, nodes):
    """As two hosts do that share a namespace: the other one here writes all the time."""
    env.use_all(mirrorRetention="1h")
    names, stop, written = [f"shared-{number}" for number in range(_MANY // 3)], threading.Event(), []
    env.management.create("configmaps", env.namespace, {"metadata": {"name": _MAP}, "data": {}})

    def write():
        while not stop.is_set():
            env.management.patch("configmaps", env.namespace, _MAP, {"data": {f"other-{len(written) % 20}": str(len(written))}})
            written.append(True)
    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        for name in names:
            env.submit(_failing(name))
        env.release()
        for name in names:
            _until_failed(env, name)
        until(lambda: all(env.job(name)["metadata"]["uid"] + ".1" in _kept(env) for name in names), "all last words to be kept")
    finally:
        stop.set()
        thread.join()
    assert len(written) > 20 and sum(key.startswith("other-") for key in _kept(env)) == 20, sorted(_kept(env))
    for name in names:
        env.management.delete("jobs", env.namespace, name)
    _until_kept(env, 20)
    env.management.delete("configmaps", env.namespace, _MAP)


@may_be_refused(("management", "*", 403))
@_with_nodes
def without_the_right_nothing_is_kept_and_it_is_told_once(env, nodes):
    role = "wharf-management"
    rules = env.management.get("clusterroles", None, role)["rules"]
    env.management.patch("clusterroles", None, role, {"rules": [rule for rule in rules if rule.get("resourceNames") != [_MAP]]})
    try:
        until(lambda: not env.may(env.clusters.management, "get", "configmaps", "wharf", name=_MAP), "the right to be gone")
        env.use_all(mirrorRetention="0s")
        code, out, err = env.host.command("check", "--online")
        assert code == 0 and (out + err).count("last words of failed workloads are not kept") == 1, (code, out, err)
        size = env.host.log_size()
        for name in ("first", "second"):
            env.submit(_failing(name))
            _running_pod(env, name)
            env.release()
            _until_failed(env, name)
            env.until_no_mirror(name)
            env.released.discard(env.namespace)
        with open(env.host.process.log, encoding="utf-8") as log:
            log.seek(size)
            assert log.read().count("does not let the host keep last words") == 1
        assert _words(env, "first") is None
    finally:
        env.management.patch("clusterroles", None, role, {"rules": rules})
        until(lambda: env.may(env.clusters.management, "create", "configmaps", "wharf", name=_MAP), "the right to be back")


@_with_nodes
def exit_codes_alone_or_nothing_are_kept_where_the_configuration_says_so(env, nodes):
    env.use_all(mirrorRetention="0s", lastWords="reasons")
    env.submit(_failing("reasons", said="secret"))
    worker, pod = _running_pod(env, "reasons")
    nodes[worker].log(env.namespace, pod).write("secret")
    env.release()
    _until_failed(env, "reasons")
    entry, = _until_kept(env, 1).values()
    assert "secret" not in json.dumps(entry) and entry["containers"][0]["exitCode"] == 1, entry
    env.until_event("reasons", "LastWords: .*: Error, exit code 1")
    env.released.discard(env.namespace)
    env.use_all(mirrorRetention="0s", lastWords="none")
    env.submit(_failing("nothing"))
    _running_pod(env, "nothing")
    env.release()
    _until_failed(env, "nothing")
    env.until_no_mirror("nothing")
    assert len(_kept(env)) == 1 and _words(env, "nothing") == [], _kept(env)
    code, _, err = _run(env, _user(env, "asking", _READ), "logs", "job/nothing", "--previous-attempt")
    assert code == 1 and "the host's configuration has lastWords: none" in err, err
