# SPDX-License-Identifier: Apache-2.0
"""What operators and users ask a running host, and tell it: status, explain, cordon, drain, uncordon and retry."""
import json
import subprocess
import time

from compare import time_of
from pods import HOLD
from test_join import _bare
from wait import until

_CONFIG = "--config wharf.yaml"


def _job(name, namespace="default"):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": namespace},
            "spec": {"managedBy": "wharf.dev/host", "template": {
                "metadata": {"annotations": {HOLD: "all"}},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example.com/main"}]}}}}


def _explained(place, name, namespace="default"):
    return json.loads(place.sh(f"wharf explain job/{name} -n {namespace} -o json {_CONFIG}"))


def _create(place, *names):
    for name in names:
        place._write(f"{name}.json", json.dumps(_job(name)))
        place.sh(f"kubectl --context mgmt create -f {name}.json")
    for name in names:
        until(lambda: _explained(place, name)["phase"] == "Running", f"{name} to run")


def operators_see_where_things_run_and_empty_a_worker_for_its_maintenance(env):
    with _bare(env, "w1", "w2") as place:
        place.sh("wharf init --management-context mgmt")
        place.sh("wharf run --config wharf.yaml &")
        for worker in ("w1", "w2"):
            place.sh(f"wharf join --context {worker} --management-context mgmt {_CONFIG}")
        _create(place, "a", "b")
        _status(place)
        _kubectl_columns(place)
        _maintenance(place)
        _maintenance_with_a_suspended_job(place)
        _retry(place)
        _wrong_names(place)
        place.nothing_was_refused()


def _status(place):
    # The summary is as old as the last snapshot.
    until(lambda: "2 Running" in place.sh(f"wharf status {_CONFIG}"), "the summary to count both")
    assert ": ready, in sync\n" in place.sh(f"wharf status {_CONFIG}")
    lines = place.sh(f"wharf status workloads {_CONFIG}").splitlines()
    assert lines[0].split()[:6] == ["NAMESPACE", "KIND", "NAME", "PHASE", "CLUSTER", "ATTEMPT"], lines
    assert sorted(line.split()[4] for line in lines[1:]) == ["w1", "w2"], lines
    items = json.loads(place.sh(f"wharf status workers -o json {_CONFIG}"))["items"]
    assert [(item["name"], item["state"], item["active"]) for item in items] == [("w1", "Ready", 1), ("w2", "Ready", 1)], items
    assert "file: " in place.sh(f"wharf status adapters -o yaml {_CONFIG}")
    told = place.sh(f"wharf explain job/a -n default {_CONFIG}")
    assert "Delegated: yes" in told and "Dispatched" in told, told
    took = []
    for _ in range(3):   # the fastest one: the machine may be busy with something else
        began = time.monotonic()
        names = place.sh(f"wharf __complete explain {_CONFIG} -n default job/").split()
        took.append(time.monotonic() - began)
        assert "job/a" in names and "job/b" in names, names
    assert min(took) < 5, took


def _kubectl_columns(place):
    lines = place.sh("kubectl --context mgmt get jobs -L wharf.dev/cluster --no-headers").splitlines()
    assert sorted(line.split()[-1] for line in lines) == ["w1", "w2"], lines
    in_w1 = place.sh("kubectl --context mgmt get jobs -l wharf.dev/cluster=w1 -o name").split()
    assert len(in_w1) == 1, in_w1


def _maintenance(place):
    """w1 is emptied by moving; what runs there runs again in w2, once."""
    assert "worker w1 cordoned" in place.sh(f"wharf cordon w1 {_CONFIG}")
    until(lambda: place.workers().get("w1") == "Cordoned", "w1 to be cordoned")
    _create(place, "c")
    assert _explained(place, "c")["cluster"] == "w2"
    told = place.sh(f"wharf drain w1 --policy move --timeout 60s {_CONFIG}")
    assert "worker w1 drained" in told, told
    until(lambda: all(_explained(place, name)["cluster"] == "w2" for name in "abc"), "all to be in w2")
    assert not [job for job in place.clusters.workers[0].admin.list("jobs", "default")]
    moved = [name for name in "abc" if _explained(place, name)["attempt"] == 2]
    assert len(moved) == 1, moved
    attempts = _explained(place, moved[0])["attempts"]
    assert [attempt["cluster"] for attempt in attempts] == ["w1", "w2"] and attempts[0]["endedAt"], attempts
    assert "worker w1 uncordoned" in place.sh(f"wharf uncordon w1 {_CONFIG}")
    until(lambda: place.workers().get("w1") == "Ready", "w1 to be Ready")


def _maintenance_with_a_suspended_job(place):
    """The drain ends although a Job of w1 is suspended; resumed, the Job runs in w2 as its next attempt."""
    place.sh(f"wharf cordon w2 {_CONFIG}")
    until(lambda: place.workers().get("w2") == "Cordoned", "w2 to be cordoned")
    _create(place, "e")
    assert _explained(place, "e")["cluster"] == "w1"
    place.sh(f"wharf uncordon w2 {_CONFIG}")
    place.sh("kubectl --context mgmt patch job e -p '{\"spec\":{\"suspend\":true}}'")
    until(lambda: _explained(place, "e")["phase"] == "Suspended", "e to be suspended")
    told = place.sh(f"wharf drain w1 --policy move --timeout 60s {_CONFIG}")
    assert "worker w1 drained" in told, told
    assert not place.clusters.workers[0].admin.list("jobs", "default")
    place.sh("kubectl --context mgmt patch job e -p '{\"spec\":{\"suspend\":false}}'")
    until(lambda: _explained(place, "e")["phase"] == "Running", "e to run again")
    found = _explained(place, "e")
    assert (found["cluster"], found["attempt"]) == ("w2", 2), found
    place.sh(f"wharf uncordon w1 {_CONFIG}")
    until(lambda: place.workers().get("w1") == "Ready", "w1 to be Ready")


def _retry(place):
    """A Job that every worker rejects waits longer and longer; once the cause is gone, retry need not wait."""
    place.sh("kubectl --context mgmt create namespace team")
    place._write("d.json", json.dumps(_job("d", "team")))
    place.sh("kubectl --context mgmt create -f d.json")

    def waits():
        found = _explained(place, "d", "team")
        assert not any(worker["fit"] for worker in found["workers"]), found["workers"]
        return found if (time_of(found["until"]) or 0) > time.time() + 8 else None
    told = until(waits, "d to be rejected everywhere, and to wait for long")
    assert all("namespace" in worker["reason"] for worker in told["workers"]), told["workers"]
    assert told["help"], told
    place.sh("kubectl --context w1 create namespace team")
    assert "job/d is retried" in place.sh(f"wharf retry job/d -n team {_CONFIG}")
    until(lambda: _explained(place, "d", "team")["phase"] == "Running", "d to run")
    made = _explained(place, "d", "team")["attempts"][-1]["createdAt"]
    assert time_of(made) < time_of(told["until"]), f"it was made at {made}, and waited until {told['until']}"


def _wrong_names(place):
    for command, said in ((f"wharf cordon w7 {_CONFIG}", 'worker "w7" not found'),
                          (f"wharf explain job {_CONFIG}", "expected KIND/NAME"),
                          (f"wharf explain pod/x -n default {_CONFIG}", "pod"),
                          (f"wharf status wrkers {_CONFIG}", 'did you mean "workers"')):
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=place.folder, env=place.environment,
                              timeout=60, check=False)
        assert done.returncode != 0 and said in done.stderr, (command, done.returncode, done.stdout, done.stderr)
