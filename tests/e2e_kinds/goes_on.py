# SPDX-License-Identifier: Apache-2.0
"""Workloads that go on in another worker where their children were."""
from life import Life
from nodes import END
from wait import until

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


for _each in (a_jobset_that_moves_runs_only_the_indexes_that_are_missing, jobs_that_depend_on_complete_ones_go_on_too):
    _each.needs = "jobsets"
