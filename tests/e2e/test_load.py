# SPDX-License-Identifier: Apache-2.0
"""Many Jobs at once, given to the host and to the naive script of tests/e2e_bench: only counts, no times."""
import collections

from audit import code
from jobs import brief, finished
from load import NAIVE_MANAGED_BY, NAIVE_USERS, WHARF_USERS, Load, requests
from wait import until

_COUNT = 50
_TIMEOUT = 240.0


def many_jobs_at_once_run_once_each_with_a_write_for_a_status_change(env):
    env.host.use()
    sent = _dispatched(env, "wharf.dev/host", WHARF_USERS)
    management = {what[1:]: number for what, number in sent.items() if what[0] == "management"}
    assert management.get(("patch", "jobs")) == _COUNT, sent
    assert management.get(("create", "events"), 0) <= 2 * _COUNT, sent   # Dispatched and Finished
    assert set(management) <= {("patch", "jobs"), ("patch", "jobs/status"), ("create", "events")}, sent
    until(lambda: not _mirrors(env), "the mirrors to be gone after the retention of 1 s", _TIMEOUT)
    _check_statuses(env, WHARF_USERS)
    until(lambda: _check_workers(env, WHARF_USERS, ("create", "delete")), "the last deletes to be recorded")


def many_jobs_at_once_complete_with_the_naive_script_too(env):
    loads = Load(env.clusters, env.folder)
    loads.start_naive()
    try:
        sent = _dispatched(env, NAIVE_MANAGED_BY, NAIVE_USERS, loads)
    finally:
        loads.naive.kill()
    assert {what[1:] for what in sent if what[0] == "management"} == {("patch", "jobs/status")}, sent
    assert loads.naive.tail().splitlines() == ["ready"], loads.naive.tail()
    _check_statuses(env, NAIVE_USERS)
    _check_workers(env, NAIVE_USERS, ("create",))
    assert not [entry for audit in env.audits.values() for entry in _writes(audit, env.namespace, WHARF_USERS)]
    for worker in env.workers:
        worker.admin.delete_all("jobs", env.namespace)   # the script leaves its mirrors


def _dispatched(env, managed_by, users, loads=None):
    """Creates the Jobs, waits for them to complete; what these users have sent meanwhile."""
    loads = loads or Load(env.clusters, env.folder)
    marks = {name: audit.mark() for name, audit in env.audits.items()}
    authors = loads.users(env.namespace, managed_by, _COUNT, run="0s")
    authors.start()
    loads.created(authors, _TIMEOUT)

    def all_complete():
        unfinished = [found for found in env.management.list("jobs", env.namespace) if not finished(found)]
        assert not unfinished, f"{len(unfinished)} are not, first {brief(unfinished[0])}"
        return True
    until(all_complete, "all Jobs to be complete", _TIMEOUT, every=0.5)
    done = env.management.list("jobs", env.namespace)
    wrong = [brief(found) for found in done if found["status"].get("succeeded") != 1 or found["status"].get("failed")]
    assert len(done) == _COUNT and not wrong, f"{len(done)} Jobs, {wrong[:3]}"
    return requests(env.audits, users, marks, env.namespace)


def _mirrors(env):
    return [found for worker in env.workers
            for found in worker.admin.list("jobs", env.namespace, selector="wharf.dev/origin")]


def _writes(audit, namespace, users):
    return [entry for entry in audit.entries(namespace) if entry["user"].get("username") in users
            and entry["verb"] not in ("get", "list", "watch")]


def _by_name(entries):
    return collections.Counter(entry["objectRef"].get("name") or entry["responseObject"]["metadata"]["name"]
                               for entry in entries)


def _check_statuses(env, users):
    """No more status patches of a Job than its mirror had changes, none rejected."""
    at_home = [entry for entry in _writes(env.audits["management"], env.namespace, users)
               if entry["objectRef"].get("subresource") == "status"]
    refused = [entry for entry in at_home if code(entry) != 200]
    assert not refused, refused[0]
    changes = collections.Counter()
    for worker in env.workers:
        changes += _by_name([entry for entry in env.audits[worker.name].entries(env.namespace)
                             if entry["objectRef"]["resource"] == "jobs" and entry["verb"] == "update"
                             and entry["objectRef"].get("subresource") == "status" and code(entry) == 200])
    patches = _by_name(at_home)
    assert len(patches) == _COUNT, f"the status of {len(patches)} Jobs was written"
    more = {name: (number, changes[name]) for name, number in patches.items() if number > changes[name]}
    assert not more, f"(patches, changes of the mirror): {more}"


def _check_workers(env, users, verbs):
    """One of each verb for each Job, in one worker, and one pod."""
    for verb in verbs:
        made = _by_name([entry for worker in env.workers
                         for entry in _writes(env.audits[worker.name], env.namespace, users) if entry["verb"] == verb])
        assert len(made) == _COUNT and set(made.values()) == {1}, f"{verb}: {made}"
    pods = {f"job-{number}": sum(env.pods_created(f"job-{number}").values()) for number in range(_COUNT)}
    assert set(pods.values()) == {1}, f"pods of a Job: {pods}"
    return True
