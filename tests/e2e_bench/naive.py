#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""naive.py CONNECTIONS MANAGEMENT WORKER...: the dispatcher that wharf is compared with, as somebody writes it in an
afternoon. Jobs are created in the worker that has fewer, and every change of a mirror's status is patched into its Job, in
order. CONNECTIONS threads create and as many patch, on kept connections; a thread for each watch only reads. Nothing is
retried, repaired, remembered over a restart or deleted; a watch that the server ends is opened again. The other arguments
are kubeconfigs; `ready` is printed once it watches."""
import json
import os
import queue
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import kube  # noqa: E402
from jobs import finished  # noqa: E402

MANAGED_BY = "naive.example/dispatcher"
LABEL = "naive.example/uid"
# The API server adds these for the Job's selector, which each cluster makes for itself.
_OWN_LABELS = ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name")


def mirror_of(job):
    meta, spec = job["metadata"], dict(job["spec"])
    spec.pop("managedBy")
    spec.pop("selector", None)
    template = dict(spec["template"])
    template["metadata"] = dict(template["metadata"])
    template["metadata"]["labels"] = {key: value for key, value in template["metadata"].get("labels", {}).items()
                                      if key not in _OWN_LABELS}
    spec["template"] = template
    return {"apiVersion": "batch/v1", "kind": "Job", "spec": spec, "metadata": {
        "name": meta["name"], "namespace": meta["namespace"], "annotations": meta.get("annotations", {}),
        "labels": {**meta.get("labels", {}), LABEL: meta["uid"]}}}


class Dispatcher:
    def __init__(self, connections, management, workers):
        self.management, self.workers = management, workers
        self.load = {worker: 0 for worker in workers}   # unfinished mirrors
        self.new = queue.SimpleQueue()
        self.changes = [queue.SimpleQueue() for _ in range(connections)]   # a Job's are all in one
        self.known = set()   # uids of Jobs
        self.told = {}   # (namespace, name) -> the last status read of its mirror

    def read_management(self, stream):
        for line in stream:
            event = json.loads(line)
            job = event["object"]
            uid = job["metadata"].get("uid")
            if event["type"] == "ADDED" and job["spec"].get("managedBy") == MANAGED_BY and not finished(job) \
                    and uid not in self.known:
                self.known.add(uid)
                self.new.put(job)

    def read_worker(self, worker, stream):
        for line in stream:
            event = json.loads(line)
            mirror = event["object"]
            key = mirror["metadata"]["namespace"], mirror["metadata"]["name"]
            status = mirror.get("status", {})
            status.pop("uncountedTerminatedPods", None)   # uids of the worker's pods: of no meaning elsewhere
            before = self.told.get(key, {})
            if event["type"] == "DELETED" or status == before:
                continue
            self.told[key] = status
            if finished(mirror):
                self.load[worker] -= 1
            # A merge patch: what is no longer there has to be null.
            self.changes[hash(key) % len(self.changes)].put((key, {**dict.fromkeys(before), **status}))

    def create(self):
        while True:
            job = self.new.get()
            worker = min(self.workers, key=self.load.get)
            self.load[worker] += 1
            _try(worker.create, "jobs", job["metadata"]["namespace"], mirror_of(job))

    def patch(self, changes):
        while True:
            (namespace, name), status = changes.get()
            _try(self.management.patch_status, "jobs", namespace, name, {"status": status})

    def run(self):
        threads = [_watcher(self.read_management, lambda: self.management.watch("jobs"))]
        for changes in self.changes:
            threads += [threading.Thread(target=self.create), threading.Thread(target=self.patch, args=(changes,))]
        threads += [_watcher(lambda stream, worker=worker: self.read_worker(worker, stream),
                             lambda worker=worker: worker.watch("jobs", query={"labelSelector": LABEL}))
                    for worker in self.workers]
        for thread in threads:
            thread.start()
        print("ready", flush=True)


def _watcher(read, watch):
    """Opens the watch at once; the thread reads it, and opens it again when it ends."""
    first = watch()

    def run():
        read(first)
        while True:
            read(watch())
    return threading.Thread(target=run)


def _try(request, *args):
    try:
        request(*args)
    except (kube.ApiError, kube.Unreachable) as error:
        print(error, flush=True)


if __name__ == "__main__":
    Dispatcher(int(sys.argv[1]), kube.Client.of(sys.argv[2]), [kube.Client.of(path) for path in sys.argv[3:]]).run()
