# SPDX-License-Identifier: Apache-2.0
"""Two hosts of different origins share the workers."""
import os

from host import Host
from jobs import brief, counts, job
from wait import until

_OTHER = "wharf.dev/other"


def _origins(env):
    """{name: origin} of all mirrors in the workers."""
    return {found["metadata"]["name"]: found["metadata"]["labels"]["wharf.dev/origin"] for worker in env.workers
            for found in worker.admin.list("jobs", env.namespace, selector="wharf.dev/origin")}


def two_hosts_of_different_origins_share_the_workers_and_leave_each_others_mirrors_alone(env):
    env.use_all()
    folder = os.path.join(env.folder, "other-origin")
    os.makedirs(folder, exist_ok=True)
    other = Host(env.host.wharf, env.host.adapters, folder, env.host.kubeconfigs, origin="other", managed_by=_OTHER)
    try:
        other.use()
        names = {f"{kind}-{number}": managed_by for number in range(6)
                 for kind, managed_by in (("own", "wharf.dev/host"), ("other", _OTHER))}
        for name, managed_by in names.items():
            env.submit(job(name, managed_by=managed_by, hold="all"))
        for name in names:
            env.until_counts(name, ready=1)
        wanted = {name: "other" if managed_by == _OTHER else "e2e" for name, managed_by in names.items()}
        assert _origins(env) == wanted, _origins(env)
        # One of them restarts, and finds the other's mirrors without workloads of its own; then it is gone for good.
        env.host.kill()
        env.host.start()
        for name in ("own-0", "other-0"):
            env.management.delete("jobs", env.namespace, name)
            env.until_no_mirror(name)
        other.stop()
        env.submit(job("own-later"))
        env.until_finished("own-later")
        del wanted["own-0"], wanted["other-0"]
        assert {name: origin for name, origin in _origins(env).items() if name != "own-later"} == wanted, _origins(env)
        other.start()
        env.release()
        for name in wanted:
            done = env.until_finished(name)
            assert counts(done) == (0, 0, 1, 0) and done["metadata"]["annotations"]["wharf.dev/attempt"] == "1", brief(done)
            assert sum(env.pods_created(name).values()) == 1, env.pods_created(name)
        until(lambda: not _origins(env), "all mirrors to be gone")
    finally:
        other.stop()
