# SPDX-License-Identifier: Apache-2.0
"""A steady load: workloads of the ten kinds are created, run in the worker, finish and are deleted. For each, two
latencies are measured as the users of the clusters see them: from the creation to the mirror, and from the last status
in the worker to the same in the management cluster."""
import itertools
import json
import queue
import threading
import time

RATE = 40       # workloads a second, of all kinds
STEP = "100ms"
TICK = 0.005    # of the thread that measures how late a thread of this program runs
STALL = 0.01    # what is a stall of this program or of the machine


class Life:
    def __init__(self, created):
        self.created, self.copied, self.in_worker, self.mirrors = created, None, None, 0


class Load:
    def __init__(self, stage, kinds):
        self.stage, self.kinds, self.ending = stage, kinds, False
        self.lives = {}     # name: Life
        self.samples = []   # (when it began, seconds)
        self.stalls = []    # (begin, end) of times in which this program did not run
        self.problems = []
        self.ended = 0
        self.left = queue.SimpleQueue()
        self.last = {}      # (cluster, name): the last status

    def start(self):
        for kind in self.kinds:
            for cluster, look in (("mgmt", self._in_management), ("w1", self._in_worker)):
                self._thread(self._watch, kind, cluster, look)
        self._thread(self._tick)
        self._thread(self._create)
        self._thread(self._delete)

    def _thread(self, target, *arguments):
        def run():
            try:
                target(*arguments)
            except Exception as error:  # pylint: disable=broad-exception-caught
                if not self.ending:
                    self.problems.append(f"the load: {type(error).__name__}: {error}")
        threading.Thread(target=run, daemon=True).start()

    def _watch(self, kind, cluster, look):
        for what, found in self.stage.client(cluster).watch(kind.path):
            now = time.monotonic()
            name = found["metadata"]["name"]
            life = self.lives.get(name)
            if life:
                text = json.dumps(found.get("status"), sort_keys=True)
                changed = self.last.get((cluster, name)) != text
                self.last[cluster, name] = text
                look(kind, name, life, what, now, changed and found.get("status"))

    def _in_management(self, _kind, name, life, what, now, changed):
        if changed:
            life.copied = now
        if what != "DELETED":
            return
        self.lives.pop(name, None)
        for cluster in ("mgmt", "w1"):
            self.last.pop((cluster, name), None)
        self.ended += 1
        if life.copied and life.in_worker:
            self.samples.append((life.in_worker, max(0.0, life.copied - life.in_worker)))

    def _in_worker(self, kind, name, life, what, now, changed):
        if what == "ADDED":
            life.mirrors += 1
            self.samples.append((life.created, now - life.created))
            if life.mirrors > 1:
                self.problems.append(f"{kind.plural} {name}: a second mirror")
        elif what == "DELETED":
            life.in_worker = life.in_worker or now
            self.left.put((kind, name))
        elif changed:
            life.in_worker = now

    def _create(self):
        client = self.stage.client("mgmt")
        began = time.monotonic()
        for number in itertools.count():
            time.sleep(max(0.0, began + number / RATE - time.monotonic()))
            if self.ending:
                return
            kind = self.kinds[number % len(self.kinds)]
            name = f"{kind.plural}-{number}"
            body = kind.object(name, **{"world.test/step": STEP, "world.test/duration": "20ms"})
            self.lives[name] = Life(time.monotonic())
            client.make(kind.path, body)

    def _delete(self):
        client = self.stage.client("mgmt")
        while not self.ending:
            kind, name = self.left.get()
            client.ask("DELETE", f"{kind.path}/{name}")

    def _tick(self):
        before = time.monotonic()
        while not self.ending:
            time.sleep(TICK)
            now = time.monotonic()
            if now - before > TICK + STALL:
                self.stalls.append((before, now))
            before = now

    def latencies(self, windows):
        """Of what began in these times, and fell into no stall: those are of the machine, and say nothing of the host."""
        stalls = list(self.stalls)
        return [seconds for at, seconds in list(self.samples) if any(a <= at < b for a, b in windows)
                and not any(a < at + seconds and at < b for a, b in stalls)]

    def stop(self):
        self.ending = True
