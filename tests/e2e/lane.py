# SPDX-License-Identifier: Apache-2.0
"""A lane: a process with clusters and a host of its own, which runs rows of tests one after the other."""
import contextlib
import ctypes
import io
import os
import signal
import sys
import time
import traceback

import servers
from env import Env
from skip import Skip

_PR_SET_PDEATHSIG = 1


def _indent(text):
    return "\n".join("    " + line for line in text.splitlines())


def _report(env, error):
    """What helps to see why a test failed."""
    print(_indent("".join(traceback.format_exception(error, limit=-4))))
    for line in env.refusals():
        print(_indent("--- " + line))
    print(_indent("--- objects\n" + env.describe()))
    print(_indent("--- the end of the host's log\n" + env.host.process.tail(40)))
    for cluster in env.clusters.all:
        if cluster.api.child and cluster.api.child.poll() is not None:
            print(_indent(cluster.tail()))
    print(_indent(f"--- logs and data are in {env.folder}"))


def _restore(env):
    try:
        env.restore()
    except Exception as error:   # the next test reports it
        print(_indent(f"could not clean up after it: {error!r}"))


def _run(env, test):
    """(a name of Results, all that is to be shown). `environment` of a test makes another environment of the lane's."""
    began, outcome, verdict, failure, shown = time.monotonic(), "passed", "ok", None, io.StringIO()
    with contextlib.redirect_stdout(shown):
        try:
            env = getattr(test.function, "environment", lambda lanes: lanes)(env)
            env.begin(f"t{test.number}")
            test.function(env)
            env.end(getattr(test.function, "may_be_refused", ()))
        except Skip as reason:
            outcome, verdict = "skipped", f"skipped: {reason}"
        except Exception as error:   # any exception is a failure of this test
            outcome, verdict, failure = "failed", "FAILED", error
        print(f"{verdict:<7} {time.monotonic() - began:6.1f} s  {test.sentence}")
        if failure:
            _report(env, failure)
            _restore(env)
    return outcome, shown.getvalue()


def _kept(env):
    lines = [f"the host's config is {env.host.config}"]
    lines += [f"  {cluster.name}: kubectl --kubeconfig {cluster.admin_config}" for cluster in env.clusters.all]
    return "\n".join(lines) + "\n"


def _gates(assets):
    """In Kubernetes 1.37 a Job has spec.scheduling only with these. The first worker has the defaults."""
    return {name: "GenericWorkload=true,WorkloadWithJob=true" for name in ("management", "w2")
            if assets.version(name) >= (1, 37)}


def _before_all(env, rows):
    for module in {test.module for row in rows if row.first_lane_only for test in row.tests}:
        getattr(module, "_before_all", lambda _: None)(env)


def _settle(env):
    """Between rows the host does not run: the next row may not have its kinds. One that was killed gives back what it held.
    What went wrong, or nothing."""
    host = env.host
    try:
        if host.process.child and host.process.child.poll() not in (None, 0):
            host.start()
        if host.process.running():
            host.stop()
    except Exception as error:
        host.kill()
        return f"FAILED     0.0 s  the host ends after these tests: {error}\n"
    return ""


def _run_rows(env, rows, pipe):
    """Runs the rows of the numbers that come, until none comes any more."""
    pipe.send(("idle",))
    while (number := pipe.recv()) is not None:
        tests = rows[number].tests
        for place, test in enumerate(tests):
            pipe.send(("tested", test.number, *_run(env, test)))
            if test.module not in [following.module for following in tests[place + 1:place + 2]]:
                getattr(test.module, "_after_all", lambda _: None)(env)
        env.plurals[:] = ["jobs"]   # a worker that a later row wipes has no other kinds
        wrong = _settle(env)
        if wrong:
            pipe.send(("tested", None, "failed", wrong))
        pipe.send(("idle",))


def live(pipe, number, rows, starting, options, folder):
    """The whole life of the lane's process. `starting` is a lock: lanes begin one after the other, and the first one is at work
    when the last one begins."""
    os.setsid()   # Ctrl-C is the parent's, which ends the lanes
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    own = os.path.join(folder, f"lane-{number}")
    os.makedirs(own)
    try:
        with contextlib.ExitStack() as stack:
            with starting:
                clusters = stack.enter_context(servers.Clusters(options.assets, own, gates=_gates(options.assets)))
            env = Env(clusters, own, options.wharf, options.adapters)
            stack.callback(env.close)
            env.selected = {test.name for row in rows for test in row.tests}
            if number == 0:
                _before_all(env, rows)
            pipe.send(("begun", f"{clusters.versions()}: ready after {clusters.took:.1f} s, in {own}"))
            _run_rows(env, rows, pipe)
            pipe.send(("over", _kept(env) if options.keep else ""))
            if options.keep:
                signal.pause()
    except Exception:
        pipe.send(("broken", _indent(traceback.format_exc())))
