# SPDX-License-Identifier: Apache-2.0
"""Guards in workers: what a cut-off worker runs is stopped before it runs elsewhere."""
import contextlib
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request

import manifests
from jobs import brief, job
from proc import Process, free_port
from replicas import LEASES, NAME, gauge, replicas
from wait import until

FENCING = {"fencing": "{enabled: true, fenceAfter: 10s}", "workerLostTimeout": "28s"}
REPORTING = {**FENCING, "fencing": FENCING["fencing"].replace("}", ", reports: true}")}
FENCED = "wharf.dev/fenced"
SHARDS = 4
SHARDED = {"fencing": "{enabled: true, fenceAfter: 15s}", "workerLostTimeout": "39s"}


def _rights(env, *arguments):
    done = subprocess.run([env.host.wharf, "rbac", "--adapters", env.host.adapters, *arguments], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def _allow(env):
    """The host may keep Leases in the workers; and what a guard may."""
    path = os.path.join(env.folder, "fencing.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("apiVersion: wharf.dev/v1alpha1\nkind: HostConfiguration\nmanagement: {kubeconfig: m}\n"
                   "workers: [{name: w, kubeconfig: w}]\nadapters: {enabled: [{name: job}]}\nfencing: {enabled: true}\n")
    for worker in env.workers:
        rights = _rights(env, "--for", "worker", "--config", path, "--user", "wharf").split("\n---\n")
        # The cluster's role is that of all kinds already.
        manifests.apply_text(worker.admin, "\n---\n".join(part for part in rights if "kind: ClusterRole" not in part))
        manifests.apply_text(worker.admin, _rights(env, "--for", "guard", "--adapters-enabled", "job"))


def _allow_reports(env, worker):
    """The host may read what guards report, and the guard of this worker may write it; the arguments of the guard."""
    path = os.path.join(env.folder, "reports.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("apiVersion: wharf.dev/v1alpha1\nkind: HostConfiguration\nmanagement: {kubeconfig: m}\n"
                   "workers: [{name: w, kubeconfig: w}]\nadapters: {enabled: [{name: job}]}\nfencing: {enabled: true, reports: true}\n")
    management = env.clusters.management
    for part in _rights(env, "--for", "management", "--config", path, "--user", "wharf").split("\n---\n"):
        if "kind: Role\n" in part:   # beside the role of all tests, which has all but this
            manifests.apply_text(management.admin, part.replace("  name: wharf\n  namespace", "  name: wharf-reports\n  namespace")
                                 .replace("kind: Role\n  name: wharf\n", "kind: Role\n  name: wharf-reports\n"))
    manifests.apply_text(management.admin, _rights(env, "--for", "guard-report", "--origin", "e2e", "--worker", worker.name,
                                                   "--adapters-enabled", "job"))
    account = f"wharf-guard-{worker.name}"
    token = management.write(f"report-{worker.name}.token", management.admin.token_of("wharf-system", account, 3600) + "\n")
    return "--worker", worker.name, "--report-to", management.kubeconfig(account, token_file=os.path.basename(token))


def _fetch(port, page):
    """(status, text)"""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@contextlib.contextmanager
def _guard(env, worker, *arguments, name="guard"):
    """`wharf guard` in the worker, with the rights of its ServiceAccount."""
    token = worker.write("guard.token", worker.admin.token_of("wharf-system", "wharf-guard", 3600) + "\n")
    path = worker.kubeconfig("wharf-guard", token_file=os.path.basename(token))
    port = free_port()
    guard = Process(name, [env.host.wharf, "guard", "--origin", "e2e", "--adapters", env.host.adapters,
                              "--adapters-enabled", "job", "--kubeconfig", path, "--serve", f"127.0.0.1:{port}", *arguments],
                    os.path.join(env.folder, f"{name}-{worker.name}.log"))
    guard.page = lambda page: _fetch(port, page)
    guard.start()
    try:
        yield guard
        guard.check()
    finally:
        code = guard.terminate()
    assert code == 0, f"the guard exited with {code}"


def _on_first(env, count=3):
    """Jobs that run, and those of them that the first worker runs."""
    names = [f"held-{number}" for number in range(count)]
    for name in names:
        env.submit(job(name, hold="all"))
    first = [name for name in names if env.placed(name) == env.workers[0].name]
    for name in names:
        env.until_counts(name, ready=1)
    assert first, "no Job runs in the first worker"
    return names, first


def _knows_the_guard(env, since):
    until(lambda: env.host.logged("the worker has a guard", since), "the host to see the guard")


def _runs(mirror):
    return mirror and not mirror["spec"].get("suspend") and "deletionTimestamp" not in mirror["metadata"]


def _fenced(env, worker, name):
    mirror = env.mirror(worker.name, name)
    return mirror["spec"]["suspend"] and FENCED in mirror["metadata"]["annotations"]


def _lose(env, first, names, meanwhile=lambda: None):
    """Until each is placed anew: never while the first worker runs it."""
    def moved(name):
        meanwhile()
        ran = _runs(env.mirror(first.name, name))
        attempt = env.job(name)["metadata"]["annotations"]["wharf.dev/attempt"]
        assert attempt == "1" or not ran, f"{name} is placed again while it runs in {first.name}"
        return attempt == "2"
    for name in names:
        until(lambda name=name: moved(name), f"{name} to be placed again", timeout=120, every=0.1)


def a_cut_off_worker_has_stopped_what_runs_before_it_runs_elsewhere(env):
    env.host.stop()
    _allow(env)
    first = env.workers[0]
    with _guard(env, first) as guard:
        since = env.host.log_size()
        env.use_all(**FENCING)
        _knows_the_guard(env, since)
        names, cut_off = _on_first(env)
        assert guard.page("readyz") == (200, "ok\n") and guard.page("livez") == (200, "ok\n"), guard.page("readyz")
        env.relay.cut()
        _lose(env, first, cut_off)
        code, text = guard.page("readyz")
        assert code == 200 and "wharf-fence-e2e: not renewed since 20" in text and "its mirrors are stopped" in text, text
        assert f'wharf_guard_stopped_total{{action="suspend"}} {len(cut_off)}\n' in guard.page("metrics")[1], guard.page("metrics")[1]
        for name in cut_off:
            assert _fenced(env, first, name), brief(env.mirror(first.name, name))
            assert env.placed(name, attempt=2) == env.workers[1].name
        env.relay.mend()
        for name in cut_off:
            until(lambda name=name: not env.mirror(first.name, name), f"the stale mirror of {name} to be deleted")
        env.release()
        for name in names:
            env.until_finished(name)


def a_guard_that_is_restarted_goes_on_counting(env):
    """Killed and started again, 0.4 of fenceAfter later, at 0.75 and at 1.65 of it: one that counts anew would act too late."""
    env.host.stop()
    _allow(env)
    first = env.workers[0]
    with _guard(env, first) as guard:
        since = env.host.log_size()
        env.use_all(**FENCING)
        _knows_the_guard(env, since)
        names, cut_off = _on_first(env)
        with env.relay.silent():
            begun = time.monotonic()
            acts = [(7.5, guard.kill), (11.5, guard.start), (16.5, guard.kill), (20.5, guard.start)]

            def restart():
                while acts and time.monotonic() - begun >= acts[0][0]:
                    acts.pop(0)[1]()
            _lose(env, first, cut_off, restart)
            assert not acts, acts
        for name in cut_off:
            until(lambda name=name: not env.mirror(first.name, name), f"the stale mirror of {name} to be deleted")
        env.release()
        for name in names:
            env.until_finished(name)


def of_two_guards_one_is_enough_and_one_that_was_stopped_does_no_harm(env):
    env.host.stop()
    _allow(env)
    first = env.workers[0]
    with _guard(env, first) as guard, _guard(env, first, name="second"):
        since = env.host.log_size()
        env.use_all(**FENCING)
        until(lambda: env.host.logged("the worker has 2 guards", since), "the host to see both guards")
        names, cut_off = _on_first(env)
        guard.child.send_signal(signal.SIGSTOP)
        try:
            with env.relay.silent():
                _lose(env, first, cut_off)
            for name in cut_off:
                until(lambda name=name: not env.mirror(first.name, name), f"the stale mirror of {name} to be deleted")
            for name in cut_off:
                env.placed(name, attempt=2)
            more = []

            def place():
                more.append(f"more-{len(more)}")
                env.submit(job(more[-1], hold="all"))
                return env.placed(more[-1]) == first.name
            until(place, "the first worker to get a Job again")
            env.until_counts(more[-1], ready=1)
        finally:
            guard.child.send_signal(signal.SIGCONT)
        end = time.monotonic() + 5
        while time.monotonic() < end:  # it counted long enough, and finds that the host is there
            mirror = env.mirror(first.name, more[-1])
            assert _runs(mirror) and FENCED not in mirror["metadata"]["annotations"], brief(mirror)
            time.sleep(0.2)
        env.release()
        for name in [*names, *more]:
            env.until_finished(name)


def _is_resumed(mirror):
    return _runs(mirror) and FENCED not in mirror["metadata"]["annotations"]


def what_a_guard_suspended_is_resumed_where_it_is(env):
    env.host.stop()
    _allow(env)
    first = env.workers[0]
    with _guard(env, first):
        since = env.host.log_size()
        env.use_all(**{**FENCING, "workerLostTimeout": "10m"})
        _knows_the_guard(env, since)
        names, cut_off = _on_first(env)
        with env.relay.silent():
            for name in cut_off:
                until(lambda name=name: _fenced(env, first, name), f"{name} to be suspended by the guard")
        for name in cut_off:
            until(lambda name=name: _is_resumed(env.mirror(first.name, name)), f"{name} to be resumed, without the guard's mark")
            env.until_event(name, "Fenced: the guard of .* suspended the mirror")
        env.release()
        for name in names:
            done = env.until_finished(name)
            assert done["metadata"]["annotations"]["wharf.dev/attempt"] == "1", brief(done)


def mirrors_are_deleted_where_the_guard_is_told_to(env):
    env.host.stop()
    _allow(env)
    first = env.workers[0]
    with _guard(env, first, "--action", "delete"):
        since = env.host.log_size()
        env.use_all(**FENCING)
        _knows_the_guard(env, since)
        names, cut_off = _on_first(env)
        env.host.kill()
        for name in cut_off:
            until(lambda name=name: not env.mirror(first.name, name), f"the mirror of {name} to be deleted")
        env.host.start()
        for name in cut_off:   # made again once the guard knows of the host: before that it would delete it again
            until(lambda name=name: _runs(env.mirror(env.placed(name), name)), f"{name} to run again")
        env.release()
        for name in names:
            env.until_finished(name)


def nothing_is_rescheduled_from_a_lost_worker_without_a_guard(env):
    env.host.stop()
    _allow(env)
    first = env.workers[0]
    env.use_all(**FENCING)
    names, cut_off = _on_first(env)
    env.relay.cut()
    for name in cut_off:
        env.until_event(name, "WorkerLost: .*no guard was seen there")
        until(lambda name=name: any("no guard was seen there" in text for text in env.events(name)), "the Event")
    until(lambda: env.host.metrics()[("wharf_workloads_waiting", (("reason", "unguarded"),))] == len(cut_off),
          "them to wait for longer than a minute", timeout=150)
    for name in cut_off:
        assert env.job(name)["metadata"]["annotations"]["wharf.dev/attempt"] == "1", brief(env.job(name))
        assert _runs(env.mirror(first.name, name))
    env.relay.mend()
    env.release()
    for name in names:
        done = env.until_finished(name)
        assert done["metadata"]["annotations"]["wharf.dev/attempt"] == "1", brief(done)


def _shard(env, name):
    """docs/fencing.md"""
    number = 0xcbf29ce484222325
    for byte in f"jobs.batch/{env.namespace}/{name}".encode():
        number = (number ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return (number ^ number >> 32) % SHARDS


def _holders(env):
    """{shard: the replica that holds it}"""
    leases = {lease["metadata"]["name"]: lease["spec"].get("holderIdentity") for lease in env.management.list("leases", LEASES)}
    return {shard: leases.get(f"{NAME}-{shard}") for shard in range(SHARDS)}


def _renewed(env, shards=SHARDS):
    """For each shard, whether its Lease in the first worker is held."""
    leases = {lease["metadata"]["name"]: lease["spec"] for lease in env.workers[0].admin.list("leases", "wharf-system")}
    return [bool(leases.get(f"wharf-fence-e2e.{shard}-of-{shards}", {}).get("holderIdentity")) for shard in range(shards)]


def _until_shared(env, hosts):
    for host in hosts:
        until(lambda host=host: gauge(host, "wharf_shards_held") == SHARDS / 2, "each to hold half of the shards")
        host.until_takes_work(worker.name for worker in env.workers)
        until(lambda host=host: host.logged("the worker has a guard"), "the host to see the guard")
    until(lambda: all(_renewed(env)), "the Leases of all shards in the first worker")
    assert len(set(_holders(env).values())) == 2, _holders(env)


@contextlib.contextmanager
def _sharing(env):
    """Two replicas, of which the second one reaches the first worker past the relay; and the guard there."""
    _allow(env)
    first = env.workers[0]
    with _guard(env, first), replicas(env, 2, shards=SHARDS, **SHARDED) as hosts:
        hosts[1].stop()
        hosts[1].kubeconfigs = {**hosts[1].kubeconfigs, first.name: first.kubeconfig("wharf-direct", first.host_certificate)}
        hosts[1].use(shards=SHARDS, **{key: hosts[0].settings[0][key] for key in ("leaderElection", *SHARDED)})
        _until_shared(env, hosts)
        try:
            yield hosts
        finally:
            for lease in first.admin.list("leases", "wharf-system"):
                first.admin.delete("leases", "wharf-system", lease["metadata"]["name"])


def a_worker_that_one_replica_has_lost_has_stopped_its_shards_only(env):
    env.host.stop()
    first = env.workers[0]
    with _sharing(env):
        names, there = _on_first(env, 12)
        holders = _holders(env)
        env.relay.cut()
        lost = until(lambda: [name for name in there if not _runs(env.mirror(first.name, name))], "some to be suspended", timeout=60)
        gone = holders[_shard(env, lost[0])]
        lost = [name for name in there if holders[_shard(env, name)] == gone]
        kept = [name for name in there if name not in lost]
        assert kept, "all Jobs of the first worker are in the shards of one replica"
        _lose(env, first, lost)
        for name in kept:
            mirror = env.mirror(first.name, name)
            assert _runs(mirror) and FENCED not in mirror["metadata"]["annotations"], brief(mirror)
            assert env.job(name)["metadata"]["annotations"]["wharf.dev/attempt"] == "1", brief(env.job(name))
        env.relay.mend()
        env.release()
        for name in names:
            done = env.until_finished(name)
            assert done["metadata"]["annotations"]["wharf.dev/attempt"] == ("2" if name in lost else "1"), brief(done)


def shards_that_move_or_are_divided_anew_stop_nothing(env):
    env.host.stop()
    first = env.workers[0]
    with _sharing(env) as hosts:
        names, there = _on_first(env, 8)

        def keep(seconds):
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                for name in there:
                    mirror = env.mirror(first.name, name)
                    assert _runs(mirror) and FENCED not in mirror["metadata"]["annotations"], brief(mirror)
                time.sleep(0.2)
        hosts[0].kill()   # the other one takes its shards over
        until(lambda: gauge(hosts[1], "wharf_shards_held") == SHARDS, "the other one to take the shards over")
        keep(20)
        for host in hosts[1:]:
            host.stop()
        for host in hosts:
            host.use(shards=6, **{key: host.settings[0][key] for key in ("leaderElection", *SHARDED)})
        keep(25)
        assert all(_renewed(env, 6)), _renewed(env, 6)
        assert not any(_renewed(env)), "the Leases of the former number are held still"
        env.release()
        for name in names:
            done = env.until_finished(name)
            assert done["metadata"]["annotations"]["wharf.dev/attempt"] == "1", brief(done)
