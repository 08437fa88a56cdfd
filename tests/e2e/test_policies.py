# SPDX-License-Identifier: Apache-2.0
"""Admission policies in the workers: they reject mirrors, add to them, and take from them."""
import policies
from jobs import brief, job
from skip import may_be_refused
from wait import until


@may_be_refused(("w1", "*", 403))
def a_policy_that_takes_marks_off_is_a_refusal_of_that_worker(env):
    env.host.use()
    first, names = env.workers[0], [f"stripped-{number}" for number in range(4)]
    with policies.mutating(first, env.namespace, "op: 'remove', path: '/metadata/labels/wharf.dev~1origin'",
                           lambda stored: "wharf.dev/origin" not in stored["metadata"].get("labels", {})):
        for name in names:
            env.submit(job(name))
        for name in names:
            env.until_finished(name)
        until(lambda: any("mark" in text.lower() for name in names for text in env.events(name)), "it to be reported")
    until(lambda: not first.admin.list("jobs", env.namespace), "no mirror without marks to be left behind")


@may_be_refused(("w1", "create", 422))
def what_a_policy_rejects_is_told_in_its_own_words_and_runs_elsewhere(env):
    env.use_all()
    first, second = env.workers
    with policies.rejecting(first, env.namespace, "not in this quarter"):
        names = [f"unwelcome-{number}" for number in range(4)]
        for name in names:
            env.submit(job(name))
        for name in names:
            env.until_finished(name)
            assert list(env.pods_created(name)) == [second.name], env.pods_created(name)
        told = [name for name in names if any("not in this quarter" in text for text in env.events(name))]
        sent = env.audits[first.name].host(env.namespace, verb="create")
        assert told and len(sent) <= 2 * len(names), f"told: {told}, {len(sent)} creates: that is a hot loop"


def what_a_policy_adds_to_mirrors_stays_and_is_not_fought(env):
    env.use_all()
    first = env.workers[0]
    with policies.mutating(first, env.namespace, "op: 'add', path: '/spec/activeDeadlineSeconds', value: 3600",
                           lambda stored: stored["spec"].get("activeDeadlineSeconds") == 3600):
        names = [f"added-{number}" for number in range(4)]
        there = env.run_held(names)
        env.change(there[0], {"spec": {"parallelism": 0}})
        env.until_counts(there[0], active=0)
        env.change(there[0], {"spec": {"parallelism": 1}})
        env.release()
        for name in names:
            done = env.until_finished(name)
            assert "activeDeadlineSeconds" not in done["spec"], brief(done)
        patched = env.audits[first.name].host(env.namespace, verb="patch")
        assert len(patched) == 2, f"{len(patched)} changes of mirrors, and two were asked for"
        mirrors = env.audits[first.name].host(env.namespace, verb="create")
        assert len(mirrors) == len(there), f"{len(mirrors)} mirrors of {len(there)} Jobs"
