# SPDX-License-Identifier: Apache-2.0
"""Jobs in workers whose namespaces have other names, one of them the management cluster itself: people and the host's commands know
the Job's own namespace only."""
import contextlib
import os
from concurrent.futures import ThreadPoolExecutor

import kubelet
import needs
import test_logs
from crowd import MAPPED, OWN, in_crowd
from jobs import counts, finished, job
from wait import until

_JOBS = int(os.environ.get("E2E_JOBS", "150"))   # thousands take minutes
MAPS = {"w1": "{origin}-{namespace}", "w2": "{namespace}-two", "w3": "three-{namespace}", "w4": "a-{namespace}-b",
         "w5": "{namespace}-{origin}", "w6": "x{namespace}", "w7": "{namespace}x", "w8": "eight-{origin}-{namespace}-8", OWN: "run-{namespace}"}
# w9 has the same names.


@contextlib.contextmanager
def _ten(env):
    """In a namespace that has other names there."""
    with env.own_worker():
        env.begin(MAPPED + env.namespace)
        env.use(maps=MAPS, createNamespaces="true", mirrorRetention="3s")
        yield


@in_crowd
def many_jobs_run_once_each_in_ten_clusters_of_other_names_also_when_the_host_is_killed(env):
    with _ten(env):
        needs.create(env.management, env.namespace, needs.shared(a="1"))
        with ThreadPoolExecutor(8) as pool:
            for place, _ in enumerate(pool.map(lambda number: env.submit(needs.sharing(f"many-{number}")), range(_JOBS))):
                if place == _JOBS // 2:
                    env.host.kill()
                    env.host.start()

        def all_complete():
            unfinished = [found["metadata"]["name"] for found in env.management.list("jobs", env.namespace) if not finished(found)]
            assert not unfinished, f"{len(unfinished)} are not, first {unfinished[0]}"
            return True
        until(all_complete, "all Jobs to be complete", timeout=600, every=0.5)
        places = set()
        for number in range(_JOBS):
            done, made = env.job(f"many-{number}"), env.pods_created(f"many-{number}")
            assert counts(done) == (0, 0, 1, 0) and sum(made.values()) == 1, f"many-{number}: {counts(done)}, pods {made}"
            places |= set(made)
        assert places == {worker.name for worker in env.workers}, places
        for worker in env.workers:   # in no other namespace; those of a worker that had no Job for a minute are gone
            found = {each["metadata"]["namespace"] for each in worker.admin.list("configmaps", selector=needs.COPY_OF)
                     if env.namespace in each["metadata"]["namespace"]}
            assert found <= {env.there(worker.name)}, f"{worker.name}: {found}"
        env.delete_all()
        env.nothing_is_left_over()


@in_crowd
def every_command_takes_the_name_that_the_job_has_at_home(env):
    with _ten(env), kubelet.nodes_of(env.workers) as nodes:
        needs.create(env.management, env.namespace, needs.shared(a="1"))
        operator = test_logs._user(env, "operator", test_logs._EXEC)
        for worker in env.workers:
            env.submit(needs.sharing(f"in-{worker.name}", only=worker.name, hold="all"))
        for worker in env.workers:
            name, there = f"in-{worker.name}", env.there(worker.name)
            env.until_counts(name, ready=1)
            pod = next(each["metadata"]["name"] for each in worker.admin.list("pods", there))
            nodes[worker.name].log(there, pod).write("said in " + there)
            code, out, err = test_logs._run(env, operator, "logs", f"job/{name}")
            assert (code, out) == (0, f"said in {there}\n"), (code, out, err)
            out = env.host.explain(f"job/{name}", env.namespace)
            assert worker.name in out, out
            assert there == env.namespace or there in out, f"explain does not say {there}:\n{out}"
            assert len(env.mirrors(name)) == 1, env.mirrors(name)
            assert not (env.mirror(worker.name, name) or {})["spec"].get("managedBy"), "the mirror is delegated again"
        code, out, err = env.host.command("status")
        assert code == 0 and all(worker.name in out for worker in env.workers), out + err
        env.change("in-w2", {"metadata": {"labels": {"changed": "yes"}}})
        until(lambda: env.mirror("w2", "in-w2")["metadata"]["labels"].get("changed"), "a change to reach the mirror")
        env.management.delete("jobs", env.namespace, "in-w3")
        env.until_no_mirror("in-w3")
        env.release()
        for worker in env.workers:
            if worker.name != "w3":
                env.until_finished(f"in-{worker.name}")


@in_crowd
def names_that_collide_are_found_before_the_host_runs(env):
    """Several namespaces with one name there; in the management cluster itself, those of the workloads."""
    env.use(2)
    for name, more, told in (("w2", 'namespaces: {map: {"*": "all-in-one"}}', "all-in-one"), (OWN, "self: true", "namespaces.map"),
                             (OWN, 'self: true, namespaces: {map: {"x-*": "y-{namespace}"}}', None)):
        paths, worker_settings = dict(env.host.kubeconfigs), dict(env.host.worker_settings)
        env.host.kubeconfigs = {**paths, name: None} if name == OWN else paths
        env.host.worker_settings = {**worker_settings, name: more}
        try:
            env.host._write_config(env.host.defaults, {"job": {}})
            code, out, err = env.host.command("check")
        finally:
            env.host.kubeconfigs, env.host.worker_settings = paths, worker_settings
            env.host._write_config(env.host.defaults, {"job": {}})
        assert (code == 0) == (told is None) and (told or "") in out + err, f"exit {code}\n{out}{err}"
    env.submit(job("plain"))
    env.until_finished("plain")
