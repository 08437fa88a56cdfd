#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the host against real API servers. The servers are found as envtest finds them; absent, all is skipped."""
import argparse
import importlib
import inspect
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
sys.path.insert(0, HERE)

import servers  # noqa: E402
from assets import Assets  # noqa: E402
from env import Env  # noqa: E402
from skip import Skip  # noqa: E402

MODULES = (
    "test_setup",
    "test_join",
    "test_operate",
    "test_placement",
    "test_install",
    "test_helm",
    "test_manifests",
    "test_life",
    "test_pod_events",
    "test_change",
    "test_trouble",
    "test_capacity",
    "test_loss",
    "test_pending",
    "test_fence",
    "test_kill",
    "test_leader",
    "test_hostile",
    "test_back",
    "test_guards",
    "test_versions",
    "test_workers",
    "test_credentials",
    "test_kinds",
    "test_deaf",
    "test_give_up",
    "test_kueue_quota",
    "test_kueue_workers",
    "test_kueue_both",
    "test_kinds_trouble",   # leaves MPIJob in an older version
    "test_cron",
    "test_load",
    "test_contract",
    "test_plan",
    "test_logs",
    "test_view",
    "test_policies",
    "test_origins",
    "test_chaos",
    "test_limits",   # the last one: it compares with what all of them have used
)


def find_tests(pattern):
    """(sentence, function), in the order in which they are written. The pattern is about "test_life: a sentence"."""
    found = []
    for module in map(importlib.import_module, MODULES):
        for name, function in vars(module).items():
            if inspect.isfunction(function) and function.__module__ == module.__name__ and name[0] != "_":
                found.append((name.replace("_", " "), function))
    return [test for test in found if not pattern or re.search(pattern, f"{test[1].__module__}: {test[0]}")]


class Results:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def line(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def report_failure(env, error):
    print(indent("".join(traceback.format_exception(error, limit=-4))))
    for line in env.refusals():
        print(indent("--- " + line))
    print(indent("--- objects\n" + env.describe()))
    print(indent("--- the end of the host's log\n" + env.host.process.tail(40)))
    for cluster in env.clusters.all:
        if cluster.api.child and cluster.api.child.poll() is not None:
            print(indent(cluster.tail()))


def indent(text):
    return "\n".join("    " + line for line in text.splitlines())


def run_one(env, number, sentence, test, results):
    began, verdict, failure = time.monotonic(), "ok", None
    try:
        env.begin(f"t{number}")
        test(env)
        env.end(getattr(test, "may_be_refused", ()))
        results.passed += 1
    except Skip as reason:
        verdict = f"skipped: {reason}"
        results.skipped += 1
    except Exception as error:   # any exception is a failure of this test
        verdict, failure = "FAILED", error
        results.failed += 1
    print(f"{verdict:<7} {time.monotonic() - began:6.1f} s  {sentence}", flush=True)
    if failure:
        report_failure(env, failure)
        restore(env)
    sys.stdout.flush()


def restore(env):
    try:
        env.restore()
    except Exception as error:   # the next test reports it
        print(indent(f"could not clean up after it: {error!r}"))


def gates(assets):
    """In Kubernetes 1.37 a Job has spec.scheduling only with these. The first worker has the defaults."""
    return {name: "GenericWorkload=true,WorkloadWithJob=true" for name in ("management", "w2")
            if assets.version(name) >= (1, 37)}


def run_all(options, tests, folder, results):
    with servers.Clusters(options.assets, folder, gates=gates(options.assets)) as clusters:
        print(f"{clusters.versions()}: ready after {clusters.took:.1f} s, in {folder}", flush=True)
        env = Env(clusters, folder, options.wharf, options.adapters)
        env.selected = {test.__name__ for _, test in tests}
        try:
            for module in {test.__module__ for _, test in tests}:
                prepare = getattr(sys.modules[module], "_before_all", None)
                if prepare:
                    prepare(env)
            for number, (sentence, test) in enumerate(tests):
                run_one(env, number, sentence, test, results)
                after = [test.__module__ for _, test in tests[number + 1:number + 2]]
                if test.__module__ not in after:
                    getattr(sys.modules[test.__module__], "_after_all", lambda _: None)(env)
            if options.keep:
                keep(env)
        finally:
            env.close()


def keep(env):
    print(f"Kept running until Ctrl-C; the host's config is {env.host.config}")
    for cluster in env.clusters.all:
        print(f"  {cluster.name}: kubectl --kubeconfig {cluster.admin_config}")
    sys.stdout.flush()
    signal.sigwait({signal.SIGINT, signal.SIGTERM})


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", metavar="PATTERN", default="", help="only tests whose module or sentence matches: test_life")
    parser.add_argument("--keep", action="store_true", help="leave the clusters running at the end, until Ctrl-C")
    parser.add_argument("--list", action="store_true", help="only print the tests' sentences")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="the folder with wharf and adapters/")
    parser.add_argument("--management", metavar="FOLDER", help="servers of the management cluster, of another version")
    parser.add_argument("--workers", metavar="FOLDER[,FOLDER]", help="servers of the workers: of all, or of the first and "
                        "of the others")
    options = parser.parse_args()
    options.assets = Assets(options.management, options.workers.split(",") if options.workers else ())
    options.wharf = os.path.join(options.build, "wharf")
    options.adapters = os.path.join(options.build, "adapters")
    return options


def leave(number, _):
    sys.exit(128 + number)


def main():
    options, results = parse_arguments(), Results()
    tests = find_tests(options.k)
    if options.list:
        print("\n".join(sentence for sentence, _ in tests))
        return 0
    missing = options.assets.missing()
    if missing:
        print(f"e2e skipped: {missing}")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    if not os.access(options.wharf, os.X_OK):
        print(f"e2e: {options.wharf} has not been built")
        return 1
    if not tests:
        print(f"e2e: no test matches {options.k!r}")
        return 1
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)
    folder = tempfile.mkdtemp(prefix="wharf-e2e-")
    began = time.monotonic()
    try:
        run_all(options, tests, folder, results)
    except KeyboardInterrupt:
        print("interrupted")
        return 130
    finally:
        if results.failed or options.keep:
            print(f"logs and data are kept in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"in {time.monotonic() - began:.0f} s")
    print(results.line())
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
