# SPDX-License-Identifier: Apache-2.0
"""A Job's life without trouble."""
import datetime

from audit import code
from jobs import condition, counts, indexed, job
from wait import until

# The allowed difference of the two sides: pod uids are meaningless outside of the worker.
_ONLY_THERE = ("uncountedTerminatedPods",)


def _status(found):
    return {key: value for key, value in found.get("status", {}).items() if key not in _ONLY_THERE}


def _status_writes(audit, namespace, name):
    """The Job controller's writes of a Job's status, in order; the mirror itself may be gone at any moment."""
    return [entry for entry in audit.entries(namespace) if entry["verb"] == "update" and code(entry) == 200
            and entry["objectRef"].get("subresource") == "status" and entry["objectRef"].get("name") == name]


def a_job_completes_in_a_worker_and_its_status_is_seen_live(env):
    env.host.use()
    env.submit(job("plain", hold="all", parallelism=2, completions=2, ttlSecondsAfterFinished=3600))
    worker = env.placed("plain")
    env.until_counts("plain", active=2, ready=2)
    _check_mirror(env.job("plain"), env.mirror(worker, "plain"))
    assert set(env.pods_created("plain")) == {worker}, env.pods_created("plain")
    env.release()
    done = env.until_finished("plain")

    def same_as_in_the_worker():
        last = _status_writes(env.audits[worker], env.namespace, "plain")[-1]["requestObject"]
        assert _status(done) == _status(last), f"{_status(done)} is not {_status(last)}"
        return True
    until(same_as_in_the_worker, "the status to be what the mirror ended with")
    assert counts(done) == (0, 0, 2, 0) and done["status"]["completionTime"], done["status"]
    env.until_no_mirror("plain")
    assert env.job("plain")["status"] == done["status"], "the status changed when the mirror was deleted"


def _check_mirror(workload, mirror):
    meta, home = mirror["metadata"], workload["metadata"]
    assert "managedBy" not in mirror["spec"], mirror["spec"]
    assert "ttlSecondsAfterFinished" not in mirror["spec"], mirror["spec"]
    assert "ownerReferences" not in meta, meta
    assert meta["labels"]["wharf.dev/origin"] == "e2e", meta
    assert meta["labels"]["wharf.dev/uid"] == home["uid"], meta
    assert meta["labels"]["wharf.dev/kind"] == "jobs.batch", meta
    assert meta["annotations"]["wharf.dev/attempt"] == "1" == home["annotations"]["wharf.dev/attempt"], meta
    assert meta["uid"] != home["uid"]


def a_job_without_faults_costs_three_writes_and_one_for_each_status_change(env):
    env.host.use()
    env.submit(job("cheap", run="0.5s", parallelism=1, completions=3))
    worker = env.placed("cheap")
    env.until_finished("cheap")
    env.until_no_mirror("cheap")
    at_home, there = env.audits["management"], env.audits[worker]

    def writes():   # each is recorded after it was answered
        spent = [(entry["verb"], entry["objectRef"].get("subresource", ""), code(entry))
                 for audit in (at_home, there) for entry in audit.host(env.namespace, name="cheap")]
        rest = sorted(write for write in spent if write[1] != "status")
        assert rest == [("create", "", 201), ("delete", "", 200), ("patch", "", 200)], rest
        return [write for write in spent if write[1] == "status"]
    status = until(writes, "the writes to be recorded")
    changes = _status_writes(there, env.namespace, "cheap")
    assert 1 <= len(status) <= len(changes), f"{len(status)} status writes for {len(changes)} changes"
    assert all(write == ("patch", "status", 200) for write in status), status
    assert len(env.events("cheap")) <= 2, env.events("cheap")   # Dispatched and Finished


