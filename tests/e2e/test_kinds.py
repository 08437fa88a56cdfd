# SPDX-License-Identifier: Apache-2.0
"""Every workload kind, from creation to its end, with its controller played by the test. The CRDs of the big
kinds are installed in the background while the first tests are about kinds that are not served yet."""
import fixtures
import kinds
from jobs import job
from wait import until


def a_kind_that_is_installed_later_in_all_clusters_is_taken_up_without_a_restart(env):
    all_kinds = kinds.of(env)
    late, other = kinds.GENERIC
    all_kinds.install_later([plural for plural in all_kinds.fixtures if plural not in kinds.GENERIC])
    env.host.use(enabled={name: all_kinds.adapters[name] for name in ("job", "generic")})
    for plural in (late, other):
        for cluster in env.clusters.all:
            until(lambda plural=plural, cluster=cluster: all_kinds.feed_is("absent", plural, cluster.name),
                  f"{plural} to be known as absent in {cluster.name}")
    env.submit(job("meanwhile"))
    env.until_finished("meanwhile")
    started = env.host.process.child.pid
    all_kinds.install_later([late])
    for cluster in env.clusters.all:
        until(lambda cluster=cluster: all_kinds.feed_is("connected", late, cluster.name),
              f"{late} to be watched in {cluster.name}")
    assert env.host.process.child.pid == started
    all_kinds.stage(env.namespace)
    play = all_kinds.play(late, env.namespace, "late")
    play.play(all_kinds.fixtures[late].stories["succeeded"])
    play.end()


def an_adapter_that_is_added_to_a_host_that_runs_has_its_workloads_run_and_disturbs_nobody(env):
    all_kinds = kinds.of(env)
    all_kinds.installed(["jobsets"])
    if env.host.process.running():
        env.host.stop()
    env.host.use()
    started = env.host.process.child.pid
    all_kinds.stage(env.namespace)
    play = all_kinds.play("jobsets", env.namespace)
    play.submit()   # nobody knows of it yet
    for number in range(20):
        env.submit(job(f"under-load-{number}", run="1s"))
    env.host.reconfigure(enabled={name: all_kinds.adapters[name] for name in ("job", "jobset")})
    for cluster in env.clusters.all:
        until(lambda cluster=cluster: all_kinds.feed_is("connected", "jobsets", cluster.name),
              f"JobSets to be watched in {cluster.name}")
    play.placed()
    play.go_on(all_kinds.fixtures["jobsets"].stories["succeeded"])
    play.end()
    for number in range(20):
        env.until_finished(f"under-load-{number}")
    metrics = env.host.metrics()
    for cluster in env.clusters.all:
        jobs = (("cluster", cluster.name), ("kind", "jobs.batch"))
        assert metrics["wharf_watch_losses_total", jobs] == 0 and metrics["wharf_watch_lists_total", jobs] == 1, metrics
        assert metrics["wharf_watch_restarts_total", (("cluster", cluster.name),)] == 0, metrics
    assert env.host.process.child.pid == started


def a_kind_that_one_worker_lacks_is_placed_elsewhere_and_there_too_once_it_is_installed(env):
    all_kinds = kinds.of(env)
    first, second = env.workers
    late, other = kinds.GENERIC
    all_kinds.installed([late])
    all_kinds.installed([other], [env.clusters.management, second])
    if env.host.process.running():
        env.host.stop()   # discovery of a kind that is long absent is rare
    env.host.use(enabled={name: all_kinds.adapters[name] for name in ("job", "generic")})
    for cluster, state in ((env.clusters.management, "connected"), (second, "connected"), (first, "absent")):
        until(lambda cluster=cluster, state=state: all_kinds.feed_is(state, other, cluster.name),
              f"{other} to be {state} in {cluster.name}")
    all_kinds.stage(env.namespace)
    assert _places(env, other, "lacking") == {second.name}
    group = all_kinds.fixtures[late].group
    until(lambda: env.host.takes_work(first.name, f"{late}.{group}"), f"{first.name} to get {late}")
    assert first.name in _places(env, late, "spread")
    all_kinds.installed([other], [first])
    until(lambda: all_kinds.feed_is("connected", other, first.name), f"{other} to be watched in {first.name}")
    group = all_kinds.fixtures[other].group
    until(lambda: env.host.takes_work(first.name, f"{other}.{group}"), f"{first.name} to get {other}")
    assert first.name in _places(env, other, "present")


def _places(env, plural, name):
    """Where three more of these are placed."""
    plays = [kinds.of(env).play(plural, env.namespace, f"{name}-{number}") for number in range(3)]
    for play in plays:
        play.submit()
        play.placed()
    return {play.worker for play in plays}


def _stories_of(plural):
    def test(env):
        all_kinds = kinds.of(env)
        if not all_kinds.playing:
            all_kinds.play_all([each for each in all_kinds.fixtures if _name(each) in env.selected])
        env.judged, env.marks = plural, dict(all_kinds.marks)
        try:
            wrong = all_kinds.failures(plural)
            assert not wrong, "".join(f"\n  {story}: {what}" for story, what in wrong.items())
            all_kinds.check_cost(plural)
        finally:
            all_kinds.clear(plural)
    test.__name__ = _name(plural)
    return test


def _name(plural):
    return f"{plural}_go_through_their_stories"


for _plural in fixtures.plurals():
    globals()[_name(_plural)] = _stories_of(_plural)


def an_online_check_with_all_adapters_finds_rights_enough(env):
    kinds.of(env).use()
    code, out, err = env.host.command("check", "--online")
    assert code == 0, f"exit {code}\n{out}{err}"
