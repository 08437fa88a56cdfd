# SPDX-License-Identifier: Apache-2.0
"""Many Jobs that share what they refer to: what the host asks of the API servers, and that nothing stays. The last test of this row
looks at the namespaces of all others."""
import collections
import os
from concurrent.futures import ThreadPoolExecutor

import crowd
import needs
import test_dependencies
import test_mapping
from crowd import in_crowd
from host import Host
from wait import until

_JOBS = int(os.environ.get("E2E_JOBS", "300"))   # thousands take minutes
_KINDS = ("configmaps", "secrets", "serviceaccounts")


def _after_all(env):
    crowd.end(env)


@in_crowd
def jobs_that_share_their_objects_cost_one_create_a_worker_and_one_read(env):
    """No Job controllers run: only the host's requests matter."""
    env.use()
    needs.create(env.management, env.namespace, needs.shared(text="x" * 10000))
    for worker in env.workers:
        worker.controllers.kill()
    try:
        marks = {name: audit.mark() for name, audit in env.audits.items()}
        with ThreadPoolExecutor(8) as pool:
            for _ in pool.map(lambda number: env.submit(needs.sharing(f"many-{number}", hold="all")), range(_JOBS)):
                pass

        def mirrors():
            found = sum(len(worker.admin.list("jobs", env.namespace, selector="wharf.dev/origin")) for worker in env.workers)
            assert found == _JOBS, f"there are {found} mirrors"
            return True
        until(mirrors, "all mirrors to be made", every=0.5)
        asked = {name: _asked(env.audits[name], env.namespace, mark) for name, mark in marks.items()}
        # The sources are read while workers lack copies, and not for Jobs.
        assert all(asked["management"]["get", kind] <= len(env.workers) for kind in _KINDS), asked["management"]
        assert not any(asked["management"][verb, kind] for kind in _KINDS for verb in ("create", "patch", "delete")), asked["management"]
        for worker in env.workers:
            assert all(asked[worker.name][verb, kind] == (1 if verb == "create" else 0) for kind in _KINDS
                       for verb in ("create", "get", "patch", "delete")), f"{worker.name}: {asked[worker.name]}"
        assert asked["management"]["patch", "jobs"] == _JOBS, asked["management"]
        assert sum(asked[worker.name]["create", "jobs"] for worker in env.workers) == _JOBS
    finally:
        for worker in env.workers:
            worker.controllers.start()


def _asked(audit, namespace, mark):
    """{(verb, resource): number} of the host's requests about single objects."""
    found = collections.Counter()
    for entry in audit.entries(namespace, mark):
        if entry["user"].get("username") == "wharf" and entry["verb"] not in ("list", "watch"):
            found[entry["verb"], entry["objectRef"]["resource"]] += 1
    return found


@in_crowd
def a_minute_after_the_last_user_all_copies_are_gone_and_those_that_another_origin_uses_are_handed_over(env):
    """Those of all tests before, too, in all clusters and under all names."""
    with env.own_worker():
        env.use(maps=test_mapping.MAPS)
        _check_end(env)


def _check_end(env):
    first = env.workers[0]
    folder = os.path.join(env.folder, "other-origin")
    os.makedirs(folder, exist_ok=True)
    paths = {name: path for name, path in env.host.kubeconfigs.items() if path}
    other = Host(env.host.wharf, env.host.adapters, folder, paths, env.host.defaults, "other", "wharf.dev/other")
    needs.create(env.management, env.namespace, {"configmaps": [needs.configmap("both", a="1"), needs.configmap("one", a="1")]})
    env.submit(needs.reading("own", ["both", "one"], only=first.name, hold="all"))
    env.until_counts("own", ready=1)
    made = first.admin.get("configmaps", env.namespace, "both")
    forged = {(name, "configmaps", namespace, object_["metadata"]["name"]) for name, namespace, object_ in test_dependencies.FORGED}
    other.use()
    try:
        env.submit(needs.reading("others", ["both"], only=first.name, hold="all", managed_by="wharf.dev/other"))
        env.until_counts("others", ready=1)
        env.management.delete("jobs", env.namespace, "own")

        def only_the_others():
            left = env.copies() - forged
            assert left == {(first.name, "configmaps", env.namespace, "both")}, left
            return True
        until(only_the_others, "all copies but one to be gone", every=1)
        found = first.admin.get("configmaps", env.namespace, "both")
        assert found["metadata"]["uid"] == made["metadata"]["uid"] and found["metadata"]["labels"]["wharf.dev/origin"] == "other", found
        env.management.delete("jobs", env.namespace, "others")
        until(lambda: not env.copies() - forged, "the last copy to be gone", every=1)
        for name, namespace, object_ in test_dependencies.FORGED:
            assert env.worker(name).admin.get("configmaps", namespace, object_["metadata"]["name"]) == object_
    finally:
        other.stop()
