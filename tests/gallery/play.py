# SPDX-License-Identifier: Apache-2.0
"""One run of the host with some adapters of the gallery in processes of their own, beside ten kinds under load: quiet
times, and times in which the adapters of a group do harm, one after the other."""
import contextlib
import os
import re
import time

from farms import ENDLESS, QUICK, Farm
from load import Load
from members import ALL, CALL
from stage import Stage, percentile, until

GROUP = 10           # adapters that do harm at the same time
QUIET = 1.5          # seconds at least
HARM = 3.0
STEP = "0.08192"     # of a second: the engine must have no longer step
SHARE = 1.05         # of the quiet p99
FLOOR = 0.05         # of a second, below which a difference is that of the machine
BACK = 1.0           # seconds after which an adapter works again
ENDS = 8             # of a process, in the first seconds of a host, at most


def groups(names):
    return [names[first:first + GROUP] for first in range(0, len(names), GROUP)]


class Play:
    def __init__(self, build, names):
        self.names = names
        self.stage = Stage(build, names)
        self.load = Load(self.stage, self.stage.ten)
        self.farms = {name: Farm(self.stage, name) for name in names}
        self.client, self.worker = self.stage.client("mgmt"), self.stage.client("w1")
        self.quiet, self.bad = [], {}   # times, and times by the names of the group
        self.long_steps = {}            # of the engine, by the names of the group
        self.problems = {name: [] for name in names}
        self.common = []                # problems of no single adapter
        self.late = set()
        self.skipped = set()            # what only seccomp forbids, where the kernel or a container has none
        self.back = {}                  # seconds until an object after the bad one has a mirror

    @contextlib.contextmanager
    def blame(self, name):
        """A condition that does not come true is a problem of this adapter."""
        try:
            yield
        except AssertionError as error:
            self.problems[name].append(str(error))

    def run(self):
        configured = time.time()
        self.stage.configure(self.names)
        self.stage.start()
        pid = self.stage.child.pid
        self.stage.watch_readiness()
        self.stage.watch_events()
        self.load.start()
        until("the load runs", lambda: self.load.ended > len(self.stage.ten))
        if self.stage.logged("seccomp: "):
            self.skipped = {name for name in self.names if ALL[name].said == CALL}
        called = [name for name in self.names if ALL[name].where != "load" and name not in self.skipped]
        self._place(called)
        self._rest()
        for group in groups(called):
            last = configured + max(ALL[name].until for name in group)
            until("the processes cannot start again", lambda last=last: time.time() > last)
            began, steps = time.monotonic(), self.stage.steps_over(STEP)
            self._harm(group)
            self._window(began, HARM)
            self.bad[tuple(group)] = [(began, time.monotonic())]
            self.long_steps[tuple(group)] = self.stage.steps_over(STEP) - steps
            self._rest()
        self._check_states()
        self._check_processes()
        if self.stage.child.poll() is not None or self.stage.child.pid != pid:
            self.common.append(f"the host has ended with {self.stage.child.poll()}")
        self._restart()
        self._settle()

    @staticmethod
    def _window(began, seconds):
        time.sleep(max(0.0, began + seconds - time.monotonic()))

    def _rest(self):
        began = time.monotonic()
        self._window(began, QUIET)
        self.quiet.append((began, time.monotonic()))

    def _place(self, names):
        """Before any harm an object of each kind runs in the worker."""
        for name in names:
            self.farms[name].make(self.client, "first", **ENDLESS)
        for name in names:
            with self.blame(name):
                until(f"the first Farm of {name} runs",
                      lambda farm=self.farms[name]: farm.status(self.client, "first").get("cluster") == "w1")

    def _harm(self, names):
        farms = [self.farms[name] for name in names]
        for farm in farms:
            if farm.member.follows:
                farm.harm_by_mirror(self.worker, "first")
            else:
                farm.make_bad(self.client, "bad-0")
        for farm in farms:
            with self.blame(farm.name):
                if not farm.member.until:   # else the pause may come before the end of the call is told
                    self._check_note(farm, "first" if farm.member.follows else "bad-0")
                    self._check_back(farm)
        pausing = [farm for farm in farms if farm.member.said and not farm.member.calls]
        for farm in pausing:
            if not farm.member.until:
                for name in ("bad-1", "bad-2", "bad-3"):    # three within a minute, whenever the first one was
                    farm.make_bad(self.client, name)
        for farm in pausing:
            with self.blame(farm.name):
                until(f"the kind of {farm.name} pauses", lambda farm=farm: farm.has_paused)

    def _check_note(self, farm, name):
        if farm.member.said:
            note = farm.await_failure(self.client, name)
            if farm.name not in note or not re.search(farm.member.said, note):
                self.problems[farm.name].append(f'the Event says "{note}", expected /{farm.member.said}/ and the adapter')

    def _check_back(self, farm):
        """An object of the same kind works."""
        began = time.monotonic()
        farm.make(self.client, "good-1", **QUICK)
        until(f"{farm.full('good-1')} has a mirror", lambda: farm.has_mirror("good-1"))
        self.back[farm.name] = time.monotonic() - began
        until(f"{farm.full('good-1')} is done", lambda: farm.status(self.client, "good-1").get("state") == "done")

    def _check_states(self):
        """What `wharf status` says of each adapter."""
        text = self.stage.wharf("status", "adapters")
        for name in self.names:
            member = ALL[name]
            if name in self.skipped:
                continue
            row = next((line for line in text.splitlines() if line.startswith(f"{name} ")), "no row")
            if member.where == "load":
                expected = rf"\bnotLoaded\b.*({member.said})"
            elif member.said and not member.calls:
                expected = rf"\b(paused|down|starting|active)\b.*({member.said})"    # active: the pause is over
            else:
                expected = r"\b(active|busy|down|starting)\b"
            if not re.search(expected, row):
                self.problems[name].append(f"wharf status adapters says \"{row}\", expected /{expected}/")

    def _check_processes(self):
        """They have the channel and the adapter's own file, nothing else of the host: no environment, no descriptors."""
        found = self.stage.adapter_processes()
        if not found:
            self.common.append("no adapter has a process of its own")
        for pid in found:
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    text = file.read()
                files = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
            except OSError:
                continue    # the process has just ended, or this user may not look
            files = [path for path in files if not re.fullmatch(r"/dev/null|/memfd:\S+\.so \(deleted\)", path)]
            if b"GALLERY" in text or len(files) > 1:
                self.common.append(f"process {pid} of an adapter has {text!r} and {files}")

    def _restart(self):
        """The bad objects are still there: the host starts, and the processes do not end in a loop."""
        code = self.stage.stop()
        if code != 0:
            self.common.append(f"SIGTERM: exit code {code}")
        self.stage.start()
        self.stage.watch_readiness()
        began, ended = time.monotonic(), self.load.ended
        until("the ten kinds work again", lambda: self.load.ended > ended + len(self.stage.ten))
        self._window(began, HARM)
        for name in self.names:
            ends = len(self.stage.logged(rf"the process of an adapter has ended adapter={name} "))
            if ends > ENDS:
                self.problems[name].append(f"its process ended {ends} times within {HARM:.0f} s after a restart")

    def _settle(self):
        self.common += self.load.problems + self.stage.problems
        for name, farm in self.farms.items():
            self.problems[name] += farm.wrong_mirrors()

    def _p99(self, windows):
        latencies = self.load.latencies(windows)
        assert latencies, "nothing of the load was seen"
        return percentile(latencies, 0.99)

    def measure(self):
        """Adapters with harm to others go to `late`; returns lines with the figures."""
        usual = self._p99(self.quiet)
        lines = []
        for group, windows in self.bad.items():
            p99 = self._p99(windows)
            lines.append(f"p99 {p99 * 1000:.1f} ms, without harm {usual * 1000:.1f} ms; {self.long_steps[group]} long steps of the "
                         f"engine: {', '.join(group)}")
            if p99 > SHARE * usual + FLOOR or self.long_steps[group] > 0:
                self.late |= set(group)
        self.late |= {name for name, seconds in self.back.items() if seconds > BACK + usual}
        if self.back:
            last = max(self.back, key=self.back.get)
            lines.append(f"back after {self.back[last]:.2f} s at the latest ({last})")
        return lines

    def close(self, keep=False):
        self.load.stop()
        self.stage.close(keep)
