# SPDX-License-Identifier: Apache-2.0
"""The host itself goes away, with and without warning."""
from jobs import brief, condition, counts, indexed, job
from wait import until

KILLS = 10


def a_batch_survives_ten_sigkills_of_the_host_and_nothing_runs_twice(env):
    env.host.use()
    wanted = {}
    for wave in range(KILLS):
        marks = {name: audit.mark() for name, audit in env.audits.items()}
        wanted.update(_submit_wave(env, wave))
        # Each wave is interrupted at another point, from before the first annotation to amid the status writes.
        # Three Jobs need at least twelve writes.
        _kill_after(env, marks, writes=wave)
        env.host.start()
    for name, pods in wanted.items():
        done = env.until_finished(name)
        assert counts(done) == (0, 0, pods, 0), brief(done)
        made = env.pods_created(name)
        assert len(made) == 1 and sum(made.values()) == pods, f"{name}: pods created {made}, expected {pods} in all"
        assert len(env.mirrors_that_ran(name)) == 1, f"{name}: several mirrors had pods"
        assert done["metadata"]["annotations"]["wharf.dev/attempt"] == "1", brief(done)
    for name in wanted:
        env.until_no_mirror(name)
    for name in wanted:
        assert condition(env.job(name), "Complete"), brief(env.job(name))


def _submit_wave(env, wave):
    bodies = {f"many-{wave}": (job(f"many-{wave}", run="0.3s", parallelism=2, completions=2), 2),
              f"short-{wave}": (job(f"short-{wave}"), 1),
              f"index-{wave}": (indexed(f"index-{wave}", 3, run="0.2s", parallelism=2), 3)}
    for body, _ in bodies.values():
        env.submit(body)
    return {name: pods for name, (_, pods) in bodies.items()}


def _kill_after(env, marks, writes):
    def written():
        return sum(len(audit.host(env.namespace, marks[name])) for name, audit in env.audits.items()) >= writes
    until(written, f"{writes} writes of the host", every=0.005)
    env.host.kill()


def a_stopped_host_leaves_its_mirrors_running_and_catches_up(env):
    env.host.use()
    env.submit(job("unattended", hold="all", parallelism=2, completions=2))
    env.submit(job("deleted", hold="all"))
    worker, other = env.placed("unattended"), env.placed("deleted")
    env.until_counts("unattended", ready=2)
    env.host.stop()
    assert env.mirror(worker, "unattended"), "the mirror went with the host"
    env.management.delete("jobs", env.namespace, "deleted")
    env.release()
    until(lambda: condition(env.mirror(worker, "unattended"), "Complete"), "the mirror to complete")
    assert env.mirror(other, "deleted"), "nothing was running to delete it"
    env.host.start()
    done = env.until_finished("unattended")
    assert counts(done) == (0, 0, 2, 0), brief(done)
    assert env.pods_created("unattended") == {worker: 2}, env.pods_created("unattended")
    env.until_no_mirror("deleted")
