# SPDX-License-Identifier: Apache-2.0
"""Who used how much: by the real controller's times, over a kill of the host and a second attempt."""
import csv
import io
import json
import time

from compare import time_of
from jobs import brief, job
from wait import until

GPU = "nvidia.com/gpu"
_SLACK = 3   # seconds: times in objects are whole seconds, and a snapshot is a moment old


def _asking(name):
    body = job(name, hold="all", parallelism=2, completions=2)
    body["spec"]["template"]["spec"]["containers"][0]["resources"] = {
        "requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {GPU: "1"}}
    return body


def _top(env, *args):
    code, out, err = env.host.command("top", "-n", env.namespace, *args)
    assert code == 0, out + err
    return out


def _rows(env, by):
    """{name: {column: number}}"""
    rows = csv.DictReader(io.StringIO(_top(env, "--csv", "--by", by)))
    return {row.pop(by): {key: float(value) for key, value in row.items()} for row in rows}


def _near(found, expected):
    return abs(found - expected) <= _SLACK


def _counted(env):
    return sum(value for (name, labels), value in env.host.metrics().items()
               if name == "wharf_workload_seconds_total" and ("namespace", env.namespace) in labels)


def _until_used(env, worker, least):
    def probe():
        row = _rows(env, "worker").get(worker)
        assert row and row["time_seconds"] >= least, row
        return row
    return until(probe, f"{least} s in {worker}")


def _run_for(env, worker, seconds):
    """Until the mirror has run for so long by its own times; the row then."""
    env.until_counts("used", ready=2)
    start = time_of(env.mirror(worker, "used")["status"]["startTime"])
    row = _until_used(env, worker, seconds)
    assert _near(row["time_seconds"], time.time() - start), (row, start)
    return row


def top_counts_both_attempts_over_kills_of_the_host(env):
    env.use_all()
    env.submit(_asking("used"))
    first = env.placed("used")
    row = _run_for(env, first, 4)
    assert row["workloads"] == row["running"] == 1, row
    seconds = row["time_seconds"]
    assert _near(row["cpu_core_seconds"], seconds) and _near(row[GPU + "_seconds"] / 2, seconds), row
    assert _near(row["memory_byte_seconds"] / 2**31, seconds), row
    until(lambda: _counted(env) >= 3, "the counter to follow")
    env.host.kill()
    env.host.start()
    _run_for(env, first, 6)   # from the object
    assert _counted(env) < 5   # what was before the kill is with Prometheus
    env.worker(first).admin.delete("jobs", env.namespace, "used")
    second = env.placed("used", attempt=2)
    used = json.loads(env.job("used")["metadata"]["annotations"]["wharf.dev/used"])
    assert list(used["seconds"]) == [first] and used["seconds"][first] >= 5, used
    env.until_counts("used", ready=2)
    env.host.kill()
    env.host.start()
    env.release()
    done = env.until_finished("used")
    mirror = env.mirror(second, "used")
    last = time_of(mirror["status"]["completionTime"]) - time_of(mirror["status"]["startTime"])
    wanted = {first: used["seconds"][first]}
    wanted[second] = wanted.get(second, 0) + last

    def probe():
        found = _rows(env, "worker")
        assert found.keys() == wanted.keys() and found[second]["running"] == 0 and all(_near(found[name]["time_seconds"], wanted[name]) for name in wanted), (
            found, wanted, brief(done))
        return found
    rows = until(probe, "the accounts to have both attempts")
    whole = _rows(env, "kind")["jobs.batch"]
    assert whole["running"] == 0 and abs(whole["time_seconds"] - sum(row["time_seconds"] for row in rows.values())) < 0.01, whole
    lines = _top(env).splitlines()
    assert lines[0].split() == ["NAMESPACE", "WORKLOADS", "RUNNING", "TIME", "CPU", "MEMORY", GPU], lines
    assert lines[1].split()[:3] == [env.namespace, "1", "0"] and len(lines) == 2, lines


def top_has_no_row_without_workloads(env):
    env.use_all()
    assert _top(env) == f"No workload has run in namespace {env.namespace}.\n"
    assert _top(env, "--csv") == "namespace,workloads,running,time_seconds\n"
    assert json.loads(_top(env, "-o", "json")) == {"items": []}
    code, _, err = env.host.command("top", "--csv", "-o", "json")
    assert code == 2 and "--csv cannot be used with --output" in err, err
    code, _, err = env.host.command("top", "--by", "team")
    assert code == 2 and "namespace, worker or kind" in err, err
