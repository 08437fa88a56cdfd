# SPDX-License-Identifier: Apache-2.0
"""What people are shown: the label, the API's explanations, Events."""
import json

from jobs import job
from wait import until


def _explain(env, name):
    code, text = env.host.fetch(f"/api/v1/workloads/job/{env.namespace}/{name}")
    return code, json.loads(text)


def _until_explained(env, name, check):
    """What is told is as old as the host's last snapshot."""
    def probe():
        code, told = _explain(env, name)
        assert code == 200 and check(told), (code, told)
        return told
    return until(probe, f"{name} to be explained")


def a_job_is_explained_with_its_label_its_story_and_its_events(env):
    env.use_all()
    env.submit(job("shown", hold="all"))
    worker = env.placed("shown")
    env.until_counts("shown", active=1, ready=1)
    named = env.management.list("jobs", env.namespace, selector=f"wharf.dev/cluster={worker}")
    assert [found["metadata"]["name"] for found in named] == ["shown"], named
    assert "wharf.dev/cluster" not in env.mirror(worker, "shown")["metadata"]["labels"]
    told = _until_explained(env, "shown", lambda told: told["ours"] and told["phase"] == "Running" and told["cluster"] == worker)
    mirror = env.mirror(worker, "shown")
    assert told["mirror"]["uid"] == mirror["metadata"]["uid"], told
    attempt, = told["attempts"]
    assert attempt["createdAt"] == mirror["metadata"]["creationTimestamp"], attempt
    assert attempt["startedAt"] == mirror["status"]["startTime"] and not attempt["endedAt"], attempt
    assert [item["name"] for item in told["workers"] if item["fit"]] == [worker.name for worker in env.workers], told
    env.release()
    done = env.until_finished("shown")
    until(lambda: any(text.startswith(f"Finished: succeeded in {worker} after ") for text in env.events("shown")),
          "an Event Finished")
    told = _until_explained(env, "shown", lambda told: told["attempts"][0].get("outcome"))
    attempt, = told["attempts"]
    assert attempt["outcome"] == "Succeeded" and attempt["endedAt"] == done["status"]["completionTime"], told
    reasons = [event["reason"] for event in told["events"]]
    assert reasons.index("Dispatched") < reasons.index("Finished"), told["events"]


def a_job_of_somebody_else_is_explained_from_the_management_cluster(env):
    env.use_all()
    plain = job("plain-here", hold="all")
    del plain["spec"]["managedBy"]
    env.submit(plain)
    until(lambda: env.job("plain-here")["metadata"]["uid"], "the Job to exist")
    code, told = _explain(env, "plain-here")
    assert code == 200 and not told["ours"] and "is not set" in told["why"] and told["help"], told
    code, told = _explain(env, "nobody")
    assert code == 404 and told["reason"] == "NotFound", told
