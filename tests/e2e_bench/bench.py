#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wharf beside a naive script, on real servers: a management and two worker clusters, N one-pod Jobs at once. The same
servers for both, in turns: script, wharf, wharf, script and so on. With --kueue also Kueue's MultiKueue, and with --before
another build of wharf, between them and in the reverse order each second time. With --references also wharf with Jobs that refer
to ConfigMaps, which wharf copies. With --burst the users do not wait for answers, and the script has more connections. With
--others the servers and the machine are kept busy by others. Prints a table and writes it to <build>/e2e_bench.md."""
import argparse
import json
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "e2e")]

import kueue  # noqa: E402
import load  # noqa: E402
import manifests  # noqa: E402
import references  # noqa: E402
import servers  # noqa: E402
import session  # noqa: E402
import table  # noqa: E402
from assets import Assets  # noqa: E402
from audit import Audit  # noqa: E402
from host import Host  # noqa: E402
from turn import Script, Turn, Wharf  # noqa: E402

# Only what the dispatchers ask; a log of all would cost more than they do.
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [{"level": "Metadata", "users": [*load.WHARF_USERS, *load.NAIVE_USERS, *kueue.MultiKueue.users]},
              {"level": "None"}]}
_WARM_UP = 20   # Jobs, before the first turn
# Creates that the users have in flight, and connections of the script for creates and for patches each.
_STEADY, _BURST = (8, 1), (64, 8)


class Bench:
    """The servers, and all that runs beside the dispatchers."""

    def __init__(self, options, clusters, folder):
        self.clusters, self.folder, self.connects = clusters, folder, options.connects
        self.in_flight, connections = _BURST if options.burst else _STEADY
        self.audits = {cluster.name: Audit(cluster) for cluster in clusters.all}
        for cluster in clusters.all:
            manifests.apply(cluster.admin, "namespace.yaml")
        manifests.apply(clusters.management.admin, "rbac-management.yaml")
        for worker in clusters.workers:
            manifests.apply(worker.admin, "rbac-worker.yaml")
        self.loads = load.Load(clusters, folder, connections)
        self.players = [load.program("player", worker.admin_config, folder=worker.folder) for worker in clusters.workers]
        for player in self.players:
            player.start()
            load.until_prints(player, "ready")
        self.groups = self._groups()
        self.dispatchers = [Script(self.loads), self._wharf("wharf", options.build)]
        if options.kueue:
            self.dispatchers.append(kueue.MultiKueue(clusters, options.kueue))
        if options.before:
            self.dispatchers.append(self._wharf("before", options.before))
        if options.isolated:
            self.dispatchers.append(self._wharf("isolated", options.build, {"job": {"isolation": "all"}}))
        for number in options.references:
            name, host = self._host(f"references-{number}", options.build)
            self.dispatchers.append(references.WithReferences(name, host, clusters, number, options.configmaps))
        if options.others:
            self.loads.start_others()

    def _host(self, name, build):
        folder = os.path.join(self.folder, name)
        os.mkdir(folder)
        configs = {cluster.name: cluster.kubeconfig("wharf", cluster.host_certificate) for cluster in self.clusters.all}
        return name, Host(os.path.join(build, "wharf"), os.path.join(build, "adapters"), folder, configs, defaults={})

    def _wharf(self, name, build, enabled=None):
        return Wharf(*self._host(name, build), enabled)

    def _groups(self):
        """{name: pids} of what runs beside a dispatcher; users end with their turn, and tell their own time."""
        management, workers = self.clusters.management, self.clusters.workers

        def pids(kind, clusters):
            return [getattr(cluster, kind).child.pid for cluster in clusters]
        return {
            "management's API server": pids("api", [management]), "workers' API servers": pids("api", workers),
            "etcd": pids("etcd", self.clusters.all), "controllers": pids("controllers", self.clusters.all),
            "players of nodes": [player.child.pid for player in self.players], "observer": [os.getpid()]}

    def turns(self, count, each):
        """{dispatcher: [figures]}"""
        found = {dispatcher.name: [] for dispatcher in self.dispatchers}
        for dispatcher in (self.dispatchers[0], *self.dispatchers[2:]):
            self._turn(dispatcher, 0, _WARM_UP)
        for number in range(1, each + 1):
            for dispatcher in self.dispatchers if number % 2 else reversed(self.dispatchers):
                found[dispatcher.name].append(self._turn(dispatcher, number, count))
        return found

    def _turn(self, dispatcher, number, count):
        figures = Turn(self, dispatcher, number, count).run()
        print(f"turn {number}, {dispatcher.name}, {count} Jobs: created in {figures['created']:.1f} s, "
              f"{figures['completions']:.1f} complete a second, dispatcher {figures['cpu']['dispatcher']:.1f} ms a Job, "
              f"status p50 {figures['status50']:.2f} s, p99 {figures['status99']:.2f} s, "
              f"{figures['missing']} changes never copied, {figures['strange']} copies of none", flush=True)
        return figures

    def close(self):
        for process in (*self.players, self.loads.others):
            process.kill()
        for dispatcher in self.dispatchers:
            for process in dispatcher.processes:
                process.kill()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=500, help="Jobs a turn")
    parser.add_argument("--turns", type=int, default=2, help="turns of each dispatcher")
    parser.add_argument("--build", default="build", help="the folder with wharf and adapters/")
    parser.add_argument("--connects", default="build/tests/connects.so", help="what counts connections")
    parser.add_argument("--raw", help="a file for the figures of all turns, as JSON")
    parser.add_argument("--kueue", action="store_true", help="also MultiKueue; KUEUE_ASSETS says where Kueue is")
    parser.add_argument("--before", help="the folder of another build of wharf, measured too")
    parser.add_argument("--isolated", action="store_true", help="also wharf with its adapter in a process of its own")
    parser.add_argument("--references", type=lambda text: [int(each) for each in text.split(",")], default=[],
                        help="also wharf with Jobs that refer to so many ConfigMaps each, \"1,5\"")
    parser.add_argument("--configmaps", type=int, default=1000, help="ConfigMaps that these Jobs refer to in turn")
    parser.add_argument("--burst", action="store_true", help="users who do not wait, and a script with more connections")
    parser.add_argument("--others", action="store_true", help="others keep the servers and the machine busy")
    parser.add_argument("--keep", action="store_true", help="keep logs and data")
    return parser.parse_args()


def measure(options, assets, folder):
    with servers.Clusters(assets, folder, audit_policy=_AUDIT_POLICY) as clusters:
        bench = Bench(options, clusters, folder)
        try:
            return bench.turns(options.n, options.turns), clusters.management.name
        finally:
            bench.close()


def report(options, turns, management):
    found = table.rows(turns, management, "burst" if options.burst else "steady")
    title = f"{options.n} Jobs, median of {options.turns} turns each, {os.cpu_count()} cores for all" + \
        ", in a burst" * options.burst + ", others busy" * options.others
    print(f"\n{title}\n{table.plain(found)}")
    with open(os.path.join(options.build, "e2e_bench.md"), "w", encoding="utf-8") as file:
        file.write(table.markdown(found, title))
    if options.raw:
        with open(options.raw, "w", encoding="utf-8") as file:
            json.dump(turns, file, indent=1)


def main():
    options = parse_arguments()
    assets = Assets()
    if assets.missing():
        print(f"e2e-bench skipped: {assets.missing()}")
        return 0
    if options.kueue:
        options.kueue, missing = kueue.find()
        if missing:
            print(f"e2e-bench-kueue skipped: {missing}")
            return 0
    with session.folder_of("e2e-bench", lambda: options.keep) as folder:
        turns, management = measure(options, assets, folder)
    report(options, turns, management)
    return 0


if __name__ == "__main__":
    sys.exit(main())
