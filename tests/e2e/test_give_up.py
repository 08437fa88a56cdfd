# SPDX-License-Identifier: Apache-2.0
"""Workloads of every kind that no worker accepts: they fail in their own status, as their API has it."""
import os
import subprocess

import fixtures
import kinds
from compare import differences, tell, time_of
from kube import ApiError
from skip import may_be_refused
from wait import until

_REJECTED = 403    # by a quota
_NEVER_FAIL = ("rayclusters", "rayservices")
# What `kubectl wait --for` is told by users, besides condition=Failed.
_WAIT = {"rayjobs": "jsonpath={.status.jobDeploymentStatus}=Failed", "appwrappers": "jsonpath={.status.phase}=Failed",
         "pipelineruns": "condition=Succeeded=False", "taskruns": "condition=Succeeded=False",
         "workflows": "jsonpath={.status.phase}=Failed",
         "sparkapplications": "jsonpath={.status.applicationState.state}=FAILED"}


def _allow_none(env, all_kinds):
    """A ResourceQuota of zero for each kind. No controller counts here: the test does."""
    counts = {f"count/{plural}.{fixture.group}": "0" for plural, fixture in all_kinds.fixtures.items()}
    for worker in env.workers:
        worker.admin.create("resourcequotas", env.namespace, {
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": counts}})
        worker.admin.patch_status("resourcequotas", env.namespace, "none", {
            "status": {"hard": counts, "used": dict.fromkeys(counts, "0")}})

        def rejects(worker=worker):
            fixture = all_kinds.fixtures["jobsets"]
            body = {**fixture.mirror, "apiVersion": fixture.api_version, "kind": fixture.kind, "metadata": {"name": "probe"}}
            try:
                worker.admin.create("jobsets", env.namespace, body, query={"dryRun": "All"})
            except ApiError as error:
                return error.code == _REJECTED
            return False
        until(rejects, f"the quota of {worker.name} to be known")


def _settled(found, expected):
    """What is expected, with the times and the message that were found."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return {key: _settled(found.get(key), value) for key, value in expected.items()}
    if isinstance(expected, list) and isinstance(found, list) and len(found) == len(expected):
        return [_settled(*each) for each in zip(found, expected)]
    if expected == "now":
        return found if time_of(found) else "a time"
    return found if expected == "0/2 workers accept it" and "w1 quota exceeded; w2 quota exceeded" in str(found) else expected


@may_be_refused(("w1", "*", _REJECTED), ("w2", "*", _REJECTED))
def a_workload_of_any_kind_that_no_worker_accepts_fails_in_the_words_of_its_api(env):
    all_kinds = kinds.of(env)
    all_kinds.use(placement="{giveUpAfter: 12s}")
    all_kinds.stage(env.namespace)
    _allow_none(env, all_kinds)
    expected = fixtures.Reader(os.path.dirname(env.host.wharf)).documents(os.path.join(fixtures.FOLDER, "gave-up.yaml"))[0]
    plays = {plural: all_kinds.play(plural, env.namespace) for plural in all_kinds.fixtures}
    for play in plays.values():
        play.submit()
    kubectl = [env.clusters.assets.tool("kubectl"), "--kubeconfig", env.clusters.management.admin_config, "-n",
               env.namespace]
    for plural, play in plays.items():
        env.until_event(play.name, "GaveUp: not started within 12s.*w1 quota exceeded; w2 quota exceeded")
        if plural in _NEVER_FAIL:
            assert "status" not in play.workload(), play.workload()["status"]
            continue

        defaults = {path[1:]: value for path, value in play.defaults.items()}

        def failed(play=play, plural=plural, defaults=defaults):
            status = play.workload().get("status", {})
            wrong = differences(status, _settled(status, {**defaults, **expected[plural]}), "/status")
            assert not wrong, f"{plural}: {tell(wrong)}"
            return True
        until(failed, f"the status of {plural}")
        resource = f"{plural}.{all_kinds.fixtures[plural].group}/{play.name}"
        done = subprocess.run(kubectl + ["wait", resource, "--timeout=5s", "--for", _WAIT.get(plural, "condition=Failed")],
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, f"{plural}: {done.stderr}"
    env.nothing_was_refused((422,))