def failed_indexes_of_an_indexed_job_are_told(env):
    env.host.use()
    env.submit(indexed("indexes", 4, parallelism=4, fail="index:1,3", backoffLimitPerIndex=0))
    done = env.until_finished("indexes", "Failed")
    assert condition(done, "Failed")["reason"] == "FailedIndexes", done["status"]
    assert done["status"]["completedIndexes"] == "0,2", done["status"]
    assert done["status"]["failedIndexes"] == "1,3", done["status"]
    assert counts(done) == (0, 0, 2, 2), done["status"]


def a_job_that_stops_at_its_maximum_of_failed_indexes_is_told_as_failed(env):
    env.host.use()
    env.submit(indexed("maximum", 6, parallelism=2, fail="always", backoffLimitPerIndex=0, maxFailedIndexes=1))
    done = env.until_finished("maximum", "Failed")
    assert condition(done, "Failed")["reason"] == "MaxFailedIndexesExceeded", done["status"]


def a_job_that_reaches_its_backoff_limit_is_told_as_failed(env):
    env.host.use()
    env.submit(job("failing", fail="always", backoffLimit=1))
    done = env.until_finished("failing", "Failed")
    assert condition(done, "Failed")["reason"] == "BackoffLimitExceeded", done["status"]
    assert counts(done) == (0, 0, 0, 2), done["status"]
    env.until_no_mirror("failing")


def a_job_past_its_deadline_is_told_as_failed(env):
    env.host.use()
    env.submit(job("late", hold="all", activeDeadlineSeconds=1))
    done = env.until_finished("late", "Failed")
    assert condition(done, "Failed")["reason"] == "DeadlineExceeded", done["status"]


def jobs_that_are_not_delegated_to_this_host_are_left_alone(env):
    env.host.use()
    env.submit(job("local", managed_by=None))
    env.submit(job("others", managed_by="example.com/other"))
    env.submit(job("ours"))
    env.until_finished("ours")
    for name in ("local", "others"):
        assert not env.mirrors(name), env.mirrors(name)
        assert "wharf.dev/cluster" not in env.job(name)["metadata"].get("annotations", {})
        for audit in env.audits.values():
            assert not audit.host(env.namespace, name=name), name
    until(lambda: env.management.list("pods", env.namespace), "the management cluster's own controller to run its own Job")
    for pod in env.management.list("pods", env.namespace):
        env.management.delete("pods", env.namespace, pod["metadata"]["name"], grace=0)


def jobs_are_spread_over_the_workers(env):
    env.use_all()
    for number in range(4):
        env.submit(job(f"spread-{number}", hold="all"))
    places = {env.placed(f"spread-{number}") for number in range(4)}
    assert places == {worker.name for worker in env.workers}, places
    env.release()
    for number in range(4):
        env.until_finished(f"spread-{number}")


def the_hosts_own_figures_agree_with_the_servers(env):
    env.host.use()
    env.host.stop()   # it counts from its start
    since = datetime.datetime.now(datetime.timezone.utc).isoformat()
    env.host.start()
    for number in range(3):
        env.submit(job(f"counted-{number}"))
    for number in range(3):
        env.until_finished(f"counted-{number}")
        env.until_no_mirror(f"counted-{number}")
    for worker in env.workers:
        for verb in ("create", "delete"):
            _until_figures_agree(env, worker.name, verb, since)
    told = env.host.metrics()
    refused = [sample for sample in told if sample[0] == "wharf_requests_total" and ("reason", "Invalid") in sample[1]]
    assert not refused, refused


def _until_figures_agree(env, cluster, verb, since):
    """Not at once: a Job of the CronJob that runs all the time may be between the two figures."""
    labels = (("cluster", cluster), ("verb", verb), ("reason", "OK"))

    def probe():
        told = env.host.metrics().get(("wharf_requests_total", labels), 0)
        seen = len([entry for entry in env.audits[cluster].host(verb=verb) if entry["requestReceivedTimestamp"] > since])
        assert told == seen, f"the host says {told:g}, the server {seen}"
        return True
    until(probe, f"the figures of {verb} in {cluster} to agree")
