#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An Indexed Job of N indexes that is moved twenty times over three workers, on real servers: drained workers, killed ones, and
ones that are cut off while a guard runs there. An observer of its own says what ran, and the audit logs what the host wrote. With
--kills the host is killed every few seconds, except while it waits for workerLostTimeout. Prints a line of figures; it fails if an
index ran again that the Job's status had, or if the status fell."""
import argparse
import collections
import contextlib
import os
import random
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "e2e")]

import load  # noqa: E402
import manifests  # noqa: E402
import servers  # noqa: E402
import session  # noqa: E402
from assets import Assets  # noqa: E402
from audit import HOST_USERS, Audit, code  # noqa: E402
from host import Host  # noqa: E402
from jobs import counts, finished, indexed, job  # noqa: E402
from relay import Relay  # noqa: E402
from test_fence import FENCING, REPORTING, _allow, _allow_reports, _guard  # noqa: E402
from wait import until  # noqa: E402
from watcher import Watcher  # noqa: E402

_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [{"level": "None", "verbs": ["get", "list", "watch"]}, {"level": "Metadata", "users": list(HOST_USERS)}, {"level": "None"}]}
_MOVES = ("drained", "killed", "drained", "cut off", "drained") * 4
_SINGLE = 20     # Jobs with one attempt, before
_TIMEOUT = 3600
_KILL_EVERY = 3.0, 8.0   # seconds


class Field:
    """The servers, the nodes' players, the guards and the host. Like Env of the tests where their pieces need that."""

    def __init__(self, clusters, folder, build, kills):
        self.clusters, self.folder, self.namespace = clusters, folder, "progress"
        self.management, self.workers = clusters.management.admin, clusters.workers
        self.audits = {cluster.name: Audit(cluster) for cluster in clusters.all}
        for cluster in clusters.all:
            manifests.apply(cluster.admin, "namespace.yaml")
            cluster.admin.create("namespaces", None, {"metadata": {"name": self.namespace}})
        manifests.apply(self.management, "rbac-management.yaml")
        for worker in self.workers:
            manifests.apply(worker.admin, "rbac-worker.yaml")
        self.players = [load.program("player", worker.admin_config, folder=worker.folder) for worker in self.workers]
        for player in self.players:
            player.start()
            load.until_prints(player, "ready")
        self.relays = {worker.name: Relay(worker.port) for worker in self.workers}
        configs = {cluster.name: cluster.kubeconfig("wharf", cluster.host_certificate, port=(
            self.relays[cluster.name].port if cluster.name in self.relays else None)) for cluster in clusters.all}
        self.host = Host(os.path.join(build, "wharf"), os.path.join(build, "adapters"), folder, configs)
        self.kills, self.killed, self.due = kills, 0, time.monotonic()

    def close(self):
        for process in (*self.players, self.host.process):
            process.kill()

    def guarded(self):
        seen = self.host.metrics()
        return all(seen.get(("wharf_worker_guards", (("cluster", worker.name),))) == 1 for worker in self.workers)

    def job(self, name):
        return self.management.get("jobs", self.namespace, name)

    def wait(self, probe, what, kills=True):
        """As until(), while the host is killed now and then."""
        def killing():
            if self.kills and kills and time.monotonic() > self.due:
                self.host.kill()
                self.host.start()
                self.killed, self.due = self.killed + 1, time.monotonic() + random.uniform(*_KILL_EVERY)
            return probe()
        return until(killing, what, _TIMEOUT, every=0.2)

    def writes(self, marks=None):
        """Counter of what the host has written in the namespace: "workers create jobs", "workers patch jobs (409)"."""
        found = collections.Counter()
        for name, audit in self.audits.items():
            for entry in audit.writes(self.namespace, (marks or {}).get(name, 0)):
                what = entry["objectRef"]
                place = "/".join(filter(None, (what["resource"], what.get("subresource"))))
                failed = f" ({code(entry)})" if code(entry) >= 400 else ""
                found[f"{'management' if name == 'management' else 'workers'} {entry['verb']} {place}{failed}"] += 1
        return found


class Moves:
    """The moves of one Job. `lost`: {attempt whose worker was not drained: (how, what its mirror had counted before)}."""

    def __init__(self, field, watcher):
        self.field, self.watcher, self.name = field, watcher, watcher.name
        self.done, self.lost = collections.Counter(), {}

    def _annotation(self, key):
        return self.field.job(self.name)["metadata"].get("annotations", {}).get("wharf.dev/" + key)

    def _until_elsewhere(self, attempt, kills=True):
        self.field.wait(lambda: int(self._annotation("attempt")) > attempt or finished(self.field.job(self.name)),
                        f"attempt {attempt + 1}", kills)

    def go(self, how, succeeded):
        """Once so many have succeeded; False: it has finished before."""
        field = self.field
        field.wait(lambda: counts(field.job(self.name))[2] >= succeeded, f"{succeeded} successes")
        if finished(field.job(self.name)):
            return False
        attempt, worker = int(self._annotation("attempt")), self._annotation("cluster")
        cluster = next(each for each in field.workers if each.name == worker)
        if how == "drained":
            self._command("drain", worker, "--policy", "move", "--no-wait")
            self._until_elsewhere(attempt)
            self._command("uncordon", worker)
        else:
            until(field.guarded, "the host to see the guards")   # one that has not seen any waits for the worker
            self.lost[attempt] = how, self.watcher.counted_in(attempt)
            (cluster.lose if how == "killed" else field.relays[worker].cut)()
            self._until_elsewhere(attempt, kills=False)
            (cluster.bring_back if how == "killed" else field.relays[worker].mend)()
            field.wait(lambda: not cluster.admin.find("jobs", field.namespace, self.name), f"the stale mirror in {worker} to be gone")
        until(lambda: field.host.takes_work(worker) and field.guarded(), f"{worker} to get work again")
        self.done[how] += 1
        print(f"{time.strftime('%X')} {how} {worker} after {counts(field.job(self.name))[2]} successes, attempt {attempt + 1}", flush=True)
        return True

    def again(self):
        """Counter of what ran again after a loss, by how and when the lost worker's Job counted it."""
        found = collections.Counter()
        for attempt, (how, before) in self.lost.items():
            later = {index for each in self.watcher.attempts.values() if each > attempt for index in self.watcher.ran_in(each)}
            found[how + " worker, before"] += len(later & before)
            found[how + " worker, after"] += len(later & self.watcher.counted_in(attempt) - before)
        return found

    def _command(self, *args):
        code, out, err = self.field.host.command(*args)
        assert code == 0, out + err


