# SPDX-License-Identifier: Apache-2.0
"""Malicious or misbehaving authors and workers. Others are not affected, and it is reported."""
import os
import shutil
import threading
import time

import kube
from jobs import brief, job
from wait import until


def _time_of(env, names):
    """How long plain Jobs take."""
    began = time.monotonic()
    for name in names:
        env.submit(job(name))
    for name in names:
        env.until_finished(name)
    return time.monotonic() - began


def jobs_with_ten_thousand_labels_hold_up_nobody(env):
    env.host.use()
    alone = _time_of(env, ["alone"])
    wide = {f"label-{number}": "" for number in range(10000)}
    for number in range(10):
        env.submit(job(f"wide-{number}", labels=wide))
    beside = _time_of(env, [f"plain-{number}" for number in range(5)])
    assert beside < max(15, 10 * alone), f"{beside:.1f} s beside them, {alone:.1f} s without"
    for number in range(10):
        env.until_finished(f"wide-{number}")


def a_forged_mirror_of_a_higher_attempt_is_not_adopted(env):
    env.host.use(seal="{file: seal.key}")
    env.submit(job("genuine", hold="all"))
    place = env.placed("genuine")
    other = next(worker for worker in env.workers if worker.name != place)
    env.until_counts("genuine", ready=1)
    genuine = env.mirror(place, "genuine")["metadata"]
    assert genuine["annotations"]["wharf.dev/seal"].startswith("v1:"), genuine
    forged = job("genuine", managed_by=None, suspend=True, labels={
        key: value for key, value in genuine["labels"].items() if key.startswith("wharf.dev/")})
    forged["metadata"]["annotations"] = {**genuine["annotations"], "wharf.dev/attempt": "7"}
    made = other.admin.create("jobs", env.namespace, forged)
    env.until_event("genuine", "nameconflict.*valid seal")
    env.release()
    done = env.until_finished("genuine")
    assert done["metadata"]["annotations"]["wharf.dev/attempt"] == "1", brief(done)
    assert env.pods_created("genuine") == {place: 1}, env.pods_created("genuine")
    kept = other.admin.get("jobs", env.namespace, "genuine")
    assert kept["metadata"]["uid"] == made["metadata"]["uid"] and kept["spec"] == made["spec"], brief(kept)
    assert kept["metadata"]["annotations"] == made["metadata"]["annotations"], "the forged mirror was changed"
    other.admin.delete("jobs", env.namespace, "genuine")


def _with_worker(env, name, like):
    """The host with another worker, by a copy of another cluster's kubeconfig."""
    env.host.stop()
    env.host.kubeconfigs[name] = shutil.copy(env.host.kubeconfigs[like], os.path.join(env.folder, name + ".kubeconfig"))
    env.host.settings = None


def _without_worker(env, name):
    env.host.stop()
    del env.host.kubeconfigs[name]
    env.host.settings = None


def _refused(env, name):
    return env.host.metrics().get(("wharf_cluster_refused", (("cluster", name),))) == 1


def one_cluster_under_two_names_runs_nothing_twice(env):
    _with_worker(env, "twin", env.workers[0].name)
    try:
        env.host.use()
        until(lambda: _refused(env, "twin"), "the second name to be refused")
        names = [f"once-{number}" for number in range(6)]
        for name in names:
            env.submit(job(name, hold="all"))
        for name in names:
            env.placed(name)
        env.release()
        for name in names:
            done = env.until_finished(name)
            assert done["metadata"]["annotations"]["wharf.dev/attempt"] == "1", brief(done)
            assert sum(env.pods_created(name).values()) == 1, env.pods_created(name)
        code, text, errors = env.host.command("check", "--online")
        assert code != 0 and "twin" in text + errors, (code, text, errors)
    finally:
        _without_worker(env, "twin")
        env.host.use()


def the_management_cluster_is_refused_as_a_worker(env):
    _with_worker(env, "other-name", "management")
    try:
        env.host.use()
        until(lambda: _refused(env, "other-name"), "the management cluster to be refused as a worker")
        env.submit(job("elsewhere"))
        env.until_finished("elsewhere")
    finally:
        _without_worker(env, "other-name")
        env.host.use()


def _held(env):
    return sum(value for (name, _), value in env.host.metrics().items() if name == "wharf_orphans_held")


def an_emptied_management_cluster_deletes_nothing_by_itself(env):
    env.host.use()
    names = [f"kept-{number}" for number in range(6)]
    for name in names:
        env.submit(job(name, hold="all"))
    places = {name: env.placed(name) for name in names}
    env.host.stop()
    for name in names:
        env.management.delete("jobs", env.namespace, name)
    until(lambda: not env.management.list("jobs", env.namespace), "the Jobs to be gone")
    env.host.start()
    until(lambda: _held(env) == len(names), "all mirrors to be held")
    assert all(env.mirror(places[name], name) for name in names), "a mirror was deleted"
    for name in names:
        env.worker(places[name]).admin.patch("jobs", env.namespace, name, {
            "metadata": {"annotations": {"wharf.dev/release": "true"}}})
    for name in names:
        env.until_no_mirror(name)
    until(lambda: _held(env) == 0, "nothing to be held")


class _Somebody(threading.Thread):
    """Repeats an action on the objects as fast as it can, until it is stopped."""

    def __init__(self, act):
        super().__init__(daemon=True)
        self.act, self.times, self.over = act, 0, threading.Event()

    def run(self):
        while not self.over.wait(0.01):
            try:
                self.times += bool(self.act())
            except (kube.ApiError, kube.Unreachable):
                continue

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


def a_mirror_that_is_deleted_again_and_again_is_made_again_ever_more_slowly(env):
    env.host.use()
    env.submit(job("hunted", hold="all"))
    env.placed("hunted")

    def delete():
        for worker in env.workers:
            if worker.admin.find("jobs", env.namespace, "hunted"):
                worker.admin.delete("jobs", env.namespace, "hunted")
                return True
        return False
    with _Somebody(delete):
        env.until_event("hunted", "deleted|again")
        threading.Event().wait(15)
    attempt = int(env.job("hunted")["metadata"]["annotations"]["wharf.dev/attempt"])
    assert attempt < 20, f"{attempt} attempts"


def a_second_writer_of_a_status_is_not_fought(env):
    env.host.use()
    env.submit(job("contested", hold="all"))
    env.placed("contested")
    env.until_counts("contested", ready=1)
    mark = env.audits["management"].mark()

    def write():
        env.management.patch_status("jobs", env.namespace, "contested", {"status": {"ready": 0}})
        return True
    with _Somebody(write) as somebody:
        env.until_event("contested", "somebody|writer|writes")
        until(lambda: somebody.times > 200, "the second writer to write")
    written = env.audits["management"].host(env.namespace, mark, verb="patch", subresource="status")
    assert len(written) < 30, f"{len(written)} rewrites of the status"
    env.until_counts("contested", ready=1)
    env.release()
    env.until_finished("contested")
