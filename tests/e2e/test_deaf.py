# SPDX-License-Identifier: Apache-2.0
"""A controller in the management cluster that ignores managedBy, and so runs what is delegated there too."""
import contextlib
import os

import crds
import kinds
import trainer_server
from jobs import job
from skip import Skip
from wait import until

GROUP, PLURAL, VERSION = "trainer.kubeflow.org", "trainjobs", "v1alpha1"
LATER = "terminationGracePeriodSeconds"   # a field that the API has since Trainer 2.3.0


def nothing_is_placed_where_a_deaf_trainer_runs(env):
    _install(env)
    with _older_api(env.management), trainer_server.Trainer(env.clusters.management):
        # No other kind: nothing else shows the host a JobSet.
        env.host.use(enabled={"trainjob": {"ownedObjects": "jobset.x-k8s.io/v1alpha2/jobsets"}})
        code, out, err = env.host.command("check", "--online")
        assert code == 0 and "is of a version whose controller runs delegated objects" in out + err, (code, out, err)
        _create(env, "first")
        env.until_event("first", "^AlsoRunHere: .* it made jobsets first; ")
        _create(env, "second")
        until(lambda: _waits(env, "second") == "also-run", "the second TrainJob to wait for the controller to stop")
        out = env.host.explain("trainjob/first", env.namespace)
        assert "jobsets first" in out, out
        until(lambda: env.host.metrics()["wharf_workloads_also_run_here", (("kind", f"{PLURAL}.{GROUP}"),)] == 1,
              "the metric to count the TrainJob")
        assert env.host.ready(), "other kinds go on, and the host is not ready"
        for name in ("first", "second"):
            assert "wharf.dev/cluster" not in env.management.get(PLURAL, env.namespace, name)["metadata"].get("annotations", {})
        assert not any(worker.admin.list(PLURAL, env.namespace) for worker in env.workers)
    _delete_jobsets(env)


def a_mirror_runs_to_its_end_although_a_deaf_trainer_fails_its_workload(env):
    _install(env)
    with trainer_server.Trainer(env.clusters.management):
        worker = _start_hybrid(env, "deaf", "allow")
        uid = worker.admin.get(PLURAL, env.namespace, "deaf")["metadata"]["uid"]
        until(lambda: env.management.find("jobsets", env.namespace, "deaf"), "the management cluster's Trainer to make a JobSet")
        _finish(env.management, "jobsets", env.namespace, "deaf", "Failed")
        env.until_event("deaf", "^AlsoRunHere: ")
        env.submit(job("ordinary"))   # finished later: its mirror is deleted later than the other would be
        env.until_finished("ordinary")
        until(lambda: not any(each.admin.find("jobs", env.namespace, "ordinary") for each in env.workers),
              "the mirror of a finished Job to be deleted")
        found = worker.admin.find(PLURAL, env.namespace, "deaf")
        assert found and found["metadata"]["uid"] == uid, "its running mirror was deleted"
    _finish(worker.admin, PLURAL, env.namespace, "deaf", "Complete")

    def is_complete():
        found = env.management.get(PLURAL, env.namespace, "deaf")
        assert [each["type"] for each in found["status"]["conditions"] if each["status"] == "True"] == ["Complete"], found["status"]
        return True
    until(is_complete, "the mirror's status to be that of the workload")
    _delete_jobsets(env)


def a_mirror_is_suspended_where_a_deaf_trainer_runs_its_workload(env):
    _install(env)
    worker = _start_hybrid(env, "yielding", "suspend")
    with trainer_server.Trainer(env.clusters.management):
        until(lambda: env.management.find("jobsets", env.namespace, "yielding"), "the management cluster's Trainer to make a JobSet")
        env.until_event("yielding", "^AlsoRunHere: .*the host suspends the mirror")
        until(lambda: worker.admin.get(PLURAL, env.namespace, "yielding")["spec"].get("suspend") is True,
              "the mirror to be suspended")
        _finish(env.management, "jobsets", env.namespace, "yielding", "Completed")
        until(lambda: not worker.admin.find(PLURAL, env.namespace, "yielding"), "the suspended mirror to be deleted")
        found = env.management.get(PLURAL, env.namespace, "yielding")["status"]
        assert [each["type"] for each in found["conditions"] if each["status"] == "True"] == ["Complete"], found
    _delete_jobsets(env)


def _install(env):
    kinds.of(env).installed(["jobsets", PLURAL])
    trainer_server.create_runtime([env.management])


@contextlib.contextmanager
def _older_api(client):
    """The API of Trainer 2.2: its CRD lacks a field."""
    path = crds.path_of(GROUP, PLURAL)
    name = f"{PLURAL}.{GROUP}"
    older = client.get("customresourcedefinitions", None, name)
    if not _drop(older["spec"]["versions"], LATER):
        raise Skip(f"{os.path.basename(path)} is not the CRD of Trainer 2.3.0")
    older["metadata"].pop("managedFields", None)
    client.call("PUT", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}", older)
    try:
        until(lambda: not _serves(client), f"the API of {name} to be without {LATER}")
        crds.until_served(client, GROUP, PLURAL, VERSION)
        yield
    finally:
        crds.apply(client, path)
        until(lambda: _serves(client), f"the API of {name} to have {LATER} again")
        crds.until_served(client, GROUP, PLURAL, VERSION)


def _serves(client):
    schemas = client.call("GET", f"/openapi/v3/apis/{GROUP}/{VERSION}")["components"]["schemas"]
    return any(LATER in str(each["properties"]["spec"]) for each in schemas.values() if any(
        of["kind"] == "TrainJob" for of in each.get("x-kubernetes-group-version-kind", ())))


def _drop(value, key):
    """How many members with this key were removed from a JSON document."""
    if isinstance(value, list):
        return sum(_drop(each, key) for each in value)
    if not isinstance(value, dict):
        return 0
    return (value.pop(key, None) is not None) + sum(_drop(each, key) for each in value.values())


def _create(env, name):
    env.management.create(PLURAL, env.namespace, {
        "apiVersion": f"{GROUP}/{VERSION}", "kind": "TrainJob", "metadata": {"name": name},
        "spec": {"managedBy": "kueue.x-k8s.io/multikueue", "runtimeRef": {"name": "torch-distributed"}}})


def _start_hybrid(env, name, hybrid):
    """Returns the worker with the mirror of a new TrainJob."""
    env.host.use(enabled={"job": {}, "jobset": {}, "trainjob": {"hybrid": hybrid}}, mirrorRetention="2s")
    _create(env, name)
    return until(lambda: next((each for each in env.workers if each.admin.find(PLURAL, env.namespace, name)), None),
                 "the TrainJob to have a mirror")


def _waits(env, name):
    code, out, _ = env.host.command("explain", f"trainjob/{name}", "-n", env.namespace, "-o", "json")
    return "also-run" if code == 0 and "also-run" in out else None


def _delete_jobsets(env):
    for found in env.management.list("jobsets", env.namespace):
        env.management.delete("jobsets", env.namespace, found["metadata"]["name"])


def _finish(client, plural, namespace, name, word):
    condition = {"type": word, "status": "True", "reason": "Test", "message": "by the test",
                 "lastTransitionTime": "2026-01-01T00:00:00Z"}
    client.patch(plural, namespace, name, {"status": {"conditions": [condition]}}, "status")
