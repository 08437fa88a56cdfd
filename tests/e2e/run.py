#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the host against real API servers. The servers are found as envtest finds them; absent, all is skipped."""
import argparse
import multiprocessing
import multiprocessing.connection
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import lane  # noqa: E402
import plan  # noqa: E402
import session  # noqa: E402

_LANES_PER_CORE = 2        # tests mostly wait
_MEMORY_OF_LANE = 2.5e9    # bytes
_WORTH_A_LANE = 30         # seconds of tests


class Results:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, outcome, shown):
        setattr(self, outcome, getattr(self, outcome) + 1)
        print(shown, end="", flush=True)

    def line(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


class Lane:
    """A lane as its parent sees it. `rest` are the tests of its row that have not ended; `over`: it gets no more rows."""

    def __init__(self, number, *more):
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe()
        self.number, self.rest, self.over = number, [], False
        self.process = context.Process(target=lane.live, args=(theirs, number, *more))
        self.process.start()
        theirs.close()

    def receive(self):
        try:
            return self.pipe.recv()
        except EOFError:
            return "broken", f"    lane {self.number} has ended"

    def end(self):
        self.process.terminate()
        self.process.join()


class Run:
    """All lanes, and the rows that no lane has begun. The row of plan.LAST is the last one of `rows`, where there is one."""

    def __init__(self, rows, last, results):
        self.rows, self.waiting, self.last = rows + [last] * bool(last), list(range(len(rows))), last
        self.results, self.lanes = results, []

    def start(self, count, options, folder):
        starting = multiprocessing.get_context("fork").Lock()
        for number in range(count):
            self.lanes.append(Lane(number, self.rows, starting, options, folder))

    def go_on(self):
        """Until all lanes have ended, or wait to be ended."""
        heard = {one.pipe: one for one in self.lanes}
        while heard:
            for pipe in multiprocessing.connection.wait(list(heard)):
                word, *more = heard[pipe].receive()
                getattr(self, "_" + word)(heard[pipe], *more)
                if word in ("over", "broken"):
                    del heard[pipe]

    # What lanes tell.

    def _begun(self, _, shown):
        print(shown, flush=True)

    def _tested(self, one, number, outcome, shown):
        one.rest = [test for test in one.rest if test.number != number]
        self.results.add(outcome, shown)

    def _idle(self, one):
        row = next((row for row in self.waiting if one.number == 0 or not self.rows[row].first_lane_only), None)
        if row is not None:
            self.waiting.remove(row)
        elif self.last and all(other.over for other in self.lanes if other is not one):
            row, self.last = len(self.rows) - 1, None
        one.over = row is None
        one.rest = [] if one.over else list(self.rows[row].tests)
        one.pipe.send(row)

    def _over(self, one, shown):
        print(shown, end="", flush=True)

    def _broken(self, one, shown):
        print(shown, flush=True)
        for what in [test.sentence for test in one.rest] or [f"lane {one.number}"]:
            self.results.add("failed", f"FAILED     0.0 s  {what}\n")
        one.over = True

    # The end.

    def not_begun(self):
        """The tests that no lane was left for."""
        rows = [self.rows[row] for row in self.waiting] + [self.last] * bool(self.last)
        return [test for row in rows for test in row.tests]

    def join(self):
        for one in self.lanes:
            one.process.join()

    def end(self):
        for one in self.lanes:
            one.end()


def default_lanes():
    with open("/proc/meminfo", encoding="ascii") as file:
        available = next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))
    return max(1, min(_LANES_PER_CORE * len(os.sched_getaffinity(0)), int(available / _MEMORY_OF_LANE)))


def lanes_for(rows, most):
    return max(1, min(most, len(rows), round(sum(row.seconds for row in rows) / _WORTH_A_LANE)))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", metavar="PATTERN", default="", help="only tests whose module or sentence matches: test_life")
    parser.add_argument("--lanes", type=int, help="at most so many sets of clusters, which tests use side by side (default: as cores "
                                                  "and memory allow)")
    parser.add_argument("--list", action="store_true", help="only print the tests' sentences")
    return session.parse_arguments(parser)


def run_all(options, rows, last, folder, results):
    run = Run(rows, last, results)
    try:
        run.start(lanes_for(rows or [last], options.lanes or default_lanes()), options, folder)
        run.go_on()
        for test in run.not_begun():
            results.add("failed", f"FAILED     0.0 s  {test.sentence}: no lane is left\n")
        if options.keep:
            session.until_interrupted()
        else:
            run.join()
    finally:
        run.end()


def main():
    options, results = parse_arguments(), Results()
    rows, last = plan.find(options.k)
    if options.list:
        print("\n".join(test.sentence for row in rows + [last] * bool(last) for test in row.tests))
        return 0
    code = session.cannot_run("e2e", options)
    if code is not None:
        return code
    if not rows and not last:
        print(f"e2e: no test matches {options.k!r}")
        return 1
    return session.run("e2e", options, results, lambda folder: run_all(options, rows, last, folder, results))


if __name__ == "__main__":
    sys.exit(main())
