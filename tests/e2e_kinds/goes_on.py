# SPDX-License-Identifier: Apache-2.0
"""Workloads that go on in another worker where their children were."""
import inspect

from life import Life
from nodes import END
from wait import until
from watcher import indexes

_NAME, _INDEX = "job-name", "batch.kubernetes.io/job-completion-index"


def _job(name, replicas, number, **more):
    return {"name": name, "replicas": replicas, "template": {"spec": {
        "parallelism": number, "completions": number, "backoffLimit": 3, "completionMode": "Indexed", "template": {
            "metadata": {"annotations": {"e2e.example.com/pods": "run"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "bash:latest"}]}}}}, **more}


class _Moving(Life):
    """A JobSet. Pods are known by the end of their Job's name and their index, ("w-0", 3)."""

    def __init__(self, scene, case, *jobs):
        super().__init__(scene, next(kind for kind in scene.kinds if kind.plural == "jobsets"), case, f"jobsets-{case}")
        self.submit(patch={"spec": {"replicatedJobs": list(jobs)}})

    def pods(self, worker, phase=None):
        """{pod: how often it was made}; ended ones stay."""
        found = {}
        for pod in self.scene.worker(worker).admin.list("pods", self.namespace):
            labels = pod["metadata"]["labels"]
            if phase in (None, pod["status"].get("phase")):
                which = labels[_NAME].removeprefix(self.name + "-"), int(labels[_INDEX])
                found.setdefault(which, []).append(pod["metadata"]["name"])
        return found

    def until_running(self, worker, number):
        until(lambda: len(self.pods(worker, "Running")) == number, f"{number} pods to run in {worker}", 60)

    def until_succeeded(self, job, number):
        """So many Jobs of this replicated job are complete, as the workload's status has it."""
        def told(found):
            return {each["name"]: each["succeeded"] for each in found["status"].get("replicatedJobsStatus", ())}.get(job) == number
        self.until_status(f"with {number} complete Jobs of {job}", told, 60)

    def finish(self, worker, *which):
        """These pods succeed, and their Jobs have counted that; all that run unless some are given."""
        running = self.pods(worker, "Running")
        for each in which or running:
            for name in running[each]:
                self.scene.worker(worker).admin.patch("pods", self.namespace, name, {"metadata": {"annotations": {END: "succeed"}}})
        until(lambda: not self.pods(worker, "Running").keys() & set(which or running), "the pods to end")
        until(lambda: self._counted(worker) == len(self.pods(worker, "Succeeded")), "the Jobs to count them")

    def _counted(self, worker):
        jobs = self.scene.worker(worker).admin.list("jobs", self.namespace)
        return sum(job["status"].get("succeeded", 0) for job in jobs) - self.given

    given = 0   # successes that Jobs had before they ran

    def move(self, first, given):
        """From this worker to the other one; `given`: what the children there are given together."""
        code, out, err = self.scene.host.command("drain", first, "--policy", "move", "--timeout", "60s")
        assert code == 0, out + err
        other = until(lambda: next((name for name, mirror in self.mirrors().items() if name != first and
                                    mirror["metadata"]["annotations"].get("wharf.dev/progress") == "given"), None),
                      "the next mirror to have the progress", 60)
        assert not self.mirrors()[other]["spec"].get("suspend"), "it is still suspended"
        self.given = given
        return other

    def stay(self, worker):
        self.scene.host.command("uncordon", worker)
        until(lambda: self.scene.host.takes_work(worker, "jobsets.jobset.x-k8s.io"), f"{worker} to get work again")
        until(lambda: not self.pods(worker), f"the former pods in {worker} to be gone", 60)

    # What watches of all clusters saw, whatever the host says. Jobs are known by the end of their name.

    def _seen(self, plural, *clusters):
        return [event["object"] for cluster in clusters or [worker.name for worker in self.scene.clusters.workers]
                for event in self.scene.recorder.of(self.namespace, cluster, plural)]

    def check_progress(self, but=(), falls=()):
        """No index that a Job had counted, except in the attempts of `but`, had a pod in a later attempt; no number of complete Jobs
        fell in the workload's status, but for those of replicated jobs in `falls`. What ran, by attempt."""
        attempts = {mirror["metadata"]["uid"]: int(mirror["metadata"]["annotations"]["wharf.dev/attempt"]) for mirror in self.history()}
        jobs, counted, ran = {}, {}, {}   # uid -> (attempt, end of its name); the others: attempt -> {(end of the name, index)}
        for job in self._seen("jobs"):
            which = attempts[job["metadata"]["ownerReferences"][0]["uid"]], job["metadata"]["name"].removeprefix(self.name + "-")
            jobs[job["metadata"]["uid"]] = which
            counted.setdefault(which[0], set()).update((which[1], index) for index in indexes(job["status"].get("completedIndexes")))
        for pod in self._seen("pods"):
            attempt, name = jobs[pod["metadata"]["ownerReferences"][0]["uid"]]
            ran.setdefault(attempt, set()).add((name, int(pod["metadata"]["labels"][_INDEX])))
        for attempt, pods in ran.items():
            before = set().union(*(found for other, found in counted.items() if other < attempt and other not in but))
            assert not pods & before, f"counted indexes ran again in attempt {attempt}: {sorted(pods & before)}"
        most = {}
        for found in self._seen("jobsets", "management"):
            for each in found.get("status", {}).get("replicatedJobsStatus", ()):
                assert each["succeeded"] >= most.get(each["name"], 0) or each["name"] in falls, f"{each} after {most}"
                most[each["name"]] = each["succeeded"]
        return ran


