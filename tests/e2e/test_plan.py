# SPDX-License-Identifier: Apache-2.0
"""`wharf plan` against real API servers: what it prints is accepted there, and its dry runs leave nothing behind."""
from jobs import job
from skip import may_be_refused


def _in_namespace(env, body, **metadata):
    body["metadata"].update(namespace=env.namespace, **metadata)
    return body


def what_a_plan_prints_is_what_a_worker_takes(env):
    env.host.use()
    worker = env.workers[0]
    out = env.host.plan(_in_namespace(env, job("planned", parallelism=2)), "--cluster", worker.name)
    assert f"# {worker.name} would accept the mirror (dry run)" in out, out
    assert f"# {worker.name} adds: /spec/backoffLimit: 6" in out, out
    assert f"# {worker.name} changes" not in out and f"# {worker.name} removes" not in out, out
    # The API server accepts the whole output, comments included.
    stored = worker.admin.apply_yaml("jobs", env.namespace, "planned", out, {"dryRun": "All"})
    assert stored["metadata"]["labels"]["wharf.dev/kind"] == "jobs.batch", stored["metadata"]
    assert "managedBy" not in stored["spec"], stored["spec"]
    assert worker.admin.find("jobs", env.namespace, "planned") is None


@may_be_refused(("w1", "create", 422))
def a_plan_tells_unknown_fields_and_what_the_worker_refuses(env):
    env.host.use()
    worker = env.workers[0].name
    out = env.host.plan(_in_namespace(env, job("odd", fancy=1)), "--cluster", worker)
    assert f"# {worker} would drop unknown fields" in out and 'unknown field "spec.fancy"' in out, out
    assert f"# {worker} removes: /spec/fancy: 1" in out, out
    out = env.host.plan(_in_namespace(env, job("odd", parallelism=-1)), "--cluster", worker, code=1)
    assert f"# {worker} would reject the mirror: " in out and "spec.parallelism" in out, out
    absent = job("odd")
    absent["metadata"]["namespace"] = "absent-namespace"
    assert f"# {worker} has no namespace absent-namespace" in env.host.plan(absent, "--cluster", worker, code=1)


def a_plan_looks_at_the_mirror_that_is_there(env):
    env.host.use()
    env.submit(job("here", hold="all"))
    name = env.placed("here")
    found = env.job("here")
    out = env.host.plan(found, "--cluster", name)
    assert f"# {name} already has a mirror of this name: of the workload with uid {found['metadata']['uid']}, " \
           "attempt 1" in out, out
    assert f"# {name}: that mirror would not change" in out, out
    found["spec"]["parallelism"] = 3
    out = env.host.plan(found, "--cluster", name)
    assert f"# {name} changes: /spec/parallelism: 1 -> 3" in out, out
    assert env.mirror(name, "here")["spec"]["parallelism"] == 1
    env.management.delete("jobs", env.namespace, "here")
    env.until_no_mirror("here")
