# SPDX-License-Identifier: Apache-2.0
"""Sees all Jobs of one namespace in all clusters, each event with the time at which it was received. Events are kept as
they came, and only read when the turn is over (figures.py): an observer that is busy would be measured too. A busy API server
ends watches that are read too slowly: such a one goes on after the last event that was received."""
import re
import threading
import time

_NAME = re.compile(rb'"name":"([^"]+)"')
_VERSION = re.compile(rb'"resourceVersion":"(\d+)"')


class _Watch(threading.Thread):
    def __init__(self, cluster, namespace):
        super().__init__(name="observer-" + cluster.name, daemon=True)
        self.client, self.namespace, self.stopped = cluster.admin, namespace, False
        self.stream = self.client.watch("jobs", namespace)
        self.seen, self.completed = [], set()   # (seconds of CLOCK_MONOTONIC, line); names
        self.start()

    def run(self):
        while not self.stopped:
            for line in self.stream:
                self.seen.append((time.monotonic(), line))
                if b'"completionTime":"' in line:
                    self.completed.add(_NAME.search(line).group(1))
            if not self.stopped:
                since = {"resourceVersion": _VERSION.search(self.seen[-1][1]).group(1).decode()} if self.seen else None
                self.stream = self.client.watch("jobs", self.namespace, query=since)

    def stop(self):
        self.stopped = True
        self.stream.close()
        self.join(10)


class Observer:
    def __init__(self, clusters, namespace):
        self.watches = {cluster.name: _Watch(cluster, namespace) for cluster in clusters.all}

    def completed(self, cluster):
        """How many Jobs are complete there."""
        return len(self.watches[cluster].completed)

    def check(self):
        for watch in self.watches.values():
            assert watch.is_alive(), f"{watch.name}: the server has ended the watch"

    def stop(self):
        """{cluster: [(seconds, line)]}"""
        for watch in self.watches.values():
            watch.stop()
        return {name: watch.seen for name, watch in self.watches.items()}
