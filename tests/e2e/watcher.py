# SPDX-License-Identifier: Apache-2.0
"""An observer of one Job in all clusters, independent of the host: what ran, what was counted, whether the status fell."""
import contextlib
import http.client
import json
import threading

import kube
from jobs import counts

INDEX = "batch.kubernetes.io/job-completion-index"


def indexes(text):
    """{0, 1, 2, 5} of "0-2,5"."""
    found = set()
    for part in filter(None, (text or "").split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


class Watcher:
    """Independent of the host: what each mirror of one Job has counted, and which indexes got pods for it, in all workers. A mirror of
    a later attempt is made after the last news of the former one."""

    def __init__(self, env, name):
        self.env, self.name = env, name
        self.lock, self.ended, self.streams, self.threads = threading.Lock(), threading.Event(), [], []
        self.counted, self.ran, self.attempts = {}, {}, {}   # by the uid of the mirror
        self.told, self.fell = {}, []   # attempt -> what the status had when it began

    def __enter__(self):
        for client in (self.env.management, *(worker.admin for worker in self.env.workers)):
            for plural, take in (("jobs", self._job), ("pods", self._pod)):
                thread = threading.Thread(target=self._follow, args=(client, plural, take), daemon=True)
                self.threads.append(thread)
                thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for stream in self.streams:
            with contextlib.suppress(OSError):
                stream.close()
        for thread in self.threads:
            thread.join(10)

    def _follow(self, client, plural, take):
        last = {}
        while not self.ended.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException, kube.ApiError, ValueError):
                stream = client.watch(plural, self.env.namespace)
                self.streams.append(stream)
                for line in stream:
                    found = json.loads(line)["object"]
                    with self.lock:
                        take(client, found, last)
            self.ended.wait(0.2)

    def _job(self, client, found, last):
        if found["metadata"].get("name") != self.name:
            return
        uid, done = found["metadata"]["uid"], indexes(found.get("status", {}).get("completedIndexes"))
        if client is self.env.management:
            before = last.get(uid, (set(), 0, 0))
            now = (done, *counts(found)[2:])
            if not before[0] <= now[0] or before[1] > now[1] or before[2] > now[2]:
                self.fell.append((before, now))
            last[uid] = now
            self.told.setdefault(int(found["metadata"].get("annotations", {}).get("wharf.dev/attempt", 1)), done)
            return
        self.attempts[uid] = int(found["metadata"]["annotations"]["wharf.dev/attempt"])
        self.counted.setdefault(uid, set()).update(done)

    def _pod(self, client, found, _last):
        owner = (found["metadata"].get("ownerReferences") or [{}])[0]
        if client is not self.env.management and owner.get("name") == self.name:
            index = found["metadata"]["annotations"].get(INDEX)
            self.ran.setdefault(owner["uid"], {})[found["metadata"]["uid"]] = int(index) if index else None

    def again(self, but=()):
        """{attempt: the indexes that ran in it although an earlier one, except those of `but`, had counted them}"""
        with self.lock:
            order, seen, found = sorted(self.attempts, key=self.attempts.get), set(), {}
            for uid in order:
                found[self.attempts[uid]] = seen & set(self.ran.get(uid, {}).values())
                seen |= self.counted[uid] if self.attempts[uid] not in but else set()
            return {attempt: indexes for attempt, indexes in found.items() if indexes}

    def counted_in(self, attempt):
        """What the mirrors of this attempt have counted so far."""
        with self.lock:
            return set().union(*(self.counted[uid] for uid, each in self.attempts.items() if each == attempt))

    def told_again(self):
        """{attempt: the indexes that ran in it although the workload's status had them when it began}"""
        with self.lock:
            found = {attempt: self.told.get(attempt, set()) & set(self.ran.get(uid, {}).values()) for uid, attempt in self.attempts.items()}
            return {attempt: indexes for attempt, indexes in found.items() if indexes}

    def ran_in(self, *attempts):
        """The indexes of all pods that these attempts had, sorted; without attempts: of all."""
        with self.lock:
            return sorted(index for uid, pods in self.ran.items() for index in pods.values()
                          if not attempts or self.attempts.get(uid) in attempts)

    def check(self, but=()):
        assert not self.again(but), f"counted indexes ran again: {self.again(but)}"
        assert not self.told_again(), f"indexes that the status had ran again: {self.told_again()}"
        assert not self.fell, f"the status fell: {self.fell}"
