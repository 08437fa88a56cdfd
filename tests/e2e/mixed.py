# SPDX-License-Identifier: Apache-2.0
"""Many workloads of several kinds at once: Jobs of all shapes, and custom resources whose controllers are played here."""
import copy
import threading
import time
import traceback

import kinds
import kube
from compare import differences, merge, tell
from jobs import brief, condition, counts, finished, indexed, job
from playable import playable
from wait import until

PLURALS = ("jobsets", "trainjobs", "rayjobs", "pipelineruns")
_JOBS = (   # (name, what is submitted, its pods if nothing runs twice, how it ends)
    ("plain", lambda name: job(name, hold="all"), 1, "Complete"),
    ("pair", lambda name: job(name, run="0.3s", parallelism=2, completions=2), 2, "Complete"),
    ("index", lambda name: indexed(name, 3, parallelism=2, hold="index:2"), 3, "Complete"),
    ("once", lambda name: job(name, hold="all", fail="once"), 2, "Complete"),
    ("broken", lambda name: job(name, fail="always", backoffLimit=0), 1, "Failed"),
    ("asleep", lambda name: job(name, suspend=True), 1, "Complete"))


class Controllers(threading.Thread):
    """Plays the controllers of PLURALS in one worker: each mirror is started once, and ends once its namespace is
    released, with the statuses of the fixture's story. `ran` has the uids that were started."""

    def __init__(self, env, worker, stories):
        super().__init__(name="controllers-" + worker.name, daemon=True)
        self.env, self.client, self.stories = env, worker.admin, stories
        self.ran, self.error, self.ended = {}, None, threading.Event()

    def run(self):
        while not self.ended.wait(0.2):
            try:
                for plural in PLURALS:
                    for found in self.client.list(plural, self.env.namespace, selector="wharf.dev/origin"):
                        self._step(plural, found)
            except kube.Unreachable:
                continue
            except kube.ApiError as error:
                if error.code < 500 and error.code not in (401, 403, 404, 409, 429):
                    self.error = traceback.format_exc()
            except Exception:   # raised by check(), in the test's own thread
                self.error = traceback.format_exc()

    def stop(self):
        self.ended.set()
        self.join(10)
        assert not self.error, self.error

    def _step(self, plural, found):
        meta, running, done = found["metadata"], *self.stories[plural]
        released = self.env.namespace in self.env.released
        wanted = done if released and found.get("status") else running
        if "deletionTimestamp" in meta or found.get("status") and not released or found.get("status") == wanted:
            return
        self.ran.setdefault((plural, meta["name"]), set()).add(meta["uid"])
        status = copy.deepcopy(wanted)
        if "observedGeneration" in status:
            status["observedGeneration"] = meta["generation"]
        if not differences(found.get("status"), status):
            return
        self.client.replace(plural, self.env.namespace, {**found, "status": status}, "status")


class Mixed:
    """The workloads of one test."""

    def __init__(self, env):
        self.env, self.kinds, self.jobs, self.others, self.waves = env, kinds.of(env), {}, [], 0
        stories = {plural: self._story(plural) for plural in PLURALS}
        self.controllers = [Controllers(env, worker, stories) for worker in env.workers]

    def _story(self, plural):
        """The first and the last status of a success."""
        steps = [step["status"] for step in playable(self.kinds.fixtures[plural].stories["succeeded"], time.time())
                 if step.get("status")]
        return steps[0], steps[-1]

    def start(self):
        for each in self.controllers:
            each.start()

    def stop(self):
        for each in self.controllers:
            each.stop()

    def submit(self):
        """One wave: two Jobs of each shape and two of each other kind, also while the API server is away."""
        wave = self.waves
        self.waves += 1
        for number in range(2):
            for shape, make, pods, end in _JOBS:
                name = f"{shape}-{wave}-{number}"
                self.jobs[name] = (pods, end)
                self._create("jobs", make(name))
            for plural in PLURALS:
                name = f"{plural}-{wave}-{number}"
                self.others.append((plural, name))
                self._create(plural, merge(self.kinds.fixtures[plural].workload, {
                    "metadata": {"name": name, "namespace": self.env.namespace}}))

    def _create(self, plural, body):
        def probe():
            try:
                return self.env.management.create(plural, self.env.namespace, body)
            except kube.Unreachable as error:
                raise AssertionError(error) from error
            except kube.ApiError as error:
                assert error.code < 500 and error.code not in (401, 403, 429), error
                if error.code != 409:   # an earlier try was not answered, but done
                    raise
                return True
        until(probe, f"{body['metadata']['name']} to be created", every=0.5)

    def release(self):
        for name in self.jobs:
            if name.startswith("asleep"):
                self.env.change(name, {"spec": {"suspend": False}})
        self.env.release()

    def check(self, timeout=180):
        """Each workload ends, as its mirror did, which was the only one that ran. A further attempt may have been needed
        where a worker rejected the mirror."""
        until(self._all_jobs_finished, "all Jobs to finish", timeout, every=0.5)
        until(self._all_others_agree, "all other workloads to have the statuses of their mirrors", timeout, every=0.5)
        for name, (pods, _) in self.jobs.items():
            made = self.env.pods_created(name)
            assert len(self.env.mirrors_that_ran(name)) == 1 and sum(made.values()) == pods, f"{name}: pods created {made}"
        for plural, name in self.others:
            uids = set().union(*(each.ran.get((plural, name), set()) for each in self.controllers))
            assert len(uids) == 1, f"{plural} {name}: started as {uids}"

    def _mirrors(self, plural):
        return {found["metadata"]["name"]: found for worker in self.env.workers
                for found in worker.admin.list(plural, self.env.namespace, selector="wharf.dev/origin")}

    def _all_jobs_finished(self):
        found = {each["metadata"]["name"]: each for each in self.env.management.list("jobs", self.env.namespace)}
        mirrors = self._mirrors("jobs")
        for name, (_, end) in self.jobs.items():
            assert finished(found[name]), brief(found[name])
            assert condition(found[name], end), f"expected {end}: {brief(found[name])}"
            assert name in mirrors and counts(found[name]) == counts(mirrors[name]), \
                f"{brief(found[name])}, its mirror {brief(mirrors.get(name))}"
        return True

    def _all_others_agree(self):
        for plural in PLURALS:
            mirrors = self._mirrors(plural)
            ends = {plural: each.stories[plural][1] for each in self.controllers}
            for found in self.env.management.list(plural, self.env.namespace):
                name = found["metadata"]["name"]
                mirror = mirrors.get(name)
                assert mirror, f"{plural} {name} has no mirror"
                assert set(ends[plural]) <= set(mirror.get("status") or {}), f"{plural} {name} has not ended"
                wrong = [each for each in differences(found.get("status"), mirror.get("status"))
                         if each[0] != "/observedGeneration"]
                assert not wrong, f"{plural} {name}: {tell(wrong)}"
        return True
