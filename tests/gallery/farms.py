# SPDX-License-Identifier: Apache-2.0
"""Farms: objects of the bad adapters' kinds, and what becomes of their mirrors."""
import threading

from members import ALL
from stage import until

HARM = "example.com/harm"
ENDLESS = {"world.test/story": "endless", "world.test/step": "20ms"}
QUICK = {"world.test/step": "20ms"}


class Farm:
    """The objects of one kind."""

    def __init__(self, stage, name):
        self.stage, self.name, self.member, self.kind = stage, name, ALL[name], stage.farms[name]
        self.mirrors = []    # (event, name) of the worker's, without changes
        self.pokes = 0
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        try:
            for what, found in self.stage.client("w1").watch(self.kind.path):
                if what != "MODIFIED":
                    self.mirrors.append((what, found["metadata"]["name"]))
        except (OSError, ValueError):
            pass    # the sandbox has ended

    def full(self, name):
        return f"{self.name}-{name}"

    def make(self, client, name, **annotations):
        client.make(self.kind.path, self.kind.object(self.full(name), **annotations))

    def make_bad(self, client, name):
        self.make(client, name, **{HARM: self.member.where}, **ENDLESS)

    def harm_by_mirror(self, worker, name):
        """As an administrator of the worker can."""
        worker.annotate(self.kind.path, self.full(name), {HARM: self.member.where})

    def status(self, client, name):
        answer = client.ask("GET", f"{self.kind.path}/{self.full(name)}")[1]
        return answer.get("status", {}) if isinstance(answer, dict) else {}

    def has_mirror(self, name):
        return any(what == "ADDED" and found == self.full(name) for what, found in list(self.mirrors))

    def poke(self, client, name):
        """One more change of the object, so that the adapter is called."""
        self.pokes += 1
        client.annotate(self.kind.path, self.full(name), {"example.com/poke": str(self.pokes)})

    def await_failure(self, client, name):
        """The note of the Event AdapterFailed."""
        def look():
            notes = self.stage.notes.get(self.full(name))
            if not notes and self.member.calls:
                self.poke(client, name)
            return notes
        return until(f"{self.full(name)} has an Event AdapterFailed", look)[-1]

    @property
    def has_paused(self):
        """A pause lasts a minute, and may be over on a slow machine."""
        return self.stage.logged(rf"the kinds of adapter {self.name} are paused")

    def wrong_mirrors(self):
        """Mirrors that were created twice, and those of unfinished objects that were deleted."""
        made = [name for what, name in self.mirrors if what == "ADDED"]
        gone = [name for what, name in self.mirrors if what == "DELETED"]
        return [f"the mirror of {name} was created {made.count(name)} times" for name in sorted(set(made))
                if made.count(name) > 1] + \
               [f"the mirror of {name} was deleted" for name in gone if not name.startswith(self.full("good"))]
