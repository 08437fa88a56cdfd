# SPDX-License-Identifier: Apache-2.0
"""Several replicas: one writes, or each its shards. The one that writes is killed, stopped and goes on, and ended, with work
under way; nothing is lost, nothing runs twice, and the pause is short."""
import datetime
import os
import time

from host import Host
from jobs import brief, counts, job
from replicas import LEASE, LEASES, NAME, gauge, replicas
from wait import until

HANDOVER = 2.0   # seconds, at most, from the end of the lease to the next write


def _leader(hosts):
    leaders = [host for host in hosts if host.process.running() and gauge(host, "wharf_leader") == 1]
    assert len(leaders) <= 1, "two replicas say that they lead"
    return leaders[0] if leaders else None


def _until_led(hosts):
    return until(lambda: _leader(hosts), "a replica to lead", every=0.1)


def _time(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def _renewed(env):
    return _time(env.management.get("leases", LEASES, NAME)["spec"]["renewTime"])


def _writes(env, marks):
    """The times at which the host's writes of Jobs arrived, in all clusters."""
    return sorted(_time(entry["requestReceivedTimestamp"]) for name, audit in env.audits.items()
                  for entry in audit.host(env.namespace, marks[name]))


def _marks(env):
    return {name: audit.mark() for name, audit in env.audits.items()}


def _submit(env, wave, count=15):
    names = [f"{wave}-{index}" for index in range(count)]
    for name in names:
        env.submit(job(name, run="0.3s"))
    return names


def _until_written(env, marks, writes):
    until(lambda: len(_writes(env, marks)) >= writes, f"{writes} writes", every=0.005)


def _until_at_work(env, hosts):
    """The leader, in the middle of its work."""
    first = _until_led(hosts)
    marks = _marks(env)
    names = _submit(env, "first")
    _until_written(env, marks, 10)
    return first, marks, names


def _all_ran_once(env, names):
    for name in names:
        done = env.until_finished(name)
        assert counts(done) == (0, 0, 1, 0), brief(done)
        assert sum(env.pods_created(name).values()) == 1, f"{name}: pods created {env.pods_created(name)}"
        assert done["metadata"]["annotations"]["wharf.dev/attempt"] == "1", brief(done)
    for name in names:
        env.until_no_mirror(name)


def a_leader_that_is_killed_under_load_is_replaced_within_two_seconds_after_its_lease_ended(env):
    with replicas(env, 2) as hosts:
        first, marks, names = _until_at_work(env, hosts)
        second = next(host for host in hosts if host is not first)
        first.kill()
        killed, renewed = time.time(), _renewed(env)
        names += _submit(env, "second")
        assert _until_led(hosts) is second
        _all_ran_once(env, names)
        after = [at for at in _writes(env, marks) if at > killed + 0.5]
        pause = after[0] - (renewed + LEASE)
        print(f"    the lease ended {renewed + LEASE - killed:.2f} s after the kill, the first write came {pause:+.2f} s after that")
        assert 0 <= pause < HANDOVER, f"{pause:.2f} s from the end of the lease to the next write"


def a_leader_that_is_stopped_and_goes_on_writes_nothing_any_more_and_stands_by(env):
    with replicas(env, 2) as hosts:
        first, marks, names = _until_at_work(env, hosts)
        second = next(host for host in hosts if host is not first)
        with first.frozen():
            names += _submit(env, "second")
            until(lambda: gauge(second, "wharf_leader") == 1, "the other replica to lead", every=0.1)
            _all_ran_once(env, names[:5])
        assert gauge(second, "wharf_leader") == 1
        names += _submit(env, "third")
        _all_ran_once(env, names)
        assert gauge(first, "wharf_leader") == 0 and first.ready(), "the former leader stands by and is ready"
        assert "stands by" in first.fetch("/readyz")[1], first.fetch("/readyz")


def a_leader_that_is_ended_gives_its_lease_back(env):
    with replicas(env, 2) as hosts:
        first, marks, names = _until_at_work(env, hosts)
        first.stop()
        ended = time.monotonic()
        second = _until_led(hosts)
        pause = time.monotonic() - ended
        print(f"    the other replica leads {pause:.2f} s after the end of the first one")
        assert second is not first and pause < HANDOVER, f"{pause:.2f} s"
        _all_ran_once(env, names + _submit(env, "second"))


def three_replicas_share_the_shards_take_over_and_give_up_for_one_that_joins(env):
    def held(wanted):
        shares = [gauge(host, "wharf_shards_held") if host.process.running() else 0 for host in hosts]
        assert shares == wanted, f"shards held: {shares}"
        return True
    with replicas(env, 3, shards=6) as hosts:
        until(lambda: held([2, 2, 2]), "two shards each", every=0.2)
        marks = _marks(env)
        names = _submit(env, "first", 30)
        _until_written(env, marks, 20)
        hosts[1].kill()
        names += _submit(env, "second", 30)
        until(lambda: held([3, 0, 3]), "the shards of the killed replica to be taken over", every=0.2)
        _all_ran_once(env, names)
        names = _submit(env, "third", 30)
        hosts[1].start()
        until(lambda: held([2, 2, 2]), "two shards each again", every=0.2)
        _all_ran_once(env, names + _submit(env, "fourth", 30))


def two_hosts_without_election_are_noticed(env):
    env.host.use()
    folder = os.path.join(env.folder, "second-host")
    os.makedirs(folder, exist_ok=True)
    other = Host(env.host.wharf, env.host.adapters, folder, env.host.kubeconfigs)
    try:
        other.use()
        hosts = (other, env.host)
        until(lambda: all(gauge(host, "wharf_other_host") == 1 for host in hosts), "both to notice the other one", timeout=90)
        for host in hosts:
            assert "another host with this origin runs" in host.fetch("/readyz")[1]
            assert host.logged("another host with this origin is running")

        def holders():
            notes = [event["message"] for event in env.management.list("events", LEASES) if event["reason"] == "AnotherHost"
                     and event["involvedObject"]["name"] == NAME and "both write" in event["message"]]
            return {note.partition("(")[2].partition(")")[0] for note in notes}
        until(lambda: len(holders()) == 2, "an Event of each on the Lease")
    finally:
        other.stop()
