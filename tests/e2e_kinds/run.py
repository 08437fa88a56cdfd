#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the lives of every kind against its own controller, in real clusters. The controllers are found in WHARF_CONTROLLERS;
those that are absent are skipped by name."""
import argparse
import os
import re
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor, as_completed

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "e2e")]

import controllers  # noqa: E402
import lives  # noqa: E402
import netns  # noqa: E402
import servers  # noqa: E402
import session  # noqa: E402
import table  # noqa: E402
import together  # noqa: E402
from life import Life  # noqa: E402
from scene import AUDIT_POLICY, Scene  # noqa: E402

# Each has a PROJECT, or None for kinds of Kubernetes itself, and KINDS.
MODULES = ("job", "jobset", "trainer", "training_operator", "mpi_operator", "kuberay", "tekton", "appwrapper", "lws", "spark_operator",
           "argo")


class Results:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.lives, self.lock = [], threading.Lock()

    def skip(self, what, why):
        self.skipped += 1
        print(f"skipped           {what}: {why}", flush=True)

    def add(self, sentence, took, error, life=None):
        with self.lock:
            if error:
                self.failed += 1
            else:
                self.passed += 1
            print(f"{'FAILED' if error else 'ok':<7} {took:6.1f} s  {sentence}", flush=True)
            if error:
                text = "".join(traceback.format_exception(error, limit=-3))
                print("\n".join("    " + line[:1500] for line in text.splitlines()), flush=True)
            if life:
                self.lives.append((life, error))

    def line(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def find(project, options):
    """(Found or None, why not): the newest version of a project, or the one that --with names."""
    usable, unusable = controllers.find(project.name, project.programs)
    wanted = dict(each.split("=", 1) for each in options.chosen).get(project.name)
    usable = [each for each in usable if wanted in (None, each.version)]
    if not usable:
        return None, "; ".join(unusable) or f"no {project.name}-{wanted or 'VERSION'} in {controllers.folder()}"
    if project.fixed_port and not netns.available():
        return None, f"{project.name} listens at fixed ports, and this machine gives no program a network of its own"
    return usable[0 if wanted else min(options.older, len(usable) - 1)], None


def choose(options, results):
    """({Project: Found}, [Kind])"""
    projects, kinds = {}, []
    for module in (__import__(name) for name in MODULES):
        selected = [kind for kind in module.KINDS if re.search(options.kinds, kind.plural)]
        needed = (*module.PROJECT.needs, module.PROJECT) if selected and module.PROJECT else ()
        found = {project: find(project, options) for project in needed}
        missing = [why for _, why in found.values() if why]
        if missing:
            for kind in selected:
                results.skip(kind.plural, "; ".join(missing))
        else:
            projects.update({project: version for project, (version, _) in found.items()})
            kinds += selected
    if projects:
        print("controllers: " + ", ".join(f"{found.name} {found.version}" for found in projects.values()), flush=True)
    return projects, kinds


def live(scene, kind, case, function, options):
    """One life; (seconds, the exception or None, the Life)."""
    began, life = time.monotonic(), None
    namespace = f"{kind.plural}-{case}"
    try:
        scene.check()
        life = Life(scene, kind, case, namespace)
        function(life)
        life.close()
        return time.monotonic() - began, None, life
    except Exception as error:   # any exception is a failure of this life
        return time.monotonic() - began, error, life
    finally:
        if options.record:
            about = {"case": case, "controller": scene.version_of(kind), "kubernetes": scene.kubernetes()}
            scene.recorder.save(namespace, os.path.join(options.record, f"{kind.plural}-{case}.jsonl"), about)


def run_lives(scene, options, results):
    wanted = []
    for kind in scene.kinds:
        absent = {**kind.skip, **scene.too_new(kind)}
        wanted += [(kind, case, function) for case, function in lives.of(kind)
                   if case not in absent and re.search(options.k, f"{kind.plural} {case}")]
        for case, why in absent.items():
            results.skip(f"{kind.plural} {case}", why)
    with ThreadPoolExecutor(options.at_once) as pool:
        running = {pool.submit(live, scene, *each, options): each for each in wanted}
        for done in as_completed(running):
            kind, case, _ = running[done]
            took, error, life = done.result()
            results.add(f"{kind.plural} {case}", took, error, life)


def run_together(scene, options, results):
    """What concerns all kinds at once: the host is restarted, a worker is lost."""
    for sentence, function in together.TESTS:
        needed = getattr(function, "needs", None)   # a kind
        if needed and needed not in {kind.plural for kind in scene.kinds}:
            results.skip(sentence, f"without {needed}")
        elif re.search(options.k, sentence):
            began, error = time.monotonic(), None
            try:
                function(scene)
                scene.check()
            except Exception as caught:   # any exception is a failure of this test
                error = caught
            results.add(sentence, time.monotonic() - began, error)


def run_all(options, folder, results):
    projects, kinds = choose(options, results)
    usable, unusable = controllers.find("kwok", ("kwok",), manifests=False)
    if not kinds or not usable:
        results.skip("every kind", "no controller of a kind" if usable else "; ".join(unusable) or f"no kwok-VERSION in {controllers.folder()}")
        return
    kubernetes = sorted({"serviceaccount-controller", *(each for project in projects for each in project.kubernetes)})
    with servers.Clusters(options.assets, folder, audit_policy=AUDIT_POLICY, more_controllers=kubernetes) as clusters:
        print(f"{clusters.versions()}: ready after {clusters.took:.1f} s, in {folder}", flush=True)
        scene = Scene(clusters, folder, options.wharf, options.adapters, projects, kinds, usable[0])
        try:
            print(f"{len(scene.controllers)} controllers ready after {scene.start():.1f} s", flush=True)
            for found in (controller.found for controller in scene.absent):
                print(f"{found.name} {found.version} is not in the management cluster: it ignores managedBy", flush=True)
            run_lives(scene, options, results)
            run_together(scene, options, results)
            print(table.text(scene, results.lives))
            if options.table:
                table.write(scene, results.lives, options.table)
            if options.keep:
                session.until_interrupted()
        finally:
            scene.close()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", metavar="PATTERN", default="", help="only lives whose `KIND CASE` matches")
    parser.add_argument("--kinds", metavar="PATTERN", default="", help="only kinds whose plural matches")
    parser.add_argument("--with", dest="chosen", metavar="PROJECT=VERSION", action="append", default=[], help="instead of the newest version")
    parser.add_argument("--older", type=int, default=0, metavar="N", help="the Nth newest version of each controller instead of the newest")
    parser.add_argument("--record", metavar="FOLDER", help="write each life there, as watch events")
    parser.add_argument("--table", metavar="FILE", help="put the table of what ran into this file, between its marks")
    parser.add_argument("--at-once", type=int, default=8, metavar="N", help="so many lives at the same time")
    return session.parse_arguments(parser)


def main():
    options, results = parse_arguments(), Results()
    code = session.cannot_run("e2e-kinds", options)
    if code is not None:
        return code
    return session.run("e2e-kinds", options, results, lambda folder: run_all(options, folder, results))


if __name__ == "__main__":
    sys.exit(main())
