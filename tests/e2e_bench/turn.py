# SPDX-License-Identifier: Apache-2.0
"""One turn: a dispatcher is started, users create their Jobs, and all of it is measured until the dispatcher has nothing
more to do. Afterwards nothing of it is left in any cluster."""
import os
import time

import load
from figures import figures, percentile
from observer import Observer
from proc import children
from usage import Connects, Cpu, connections, cpu, memory
from wait import until

_QUIET = 2.0   # seconds without a request of the dispatcher, after which it is over
_TIMEOUT = 1200.0


class Dispatcher:
    """`processes`: the first one is that of the management cluster. `labels` are those of the users' Jobs."""
    labels = {}
    references = (0, 0)   # ConfigMaps of each Job, and of all
    deletes_before_stop = False   # whether its Jobs can only be deleted while it runs
    counts_connects = True        # whether it calls libc's connect()


class Wharf(Dispatcher):
    """`wharf run` with a configuration as in README.md."""
    users, managed_by = load.WHARF_USERS, "wharf.dev/host"

    def __init__(self, name, host, enabled=None):
        self.name, self.host, self.processes, self.stop = name, host, [host.process], host.stop
        self.enabled = enabled

    def start(self, _namespace):
        self.host.use(self.enabled)


class Script(Dispatcher):
    name, users, managed_by = "script", load.NAIVE_USERS, load.NAIVE_MANAGED_BY

    def __init__(self, loads):
        self.loads, self.processes, self.stop = loads, [loads.naive], loads.naive.terminate

    def start(self, _namespace):
        self.loads.start_naive()


class Turn:
    """`bench` has clusters, audits, loads, groups (processes that are not the dispatcher's), in_flight and connects."""

    def __init__(self, bench, dispatcher, number, count):
        self.bench, self.dispatcher, self.count = bench, dispatcher, count
        self.clusters, self.management = bench.clusters, bench.clusters.management.name
        self.namespace = f"{dispatcher.name}-{number}"

    def run(self):
        """{what: figure}"""
        for cluster in self.clusters.all:
            cluster.admin.create("namespaces", None, {"metadata": {"name": self.namespace}})
        connects = Connects(self.bench.connects, self.bench.folder)
        counted = self.clusters.all if self.dispatcher.counts_connects else []
        if counted:
            self.dispatcher.processes[0].more_env = connects.env()
        self.dispatcher.start(self.namespace)
        try:
            self._until_quiet()
            found = self._measure()
            found["connects"] = {cluster.name: connects.to(cluster.port) for cluster in counted}
            if self.dispatcher.deletes_before_stop:
                self._delete_all()
        finally:
            self.dispatcher.stop()
        if not self.dispatcher.deletes_before_stop:
            self._delete_all()
        return found

    def _pids(self):
        """Those of the dispatcher's processes, then those that they started (isolated adapters)."""
        pids = [process.child.pid for process in self.dispatcher.processes]
        return pids + [child for pid in pids for child in children(pid)]

    def _measure(self):
        observer = Observer(self.clusters, self.namespace)
        pids = self._pids()
        resting = sum(map(memory, pids))
        marks = {name: audit.mark() for name, audit in self.bench.audits.items()}
        spent = Cpu({"dispatcher": pids, "dispatcher, in management": pids[:1], **self.bench.groups})
        users = self.bench.loads.users(self.namespace, self.dispatcher.managed_by, self.count,
                                       clients=self.bench.in_flight, labels=self.dispatcher.labels,
                                       references=self.dispatcher.references)
        users.start()
        created = load.Load.created(users, _TIMEOUT)
        until(lambda: self._all_complete(observer), f"all Jobs of {self.namespace} to be complete", _TIMEOUT, every=0.25)
        self._until_quiet()
        cpus = {**spent.spent(), "users": created["cpu"]}
        peaks = [memory(pid, "VmHWM") for pid in pids]
        sizes = {"dispatcher, peak": sum(peaks), "dispatcher, peak, in management": peaks[0],
                 "dispatcher, before the first Job": resting,
                 **{name: sum(map(memory, pids)) for name, pids in self.bench.groups.items()}}
        kept = {cluster.name: sum(connections(pid, cluster.port) for pid in pids) for cluster in self.clusters.all}
        found = figures(observer.stop(), self.management)
        return {**self._described(found, created, cpus, sizes, load.requests(
            self.bench.audits, self.dispatcher.users, marks)), "kept": kept}

    def _all_complete(self, observer):
        for process in self.dispatcher.processes:
            process.check()
        observer.check()
        done = observer.completed(self.management)
        assert done >= self.count, f"{done} of {self.count} are"
        return True

    def _until_quiet(self):
        """Only the dispatchers' requests are in the audit logs."""
        last, since = None, time.monotonic()

        def probe():
            nonlocal last, since
            now = [os.path.getsize(cluster.audit_log) for cluster in self.clusters.all
                   if os.path.exists(cluster.audit_log)], round(sum(map(cpu, self._pids())), 1)
            if now != last:
                last, since = now, time.monotonic()
            return time.monotonic() - since > _QUIET
        until(probe, f"{self.dispatcher.name} to be quiet", 120, every=0.1)

    def _described(self, found, created, cpus, sizes, requests):
        count, began = self.count, created["began"]
        assert found["jobs"] == found["mirrors"] == count and not found["doubled"], \
            f"{found['jobs']} Jobs, {found['mirrors']} mirrors, {found['doubled']} of them in two workers"
        writes = {what: number for what, number in requests.items() if what[0] == self.management and what[1] != "get"}
        in_workers = sum(number for what, number in requests.items() if what[0] != self.management and what[1] != "get")
        events = sum(number for what, number in writes.items() if what[2] == "events")
        times = {key: [percentile(values, percent) for percent in (50, 99)] for key, values in (
            ("create", created["took"]), ("status", found["status"]), ("last", found["status_last"]),
            ("placed", found["placed"]), ("life", found["lives"]))}
        return {
            "created": created["ended"] - began, "creates": count / (created["ended"] - began),
            "mirrors": count / (found["last_mirror"] - began), "completions": count / (found["last_complete"] - began),
            **{f"{key}{percent}": value for key, both in times.items() for percent, value in zip((50, 99), both)},
            "changes": found["changes"] / count, "arrived": found["arrived"] / count,
            "missing": found["missing"], "strange": found["strange"],
            "writes": sum(writes.values()) / count, "writes_bare": (sum(writes.values()) - events) / count,
            "writes_workers": in_workers / count,
            "requests": {" ".join(what): number / count for what, number in requests.items()},
            "cpu": {name: seconds * 1000 / count for name, seconds in cpus.items()}, "memory": sizes}

    def _delete_all(self):
        """Jobs and pods, and then their namespace; what was deleted is really gone when this returns."""
        for cluster in self.clusters.all:
            for plural in ("jobs", "pods"):
                cluster.admin.delete_all(plural, self.namespace)
            cluster.admin.delete("namespaces", None, self.namespace)
        for cluster in self.clusters.all:
            until(lambda client=cluster.admin: client.find("namespaces", None, self.namespace) is None,
                  f"{self.namespace} to be gone from {cluster.name}", 300, every=0.25)
            left = [found["metadata"]["name"] for plural in ("jobs", "pods") for found in cluster.admin.list(plural)]
            assert not left, f"{cluster.name} still has {left[:3]}"
