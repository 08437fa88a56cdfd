# SPDX-License-Identifier: Apache-2.0
"""Several replicas of the host."""
import contextlib
import os
import signal

import kube
from host import Host

kube.know("leases", "coordination.k8s.io/v1")

LEASE = 5   # seconds; short, so that the test is
ELECTION = f"{{enabled: true, leaseDuration: {LEASE}s, renewDeadline: 3s, retryPeriod: 1s}}"
LEASES, NAME = "wharf-system", "wharf-e2e"


def _forget_leases(env):
    """Those of hosts that were killed, which others would wait for."""
    for lease in env.management.list("leases", LEASES):
        env.management.delete("leases", LEASES, lease["metadata"]["name"])


@contextlib.contextmanager
def replicas(env, count, enabled=None, **settings):
    """Hosts of one origin, with election; the tests' own host does not run meanwhile."""
    env.host.use()
    env.host.stop()
    _forget_leases(env)
    hosts = []
    for index in range(count):
        folder = os.path.join(env.folder, f"replica-{index}")
        os.makedirs(folder, exist_ok=True)
        hosts.append(Host(env.host.wharf, env.host.adapters, folder, env.host.kubeconfigs))
    try:
        for host in hosts:
            host.use(enabled, leaderElection=ELECTION, **settings)
        yield hosts
    finally:
        for host in hosts:
            if host.process.running():
                host.process.child.send_signal(signal.SIGCONT)
                host.stop()
        _forget_leases(env)
        env.host.start()


def gauge(host, name):
    return host.metrics().get((name, ()), 0)
