# SPDX-License-Identifier: Apache-2.0
"""What an observer saw, as figures: when each Job and its mirror appeared, and how long each status took from the worker to
the management cluster."""
import json

_COUNTS = ("active", "ready", "terminating", "succeeded", "failed")


def percentile(values, percent):
    """By nearest rank; 0 of nothing."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else 0.0


def state(status):
    """What a status says, comparable between clusters: without what only means something in the worker."""
    conditions = tuple((each["type"], each["status"], each.get("reason")) for each in status.get("conditions") or [])
    return (tuple(status.get(field) or 0 for field in _COUNTS), status.get("startTime"), status.get("completionTime"),
            status.get("completedIndexes"), conditions)


_NOTHING = state({})


class History:
    """One Job in one cluster."""

    def __init__(self, appeared):
        self.appeared, self.completed = appeared, None
        self.states = []   # (seconds, state), each other than the one before

    def add(self, when, status):
        new = state(status)
        if new != (self.states[-1][1] if self.states else _NOTHING):
            self.states.append((when, new))
        if self.completed is None and status.get("completionTime"):
            self.completed = when


def histories(seen):
    """{name: History} of the lines of one cluster."""
    found = {}
    for when, line in seen:
        event = json.loads(line)
        if event["type"] in ("ADDED", "MODIFIED"):
            job = event["object"]
            found.setdefault(job["metadata"]["name"], History(when)).add(when, job.get("status", {}))
    return found


class Copies:
    """How the states of mirrors arrived at their Jobs. A state that was superseded before it was copied counts with the
    first later one that was."""

    def __init__(self):
        self.took, self.took_last = [], []   # seconds: of each state; of each last state
        self.arrived = self.missing = self.strange = 0

    def add(self, job, mirror):
        at = 0
        for when, copy in job.states:
            place = next((index for index in range(at, len(mirror.states)) if mirror.states[index][1] == copy), None)
            if place is None:
                self.strange += 1   # no state of the mirror, or one that is older than what was there
                continue
            self.arrived += 1
            took = [max(0.0, when - changed) for changed, _ in mirror.states[at:place + 1]]
            self.took += took
            at = place + 1
            if at == len(mirror.states):
                self.took_last.append(took[-1])
        self.missing += len(mirror.states) - at


def figures(seen, management):
    """{what: number} of one turn. `began` of the users is not known here: `first` and `last_...` are points in time."""
    jobs = histories(seen[management])
    mirrors = {}
    doubled = 0
    for cluster, lines in seen.items():
        if cluster != management:
            there = histories(lines)
            doubled += len(mirrors.keys() & there.keys())
            mirrors.update(there)
    copies = Copies()
    for name in jobs.keys() & mirrors.keys():
        copies.add(jobs[name], mirrors[name])
    placed = [max(0.0, mirrors[name].appeared - jobs[name].appeared) for name in jobs.keys() & mirrors.keys()]
    lives = [job.completed - job.appeared for job in jobs.values() if job.completed]
    return {
        "jobs": len(jobs), "mirrors": len(mirrors), "doubled": doubled, "missing": copies.missing,
        "strange": copies.strange, "arrived": copies.arrived, "changes": len(copies.took),
        "last_mirror": max((mirror.appeared for mirror in mirrors.values()), default=0.0),
        "last_complete": max((job.completed for job in jobs.values() if job.completed), default=0.0),
        "status": copies.took, "status_last": copies.took_last, "placed": placed, "lives": lives}
