# SPDX-License-Identifier: Apache-2.0
"""Watches kinds in all clusters, and keeps each object as it was at each change, by namespace."""
import collections
import json
import os
import threading
import time

import kube


class Recorder:
    def __init__(self, clusters):
        self.clusters, self.lock, self.ended = clusters, threading.Lock(), False
        self.events, self.streams, self.watched = collections.defaultdict(list), {}, set()

    def watch(self, plurals):
        """Begins to watch these too; returns once each watch is open."""
        for cluster in self.clusters:
            for plural in plurals:
                if (cluster.name, plural) not in self.watched:
                    self.watched.add((cluster.name, plural))
                    opened = threading.Event()
                    threading.Thread(target=self._run, args=(cluster, plural, opened), daemon=True).start()
                    assert opened.wait(60), f"the watch of {plural} in {cluster.name} does not open"

    def _run(self, cluster, plural, opened):
        versions = {}   # uid -> resourceVersion: after another start what is known already is not new
        while not self.ended:
            try:
                stream = self.streams[cluster.name, plural] = cluster.admin.watch(plural)
                opened.set()
                for line in stream:
                    self._seen(cluster, plural, json.loads(line), versions)
            except (kube.Unreachable, kube.ApiError, OSError):
                time.sleep(0.2)   # the server restarts

    def _seen(self, cluster, plural, event, versions):
        found = event["object"]
        meta = found.get("metadata", {})
        if event["type"] == "ERROR" or versions.get(meta.get("uid")) == meta.get("resourceVersion"):
            return
        versions[meta.get("uid")] = meta.get("resourceVersion")
        with self.lock:
            self.events[meta.get("namespace")].append({
                "ts": time.time(), "cluster": cluster.name, "kind": plural, "type": event["type"], "object": found})

    def of(self, namespace, cluster=None, plural=None):
        """The events of a namespace, in the order in which they came."""
        with self.lock:
            return [event for event in self.events.get(namespace, ()) if cluster in (None, event["cluster"])
                    and plural in (None, event["kind"])]

    def save(self, namespace, path, about):
        """For tests/recordings/trim.py: JSON lines, of which the first has the case and the versions."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            for each in [about, *({**event, "kind": event["object"]["kind"]} for event in self.of(namespace))]:
                file.write(json.dumps(each, separators=(",", ":")) + "\n")

    def close(self):
        self.ended = True
        for stream in self.streams.values():
            try:
                stream.close()
            except OSError:
                pass
