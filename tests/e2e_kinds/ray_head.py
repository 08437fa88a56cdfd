# SPDX-License-Identifier: Apache-2.0
"""What runs in one Ray head pod: its jobs and Serve applications, as Ray's dashboard shows them. The last word of a job's
entrypoint says how it ends: "succeed" (default), "fail", "fail-once" (the first job of the namespace fails, later ones succeed),
"hold" (until the namespace is released, then succeed)."""
import threading
import time

_SOON = 0.3   # seconds that a job or a deployment takes
_MESSAGES = {
    "PENDING": "Job has not started yet. It may be waiting for the runtime environment to be set up.",
    "RUNNING": "Job is currently running.", "SUCCEEDED": "Job finished successfully.", "STOPPED": "Job was intentionally stopped.",
    "FAILED": "Job entrypoint command failed with exit code 1, last available logs (truncated to 20,000 chars):\nan error"}
_ENDED = ("SUCCEEDED", "FAILED", "STOPPED")


def _later(action, *arguments):
    timer = threading.Timer(_SOON, action, arguments)
    timer.daemon = True
    timer.start()


class Outcomes:
    """How the jobs of all namespaces of a cluster end."""

    def __init__(self):
        self.lock, self.released, self.failed, self.held = threading.Lock(), set(), set(), {}

    def decide(self, namespace, entrypoint, end):
        """Calls end("SUCCEEDED" or "FAILED") once it is time."""
        wanted = entrypoint.split()[-1]
        with self.lock:
            if wanted == "hold" and namespace not in self.released:
                self.held.setdefault(namespace, []).append(end)
                return
            fails = wanted == "fail" or wanted == "fail-once" and namespace not in self.failed
            if fails:
                self.failed.add(namespace)
        _later(end, "FAILED" if fails else "SUCCEEDED")

    def release(self, namespace):
        with self.lock:
            self.released.add(namespace)
            held = self.held.pop(namespace, [])
        for end in held:
            end("SUCCEEDED")


class _Job:
    def __init__(self, request, identity):
        self.lock, self.state, self.identity, self.request = threading.Lock(), "PENDING", identity, request
        self.started, self.finished, self.followers = time.time(), None, []

    def enter(self, state):
        """False once it has ended."""
        with self.lock:
            if self.state in _ENDED:
                return False
            self.state = state
            followers, self.followers = (self.followers, []) if state in _ENDED else ([], self.followers)
            self.finished = time.time() if state in _ENDED else None
        for follow in followers:
            follow(state)
        return True

    def follow(self, follow):
        """Calls follow(state) once it has ended."""
        with self.lock:
            if self.state not in _ENDED:
                self.followers.append(follow)
                return
        follow(self.state)

    def details(self):
        with self.lock:
            return {"type": "SUBMISSION", "job_id": None, "submission_id": self.identity, "driver_info": None, "status": self.state,
                    "entrypoint": self.request["entrypoint"], "message": _MESSAGES[self.state], "error_type": None,
                    "start_time": int(self.started * 1000), "end_time": int(self.finished * 1000) if self.finished else None,
                    "metadata": self.request.get("metadata", {}), "runtime_env": self.request.get("runtime_env", {}),
                    "driver_exit_code": {"SUCCEEDED": 0, "FAILED": 1}.get(self.state)}


class _Application:
    def __init__(self, config):
        self.config, self.deployed = config, time.time()

    def details(self):
        """One that imports from "missing" cannot be deployed."""
        done = time.time() - self.deployed >= _SOON
        broken = self.config["import_path"].startswith("missing")
        status = "DEPLOYING" if not done else "DEPLOY_FAILED" if broken else "RUNNING"
        deployments = {} if broken else {each["name"]: {
            "name": each["name"], "status": "HEALTHY" if done else "UPDATING", "message": "", "deployment_config": each,
            "replicas": []} for each in self.config.get("deployments", [])}
        return {"name": self.config["name"], "route_prefix": self.config.get("route_prefix", "/"), "docs_path": None, "status": status,
                "message": "No module named 'missing'" if status == "DEPLOY_FAILED" else "", "last_deployed_time_s": self.deployed,
                "deployed_app_config": self.config, "source": "declarative", "deployments": deployments}


class Head:
    def __init__(self, namespace, outcomes):
        self.namespace, self.outcomes, self.lock, self.alive = namespace, outcomes, threading.Lock(), True
        self.jobs, self.applications, self.capacity = {}, {}, None

    def submit(self, request):
        """The job's id; None if there is one of that id."""
        with self.lock:
            identity = request.get("submission_id") or f"raysubmit_{len(self.jobs)}"
            if identity in self.jobs:
                return None
            job = self.jobs[identity] = _Job(request, identity)
        _later(self._run, job)
        return identity

    def _run(self, job):
        if self.alive and job.enter("RUNNING"):
            self.outcomes.decide(self.namespace, job.request["entrypoint"], lambda state: self.alive and job.enter(state))

    def job(self, identity):
        with self.lock:
            return self.jobs.get(identity)

    def list_jobs(self):
        with self.lock:
            return [job.details() for job in self.jobs.values()]

    def deploy(self, config):
        """Applications that stay as they are are not deployed again, those that are not in it are deleted."""
        with self.lock:
            wanted = {each["name"]: each for each in config["applications"]}
            self.capacity = config.get("target_capacity")
            self.applications = {name: self.applications[name] if name in self.applications and self.applications[name].config == each
                                 else _Application(each) for name, each in wanted.items()}

    def serve_details(self):
        with self.lock:
            return {"controller_info": {}, "proxy_location": "EveryNode", "proxies": {}, "deploy_mode": "MULTI_APP",
                    "target_capacity": self.capacity,
                    "applications": {name: each.details() for name, each in self.applications.items()}}

    def serves(self):
        return any(each["status"] == "RUNNING" for each in self.serve_details()["applications"].values())

    def die(self):
        """Its pod is gone, and so is what ran in it; who follows a job loses the connection."""
        with self.lock:
            self.alive = False
            jobs = list(self.jobs.values())
        for job in jobs:
            job.enter("FAILED")