def a_jobset_that_moves_runs_only_the_indexes_that_are_missing(scene):
    life = _Moving(scene, "moves", _job("w", 4, 5))
    first = life.placed_in()
    life.until_running(first, 20)
    done = {(f"w-{job}", index) for job in range(4) for index in range(job + 1)}
    life.finish(first, *done)
    other = life.move(first, len(done))
    life.until_running(other, 20 - len(done))
    life.finish(other)
    life.until("succeeded")
    made = life.pods(other)
    assert not made.keys() & done, f"ran again: {made.keys() & done}"
    assert all(len(names) == 1 for names in made.values()) and len(made) == 20 - len(done), made
    life.stay(first)
    life.close()


def jobs_that_depend_on_complete_ones_go_on_too(scene):
    life = _Moving(scene, "depends", _job("first", 1, 2),
                   _job("second", 2, 3, dependsOn=[{"name": "first", "status": "Complete"}]))
    first = life.placed_in()
    life.until_running(first, 2)
    life.finish(first)
    life.until_running(first, 6)
    life.finish(first, ("second-0", 0), ("second-0", 2), ("second-1", 1))
    other = life.move(first, 5)
    life.until_running(other, 3)
    life.finish(other)
    life.until("succeeded")
    assert life.pods(other).keys() == {("second-0", 1), ("second-1", 0), ("second-1", 2)}, life.pods(other)
    life.stay(first)
    life.close()


def a_jobset_of_four_jobs_that_moves_twice_runs_nothing_again(scene):
    scene.recorder.watch(["pods"])
    life = _Moving(scene, "moves-twice", _job("a", 1, 3), _job("b", 2, 4), _job("c", 1, 5), _job("d", 1, 6))
    first = life.placed_in()
    life.until_running(first, 22)
    done = {("a-0", 0), ("a-0", 1), ("a-0", 2), ("b-1", 3), ("c-0", 0), ("c-0", 4)}
    life.finish(first, *done)
    life.until_succeeded("a", 1)
    second = life.move(first, len(done))
    life.until_running(second, 22 - len(done))
    life.stay(first)
    more = {("b-0", index) for index in range(4)} | {("c-0", 1), ("d-0", 5)}
    life.finish(second, *more)
    assert life.move(second, len(done | more)) == first
    life.until_running(first, 22 - len(done | more))
    life.finish(first)
    life.until("succeeded")
    ran = until(lambda: _all_of(life.check_progress(), 22), "the watches to have seen all pods", 20)
    assert set(ran) == {1, 2, 3} and not ran[3] & (done | more), ran
    life.stay(second)
    life.close()


def _all_of(ran, number):
    assert len(set().union(*ran.values())) == number, ran
    return ran


def of_a_lost_worker_s_jobset_the_jobs_whose_replicas_are_complete_do_not_run_again(scene):
    scene.recorder.watch(["pods"])
    scene.use(workerLostTimeout="10s")
    life = _Moving(scene, "lost-jobs", _job("a", 2, 3), _job("b", 2, 2), _job("c", 1, 3), _job("d", 1, 2))
    first = life.placed_in()
    life.until_running(first, 15)
    whole = {(f"a-{job}", index) for job in range(2) for index in range(3)} | {("d-0", 0), ("d-0", 1)}
    life.finish(first, *whole, ("b-0", 0), ("b-0", 1), ("c-0", 1))
    for name, number in (("a", 2), ("b", 1), ("d", 1)):
        life.until_succeeded(name, number)
    scene.relays[first].cut()
    try:
        second = until(lambda: next((name for name in life.mirrors() if name != first), None), "a mirror in the other worker", 60)
        life.given = len(whole)
        life.until_running(second, 15 - len(whole))
    finally:
        scene.relays[first].mend()
    until(lambda: first not in life.mirrors(), "the stale mirror to be gone", 60)
    life.finish(second)
    life.until("succeeded")
    assert life.pods(second).keys() == {(f"b-{job}", index) for job in range(2) for index in range(2)} | {
        ("c-0", 0), ("c-0", 1), ("c-0", 2)}, life.pods(second)
    life.check_progress(but=(1,), falls=("b",))
    life.close()
    scene.use()


for _name, _each in list(globals().items()):
    if inspect.isfunction(_each) and _each.__module__ == __name__ and _name[0] != "_":
        _each.needs = "jobsets"
