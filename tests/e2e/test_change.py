# SPDX-License-Identifier: Apache-2.0
"""Changes by users during the life of a Job, on either side."""
from jobs import brief, condition, counts, job
from wait import until


def _template_label(value):
    return {"spec": {"template": {"metadata": {"labels": {"stage": value}}}}}


def a_running_job_is_suspended_scaled_and_resumed(env):
    env.host.use()
    env.submit(job("paused", hold="all", parallelism=2, completions=3))
    worker = env.placed("paused")
    env.until_counts("paused", active=2, ready=2)
    env.change("paused", {"spec": {"suspend": True}})
    env.until_job("paused", "suspended", lambda found: condition(found, "Suspended") and not counts(found)[0])
    until(lambda: not _running(env, worker, "paused"), "its pods to be gone")
    env.change("paused", {"spec": {"parallelism": 3}})
    # The API server takes this only from a Job whose status says that it is suspended and has no active pods; before 1.36 also
    # only if it never started, without a feature gate.
    changeable = all(cluster.version >= (1, 36) for cluster in env.clusters.all)
    if changeable:
        env.change("paused", _template_label("second"))
    env.change("paused", {"spec": {"suspend": False}})
    env.until_counts("paused", active=3, ready=3)
    mirrors = env.mirrors("paused")
    labels = [mirror["spec"]["template"]["metadata"]["labels"].get("stage") for mirror in mirrors.values()]
    assert labels == ["second" if changeable else None], labels
    env.release()
    done = env.until_finished("paused")
    assert counts(done) == (0, 0, 3, 0), brief(done)
    assert not condition(done, "Suspended"), brief(done)


def _running(env, worker, name):
    pods = env.worker(worker).admin.list("pods", env.namespace, selector=f"batch.kubernetes.io/job-name={name}")
    return [pod for pod in pods if pod["status"].get("phase") not in ("Succeeded", "Failed")]


def a_job_created_suspended_runs_once_it_is_resumed(env):
    env.host.use()
    env.submit(job("waiting", suspend=True, parallelism=1, completions=2))
    env.until_job("waiting", "told as suspended", lambda found: condition(found, "Suspended"))
    assert not env.pods_created("waiting"), env.pods_created("waiting")
    env.change("waiting", _template_label("changed"))
    env.change("waiting", {"spec": {"suspend": False, "parallelism": 2}})
    done = env.until_finished("waiting")
    assert sum(env.pods_created("waiting").values()) == 2, env.pods_created("waiting")
    assert done["spec"]["template"]["metadata"]["labels"]["stage"] == "changed"


def a_running_job_is_scaled(env):
    env.host.use()
    env.submit(job("scaled", hold="all", parallelism=1, completions=4))
    env.until_counts("scaled", active=1, ready=1)
    env.change("scaled", {"spec": {"parallelism": 4}, "metadata": {"labels": {"size": "large"}}})
    env.until_counts("scaled", active=4, ready=4)

    def labelled():
        meta = list(env.mirrors("scaled").values())[0]["metadata"]
        assert meta["labels"].get("size") == "large" and meta["labels"].get("wharf.dev/origin") == "e2e", meta
        return True
    until(labelled, "the label to be carried")
    env.change("scaled", {"spec": {"parallelism": 2}})
    env.until_counts("scaled", active=2)
    env.release()
    env.until_finished("scaled")


def deleting_a_job_deletes_its_mirror_and_its_pods(env):
    env.host.use()
    env.submit(job("unwanted", hold="all", parallelism=2, completions=2))
    worker = env.placed("unwanted")
    env.until_counts("unwanted", ready=2)
    env.management.delete("jobs", env.namespace, "unwanted")
    until(lambda: env.management.find("jobs", env.namespace, "unwanted") is None, "the Job to be gone")
    env.until_no_mirror("unwanted")
    until(lambda: not env.worker(worker).admin.list("pods", env.namespace), "its pods to be gone")


def a_job_made_again_under_its_name_gets_a_mirror_of_its_own(env):
    env.host.use()
    first = env.submit(job("again", hold="all"))
    env.placed("again")
    env.management.delete("jobs", env.namespace, "again")
    until(lambda: env.management.find("jobs", env.namespace, "again") is None, "the first Job to be gone")
    second = env.submit(job("again", hold="all"))
    assert first["metadata"]["uid"] != second["metadata"]["uid"]

    def only_the_second():
        uids = [mirror["metadata"]["labels"]["wharf.dev/uid"] for mirror in env.mirrors("again").values()]
        return uids == [second["metadata"]["uid"]]
    until(only_the_second, "the mirror to be the second Job's")
    env.release()
    env.until_finished("again")


def a_mirror_deleted_by_hand_is_made_again(env):
    env.host.use()
    env.submit(job("bereft", hold="all"))
    worker = env.placed("bereft")
    env.until_counts("bereft", ready=1)
    started = env.job("bereft")["status"]["startTime"]
    env.worker(worker).admin.delete("jobs", env.namespace, "bereft")
    again = env.placed("bereft", attempt=2)
    mirror = env.mirror(again, "bereft")
    assert mirror["metadata"]["annotations"]["wharf.dev/attempt"] == "2", brief(mirror)
    env.until_counts("bereft", active=1, ready=1)
    env.release()
    done = env.until_finished("bereft")
    assert done["status"]["startTime"] == started, f"startTime was {started}: {brief(done)}"
    assert sum(env.pods_created("bereft").values()) == 2, env.pods_created("bereft")


def a_placement_annotation_that_names_no_cluster_harms_nothing(env):
    env.host.use()
    env.submit(job("edited", hold="all"))
    worker = env.placed("edited")
    env.until_counts("edited", ready=1)
    env.change("edited", {"metadata": {"annotations": {"wharf.dev/cluster": "nowhere"}}})
    env.release()
    env.until_finished("edited")
    assert sum(env.pods_created("edited").values()) >= 1 and worker in env.pods_created("edited")