def single(field):
    """The writes of a Job with one attempt, on the average."""
    marks = {name: audit.mark() for name, audit in field.audits.items()}
    names = [f"single-{number}" for number in range(_SINGLE)]
    for name in names:
        field.management.create("jobs", field.namespace, job(name, run="0.2s"))
    for name in names:
        until(lambda name=name: finished(field.job(name)), f"{name} to finish")
    until(lambda: field.writes(marks)["workers delete jobs"] == _SINGLE, "their mirrors to be deleted")
    return {what: number / _SINGLE for what, number in sorted(field.writes(marks).items())}


def told(writes, by=1):
    return ", ".join(f"{what} {round(number / by, 2):g}" for what, number in sorted(writes.items()))


def run(field, number, reports):
    with contextlib.ExitStack() as stack:
        _allow(field)
        for worker in field.workers:
            stack.enter_context(_guard(field, worker, *(_allow_reports(field, worker) if reports else ())))
        field.host.use(**(REPORTING if reports else FENCING))
        field.host.until_takes_work(worker.name for worker in field.workers)
        until(field.guarded, "the host to see the guards")
        once = single(field)
        print(f"writes of a life with one attempt: {told(once)}", flush=True)
        return moved(field, number, once)


def moved(field, number, once):
    marks = {name: audit.mark() for name, audit in field.audits.items()}
    with Watcher(field, "moved") as watcher:
        moves, began = Moves(field, watcher), time.monotonic()
        field.management.create("jobs", field.namespace, indexed(
            "moved", number, parallelism=max(10, number // 100), run="0.2s", backoffLimit=1000))
        for place, how in enumerate(_MOVES, 1):
            if not moves.go(how, place * number // (len(_MOVES) + 1)):
                break
        field.wait(lambda: finished(field.job("moved")), "the Job to finish")
        took, done = time.monotonic() - began, field.job("moved")
        until(lambda: len(set(watcher.ran_in())) == number, "the observer to have seen all pods")
    made = collections.Counter(watcher.ran_in())
    attempts = int(done["metadata"]["annotations"]["wharf.dev/attempt"])
    after_drains = watcher.again(moves.lost)
    writes = field.writes(marks)
    print(f"""
{number} indexes, {len(field.workers)} workers, {took:.0f} s: {done['status']['conditions'][-1]['type']}, {done['status']['completedIndexes']}
moves: {', '.join(f'{each} {how}' for how, each in moves.done.items())}; kills of the host: {field.killed}
attempts {attempts}, pods {sum(made.values())}, indexes with more than one pod {sum(each > 1 for each in made.values())}
indexes that ran again although the status had them: {sum(map(len, watcher.told_again().values()))}
... although a drained worker's Job had counted them: {sum(map(len, after_drains.values()))}
... although a lost worker's Job had counted them, unseen by the host, before or after the loss: {told(moves.again())}
times that the status fell: {len(watcher.fell)}
writes for each further attempt: {told({what: each - once.get(what, 0) for what, each in writes.items() if what != 'management patch jobs/status'}, attempts - 1)}
patches of the Job's status: {writes['management patch jobs/status']}""", flush=True)
    assert not watcher.fell and not watcher.told_again() and not after_drains, (watcher.fell[:2], watcher.told_again(), after_drains)
    assert counts(done)[2] == number and done["status"]["completedIndexes"] == f"0-{number - 1}", done["status"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=1000, help="indexes")
    parser.add_argument("--kills", action="store_true", help="the host is killed every few seconds")
    parser.add_argument("--reports", action="store_true", help="the guards report what they see to the management cluster")
    parser.add_argument("--build", default="build", help="the folder with wharf and adapters/")
    parser.add_argument("--keep", action="store_true", help="keep logs and data")
    options, assets = parser.parse_args(), Assets()
    if assets.missing():
        print(f"e2e-progress skipped: {assets.missing()}")
        return 0
    with session.folder_of("e2e-progress", lambda: options.keep) as folder, \
            servers.Clusters(assets, folder, ("w1", "w2", "w3"), audit_policy=_AUDIT_POLICY) as clusters, \
            contextlib.closing(Field(clusters, folder, options.build, options.kills)) as field:
        run(field, options.n, options.reports)
    return 0


if __name__ == "__main__":
    sys.exit(main())
