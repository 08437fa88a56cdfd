# SPDX-License-Identifier: Apache-2.0
"""Servers, networks, rights and replicas fail one after the other under many workloads of several kinds."""
import contextlib
import signal
import threading
import time

import kinds
import manifests
from audit import HOST_USERS
from mixed import PLURALS, Mixed
from replicas import LEASE, gauge, replicas
from skip import may_be_refused
from wait import until

_STARTING = 403   # see test_loss
_AWAY = 3.0       # seconds
_WAVES = 10       # of 20 workloads each


@contextlib.contextmanager
def _stopped(process):
    """Does not run, and its connections stay open."""
    process.child.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.child.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def _killed(cluster):
    cluster.api.kill()
    try:
        yield
    finally:
        cluster.bring_back()


@contextlib.contextmanager
def _without_rights(env, worker):
    worker.admin.delete("clusterrolebindings", None, "wharf-worker")
    until(lambda: not env.may(worker, "create", "jobs.batch", HOST_USERS[1]), "the rights to be gone")
    try:
        yield
    finally:
        manifests.apply(worker.admin, "rbac-worker.yaml")
        until(lambda: env.may(worker, "create", "jobs.batch", HOST_USERS[1]), "the rights to be back")


@contextlib.contextmanager
def _half_open(relay):
    relay.half_open()
    yield


@contextlib.contextmanager
def _replica_killed(host):
    host.kill()
    yield
    host.start()


@contextlib.contextmanager
def _replica_stopped(host):
    """Others take over its shards before it goes on."""
    with host.frozen():
        time.sleep(LEASE + 1)
        yield


def _faults(env, hosts):
    second, management = env.workers[1], env.clusters.management
    return [_half_open(env.relay), _killed(second), _replica_stopped(hosts[1]), _stopped(second.api),
            _stopped(management.api), _killed(management), env.relay.silent(), env.relay.slow(0.2),
            _without_rights(env, second), _replica_killed(hosts[0])]


@may_be_refused(("management", "*", _STARTING), ("w1", "*", _STARTING), ("w2", "*", _STARTING))
def two_hundred_workloads_of_five_kinds_run_once_each_whatever_fails_under_three_replicas(env):
    all_kinds = kinds.of(env)
    all_kinds.installed(PLURALS)
    mixed = Mixed(env)
    with replicas(env, 3, all_kinds.adapters, shards=6, mirrorRetention="2h") as hosts:
        mixed.start()
        try:
            faults = _faults(env, hosts)
            assert len(faults) == _WAVES
            for fault in faults:
                _under(fault, mixed)
            mixed.release()
            mixed.check()
            env.nothing_was_refused((422,))
            until(lambda: sum(gauge(host, "wharf_shards_held") for host in hosts) == 6, "all shards to be held")
            env.delete_all()
            env.nothing_is_left_over()
        finally:
            mixed.stop()


def _under(fault, mixed):
    """A wave is created while the fault begins, lasts and ends."""
    thread = threading.Thread(target=mixed.submit)
    thread.start()
    with fault:
        time.sleep(_AWAY)
    thread.join()
