# SPDX-License-Identifier: Apache-2.0
"""The host is killed between the copies and the mirror, again and again: rule D2 and D5 of docs/lifecycle.md."""
import needs
from crowd import in_crowd
from gate import Gate
from jobs import brief, counts
from wait import until

KILLS = 50
# The write at which it is killed, and whether that is stored, so that the next host finds it.
_POINTS = tuple((resource, stored) for resource in ("configmaps", "secrets", "jobs") for stored in (False, True))


@in_crowd
def fifty_kills_between_copy_and_mirror_lose_nothing_and_leave_nothing(env):
    env.use(2)
    workers = env.workers[:2]
    with Gate(workers) as gate:
        for number in range(KILLS):
            resource, stored = _POINTS[number % len(_POINTS)]
            name = f"k-{number}"
            gate.hold(resource, name)
            # Each has its own objects, and one that all share.
            needs.create(env.management, env.namespace, {
                "configmaps": [needs.configmap(name)] + ([needs.configmap("shared")] if number == 0 else []),
                "secrets": [needs.secret(name)]})
            env.submit(needs.reading(name, [name, "shared"], [name]))
            gate.until_held()
            if stored:
                with env.host.frozen():   # it never hears of it
                    gate.let(True)
                    until(lambda resource=resource, name=name: any(worker.admin.find(resource, env.namespace, name) for worker in workers),
                          f"{resource} {name} to be stored", every=0.01)
                    env.host.kill()
            else:
                env.host.kill()
                gate.let(False)
            env.host.start()
    for number in range(KILLS):
        name = f"k-{number}"
        done = env.until_finished(name)
        made = env.pods_created(name)
        assert counts(done) == (0, 0, 1, 0) and sum(made.values()) == 1, f"{brief(done)}, pods created {made}"
        assert len(env.mirrors_that_ran(name)) == 1, f"{name}: several mirrors had pods"
    env.until_no_mirror("k-0")
    # What is not used goes after a minute, see the end of this row.
