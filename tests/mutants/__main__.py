# SPDX-License-Identifier: Apache-2.0
"""Bugs put in on purpose, each caught by a test that is named with it. Run: python3 tests/mutants [--apply] [--build B]
[--jobs N] [NAME...]

tests/mutants/*.txt describe them. Each is applied to a copy of the tree, which is built and tested; a mutant that no
longer applies, does not build, or survives is a failure. --apply only checks that each still applies."""

import argparse
import concurrent.futures
import os
import queue
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from mutant import apply_to, read_all  # noqa: E402

COPIED = ("Makefile", "bootstrap", "core", "etc", "examples", "include", "plugins", "tests")
OBJECTS = ("adapters", "core", "plugins", "tests")  # of the build, whose programs are linked again anyway
SIM = "tests/simulation/sim"
SIM_TESTS = {"sim": [], "replicas": ["--replicas"]}
SEEDS = 1500
BUILD_SECONDS, TEST_SECONDS = 600, 300


def make_slot(root, build, slot):
    shutil.rmtree(slot, ignore_errors=True)
    os.makedirs(os.path.join(slot, "build"))
    for name in COPIED:
        source = os.path.join(root, name)
        if os.path.isdir(source):
            shutil.copytree(source, os.path.join(slot, name), symlinks=True,
                            ignore=shutil.ignore_patterns("__pycache__"))
        elif os.path.exists(source):
            shutil.copy2(source, os.path.join(slot, name))
    for name in OBJECTS:
        source = os.path.join(root, build, name)
        if os.path.isdir(source):
            shutil.copytree(source, os.path.join(slot, "build", name), symlinks=True)
    for name in ("core.a", "cmd.a", "ui.html", "adapter-dir"):
        source = os.path.join(root, build, name)
        if os.path.exists(source):
            shutil.copy2(source, os.path.join(slot, "build", name))


def run(command, slot, seconds, extra=None):
    environment = dict(os.environ, **(extra or {}))
    environment.pop("MAKEFLAGS", None)
    environment.pop("MAKELEVEL", None)
    try:
        done = subprocess.run(command, cwd=slot, env=environment, timeout=seconds, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as expired:
        output = expired.stdout or b""
        return 124, output.decode(errors="replace") if isinstance(output, bytes) else output


def first_words(output, test):
    """What the test says of the failure, in one line."""
    for line in output.splitlines():
        if test in SIM_TESTS and ": " in line and line.startswith("seed "):
            return line
        if test not in SIM_TESTS and "[  FAILED  ]" in line:
            return line.split("]", 1)[1].strip()
    return "a crash" if output.strip() else "nothing"


def program_of(test):
    """In the build folder."""
    return os.path.join("tests", test) if test.startswith("integration/") else test


def judge(mutant, slot):
    """Whether the mutant is caught, and what by."""
    program = SIM if mutant.test in SIM_TESTS else program_of(mutant.test)
    target = os.path.join("build", program)
    code, output = run(["make", "-s", "-j1", "B=build", target], slot, BUILD_SECONDS)
    if code != 0:
        return False, "does not build:\n" + output[-600:]
    command = [os.path.join(".", target)]
    if mutant.test in SIM_TESTS:
        command += SIM_TESTS[mutant.test] + ["--seeds", str(mutant.seeds or SEEDS), "--jobs", "1", "--once"]
    code, output = run(command, slot, TEST_SECONDS, mutant.environment)
    if code == 124:
        return True, "does not end"
    if code == 0:
        return False, f"survives {mutant.test}"
    said = first_words(output, mutant.test)
    if mutant.says and mutant.says not in said and mutant.says not in output:
        return False, f"is caught by something else than \"{mutant.says}\": {said}"
    return True, said


def check_without(mutants, slot):
    """Without a mutant the tests pass: else they would catch anything."""
    for test in sorted({m.test for m in mutants}):
        caught, why = judge(Unchanged(test), slot)
        if caught:
            sys.exit(f"mutants: {test} fails without any mutant: {why}")
        if "does not build" in why:
            sys.exit(f"mutants: {test}: {why}")


class Unchanged:
    says, seeds, environment = "", 10, {}

    def __init__(self, test):
        self.test = test


def try_one(mutant, slots):
    slot = slots.get()
    began = time.monotonic()
    try:
        saved = apply_to(mutant, slot)
        try:
            caught, why = judge(mutant, slot)
        finally:
            for path, text in saved.items():
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
    except ValueError as error:
        caught, why = False, str(error)
    finally:
        slots.put(slot)
    return mutant, caught, why, time.monotonic() - began


def run_all(mutants, root, build, jobs):
    slots = queue.Queue()
    for i in range(jobs):
        slot = os.path.join(root, build, "mutants", str(i))
        make_slot(root, build, slot)
        slots.put(slot)
    check_without(mutants, os.path.join(root, build, "mutants", "0"))
    failed = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for mutant, caught, why, seconds in pool.map(lambda m: try_one(m, slots), mutants):
            first = why.splitlines()[0] if why else ""
            print(f"{'caught' if caught else 'FAILED':7} {mutant.name:34} {mutant.test:32} {seconds:5.1f} s  {first[:120]}",
                  flush=True)
            if not caught:
                failed.append((mutant, why))
    for mutant, why in failed:
        print(f"{mutant.name}: {why}")
    print(f"{len(mutants) - len(failed)} passed, {len(failed)} failed, 0 skipped")
    return 1 if failed else 0


def check_apply(mutants, root):
    failed = 0
    for mutant in mutants:
        try:
            apply_to(mutant, root, write=False)
            if mutant.test not in SIM_TESTS and not os.path.exists(os.path.join(root, "tests", mutant.test + ".c")):
                raise ValueError(f"there is no tests/{mutant.test}.c")
        except ValueError as error:
            failed += 1
            print(f"{mutant.source}: {mutant.name}: {error}")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(prog="mutants")
    parser.add_argument("--apply", action="store_true")
    parser.add_argument("--build", default="build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(here))
    mutants = read_all(here)
    unknown = set(options.names) - {m.name for m in mutants}
    if unknown:
        sys.exit(f"mutants: there is none of the name {sorted(unknown)[0]}")
    if options.apply:
        return check_apply(mutants, root)
    chosen = [m for m in mutants if not options.names or m.name in options.names]
    return run_all(chosen, root, options.build, max(1, options.jobs))


if __name__ == "__main__":
    sys.exit(main())
