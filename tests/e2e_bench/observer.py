# SPDX-License-Identifier: Apache-2.0
"""Sees all Jobs of one namespace in all clusters, each event with the time at which it was received. Events are kept as
they came, and only read when the turn is over (figures.py): an observer that is busy would be measured too."""
import re
import threading
import time

_NAME = re.compile(rb'"name":"([^"]+)"')


class _Watch(threading.Thread):
    def __init__(self, cluster, namespace):
        super().__init__(name="observer-" + cluster.name, daemon=True)
        self.stream = cluster.admin.watch("jobs", namespace)
        self.seen, self.completed = [], set()   # (seconds of CLOCK_MONOTONIC, line); names
        self.start()

    def run(self):
        for line in self.stream:
            self.seen.append((time.monotonic(), line))
            if b'"completionTime":"' in line:
                self.completed.add(_NAME.search(line).group(1))


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
            watch.stream.close()
            watch.join(10)
        return {name: watch.seen for name, watch in self.watches.items()}
