# SPDX-License-Identifier: Apache-2.0
"""Tenants: a host that acts in the workers as the tenants, with the rights that `wharf rbac` prints for that and no others."""
import contextlib
import datetime
import os
import re
import time

import kube
import manifests
import policies
import test_logs
from audit import code, describe
from host import DEFAULTS, Host
from jobs import job
from skip import may_be_refused
from wait import until

_MANAGED_BY, _ACCOUNT, _GROUP = "wharf.dev/tenancy", "tenancy", "wharf:tenants"
_USER = f"system:serviceaccount:wharf-system:{_ACCOUNT}"


def _tenant(env):
    return f"wharf:{env.namespace}"


def _consent(env, worker, given=True):
    uid = env.management.get("namespaces", None, env.namespace)["metadata"]["uid"] if given is True else given
    worker.admin.patch("namespaces", None, env.namespace, {"metadata": {"annotations": {"wharf.dev/tenant": uid or None}}})


def _print_rights(host, role, *more):
    return host.rights(role, "--account", _ACCOUNT, *more)


def _kubeconfig(cluster):
    file = cluster.write(f"{_ACCOUNT}.token", cluster.admin.token_of("wharf-system", _ACCOUNT) + "\n")
    return cluster.kubeconfig(_ACCOUNT, token_file=os.path.basename(file))


def _may_act(env, cluster):
    """Whether the account may impersonate the tenant."""
    return env.may(cluster, "impersonate", "users", _USER, name=_tenant(env), namespace="")


@contextlib.contextmanager
def _host(env, consents, mode="impersonate", flags=(), **settings):
    """A host with an account of its own. `consents`: the workers whose namespace does."""
    folder = os.path.join(env.folder, "tenancy")
    os.makedirs(folder, exist_ok=True)
    host = Host(env.host.wharf, env.host.adapters, folder, env.host.kubeconfigs,
                {**DEFAULTS, "tenancy": mode, **settings}, "tenancy", _MANAGED_BY)
    host._write_config(host.defaults, {"job": {}})
    manifests.apply_rights(env.clusters, {role: _print_rights(host, role, "--namespaced", env.namespace, *more)
                                          for role, more in (("management", ()), ("worker", flags))})
    host.kubeconfigs = {cluster.name: _kubeconfig(cluster) for cluster in env.clusters.all}
    for worker in env.workers:
        _consent(env, worker, worker.name in consents)
        until(lambda worker=worker: _may_act(env, worker), "the rights of the host to be in force")
    try:
        host.use()
        host.until_takes_work(worker.name for worker in env.workers)
        yield host
        env.delete_all()
        until(lambda: not _mirrors(env), "the mirrors to be gone")
    finally:
        host.stop()


def _mirrors(env):
    return {mirror["metadata"]["name"]: worker.name for worker in env.workers
            for mirror in worker.admin.list("jobs", env.namespace, selector="wharf.dev/origin=tenancy")}


def _submit(env, name, **more):
    env.submit(job(name, managed_by=_MANAGED_BY, **more))


def _runs(env, name, worker=None):
    """Waits until its mirror runs, in this worker; the worker's name."""
    def probe():
        where = _mirrors(env).get(name)
        assert where and worker in (None, where), f"{name} is in {where}"
        assert env.job(name)["metadata"]["annotations"]["wharf.dev/cluster"] == where
        return where
    where = until(probe, f"{name} to be in {worker or 'a worker'}")
    env.until_counts(name, ready=1)
    return where


def _explain(env, host, name, text):
    def probe():
        told = host.explain(f"job/{name}", env.namespace)
        assert text in told, told
        return True
    until(probe, f"wharf explain {name} to tell: {text}")


def _time(entry):
    return datetime.datetime.fromisoformat(entry["requestReceivedTimestamp"]).timestamp()


def _all_are_the_tenants(env):
    """Returns the verbs of the host's writes in the workers."""
    verbs = set()
    for worker in env.workers:
        for entry in env.audits[worker.name].writes(env.namespace):
            if code(entry) == 403 and "cannot impersonate" in entry["responseStatus"]["message"]:
                continue
            who = entry.get("impersonatedUser", {})
            assert who.get("username") == _tenant(env) and _GROUP in who["groups"], f"{worker.name}: {describe(entry)}"
            verbs.add(entry["verb"])
    return verbs


def every_write_in_a_worker_is_recorded_as_the_tenants_and_needs_the_tenants_rights_alone(env):
    with _host(env, {"w1", "w2"}):
        names = [f"tenant-{number}" for number in range(6)]
        for name in names:
            _submit(env, name, hold="all")
        for name in names:
            _runs(env, name)
        env.change("tenant-0", {"metadata": {"labels": {"changed": "yes"}}})
        until(lambda: env.worker(_mirrors(env)["tenant-0"]).admin.get("jobs", env.namespace, "tenant-0")["metadata"]["labels"].get(
            "changed"), "the change to reach the mirror")
        env.management.delete("jobs", env.namespace, "tenant-1")
        env.release()
        for name in names[2:]:
            env.until_finished(name)
        until(lambda: not _mirrors(env), "the mirrors to be gone")
        assert _all_are_the_tenants(env) == {"create", "patch", "delete"}, _all_are_the_tenants(env)
        for worker in env.workers:
            assert env.audits[worker.name].writes(env.namespace), f"nothing was written in {worker.name}"
        # In the management cluster, and elsewhere in the workers, the host is itself.
        others = [entry for cluster in env.clusters.all for entry in env.audits[cluster.name].by_host()
                  if "impersonatedUser" in entry and entry.get("objectRef", {}).get("namespace") != env.namespace
                  and entry["impersonatedUser"]["username"] == _tenant(env)]
        assert not others, describe(others[0])
        env.nothing_was_refused((401, 403, 422))


def copies_of_what_a_workload_refers_to_are_the_tenants_too(env):
    client, namespace = env.management, env.namespace
    client.create("configmaps", namespace, {"metadata": {"name": "settings"}, "data": {"a": "1"}})
    client.create("secrets", namespace, {"metadata": {"name": "password"}, "data": {"b": "Mg=="}})
    with _host(env, {"w1"}, dependencies='{copy: [configmaps, secrets], secrets: all}') as host:
        assert "secrets" in _print_rights(host, "worker", "--namespaced", namespace)
        body = job("reads", managed_by=_MANAGED_BY, hold="all")
        body["spec"]["template"]["spec"]["containers"][0]["envFrom"] = [
            {"configMapRef": {"name": "settings"}}, {"secretRef": {"name": "password"}}]
        env.submit(body)
        _runs(env, "reads", "w1")
        client.patch("secrets", namespace, "password", {"data": {"b": "Mw=="}})
        there = env.worker("w1").admin
        until(lambda: there.get("secrets", namespace, "password")["data"]["b"] == "Mw==", "the change to reach the copy")
        assert there.get("configmaps", namespace, "settings")["data"] == {"a": "1"}
        _all_are_the_tenants(env)
        made = {entry["objectRef"]["resource"] for entry in env.audits["w1"].writes(namespace) if entry["verb"] == "create"}
        assert {"configmaps", "secrets", "jobs"} <= made, made
        assert not env.audits["w2"].writes(namespace)
        env.nothing_was_refused((401, 403, 422))
        for plural, name in (("configmaps", "settings"), ("secrets", "password")):
            client.delete(plural, namespace, name)
        env.delete_all()
        until(lambda: not there.find("secrets", namespace, "password") and not there.find("configmaps", namespace, "settings"),
              "the copies to be gone")
        _all_are_the_tenants(env)


def a_workload_goes_where_the_namespace_consents_and_what_runs_stays_when_it_no_longer_does(env):
    first, second = env.workers
    with _host(env, {"w2"}) as host:
        for number in range(4):
            _submit(env, f"welcome-{number}", hold="all")
        for number in range(4):
            _runs(env, f"welcome-{number}", second.name)
        status, out, errors = host.command("check", "--online", "--namespaced", env.namespace)
        assert status == 0 and f"w2: consent of {env.namespace}" in out and "w1 (" in errors, out + errors
        _consent(env, second, "11111111-1111-4111-8111-111111111111")   # of another namespace
        withdrawn = time.time()
        _submit(env, "waits", hold="all")
        env.until_event("welcome-0", "ConsentWithdrawn.*keeps")
        _explain(env, host, "waits", "has no consent of the namespace: expected annotation wharf.dev/tenant:")
        _consent(env, first)
        _runs(env, "waits", first.name)
        env.release()
        for number in range(4):
            env.until_finished(f"welcome-{number}")
        assert list(env.pods_created("welcome-0")) == [second.name]
        late = [entry for entry in env.audits[second.name].host(env.namespace, verb="create") if _time(entry) > withdrawn + 1]
        assert not late, describe(late[0])
        _all_are_the_tenants(env)


def what_runs_goes_when_the_namespace_no_longer_consents_and_the_configuration_says_so(env):
    first, second = env.workers
    with _host(env, {"w1"}, "{mode: impersonate, withdrawn: remove}"):
        _submit(env, "moves", hold="all")
        _runs(env, "moves", first.name)
        _consent(env, first, False)
        until(lambda: not _mirrors(env), "the mirror to be gone")
        _consent(env, second)
        _runs(env, "moves", second.name)
        env.until_event("moves", "Rescheduled.*consent")
        _all_are_the_tenants(env)


@may_be_refused(("w1", "*", 403))
def a_host_that_may_no_longer_act_as_the_tenant_says_so_once_and_uses_other_workers(env):
    first, second = env.workers
    with _host(env, {"w1", "w2"}) as host:
        _submit(env, "before", hold="all")
        _runs(env, "before")
        before = host.log_size()
        role = first.admin.get("clusterroles", None, f"{_ACCOUNT}-worker")
        kept = [rule for rule in role["rules"] if rule["verbs"] != ["impersonate"]]
        assert len(kept) == len(role["rules"]) - 2
        first.admin.patch("clusterroles", None, f"{_ACCOUNT}-worker", {"rules": kept})
        until(lambda: not _may_act(env, first), "the rights to be taken away")
        names = [f"away-{number}" for number in range(8)]
        for name in names:
            _submit(env, name, hold="all")
        for name in names:
            _runs(env, name, second.name)
        told = f"the host may not act as user {_tenant(env)} there, so nothing of namespace"
        until(lambda: host.logged(told, before), "the host to tell")
        refused = [entry for entry in env.audits["w1"].writes(env.namespace) if code(entry) == 403]
        assert 1 <= len(refused) <= 6, f"{len(refused)} requests were refused"
        _submit(env, "pinned", only="w1", hold="all")
        _explain(env, host, "pinned", f"does not let the host act as user {_tenant(env)}")
        with open(host.process.log, encoding="utf-8") as log:
            log.seek(before)
            assert len(re.findall(told, log.read())) == 1
        first.admin.patch("clusterroles", None, f"{_ACCOUNT}-worker", {"rules": role["rules"]})
        until(lambda: _may_act(env, first), "the rights to be in force")
        _runs(env, "pinned", "w1")   # the next try is seconds later
        _all_are_the_tenants(env)


@may_be_refused(("w1", "create", 403), ("w1", "create", 422))
def policies_and_quotas_of_a_worker_see_the_tenant(env):
    first, second = env.workers
    with _host(env, {"w1", "w2"}):
        with policies.rejecting_user(first, env.namespace, _tenant(env), _GROUP, "no tenants in this quarter"):
            names = [f"tenant-{number}" for number in range(3)]
            for name in names:
                _submit(env, name, hold="all")
            for name in names:
                _runs(env, name, second.name)
            until(lambda: any("no tenants in this quarter" in text for name in names for text in env.events(name)), "it to be told")
        hard = {"count/jobs.batch": "0"}
        first.admin.create("resourcequotas", env.namespace, {"metadata": {"name": "none"}, "spec": {"hard": hard}})
        first.admin.patch_status("resourcequotas", env.namespace, "none", {"status": {"hard": hard, "used": hard}})
        _submit(env, "over", hold="all")
        _runs(env, "over", second.name)
        _all_are_the_tenants(env)


def logs_are_read_as_the_tenant(env):
    with _host(env, {"w1"}) as host:
        operator = test_logs._user(env, "operator", test_logs._READ)
        _submit(env, "chats", hold="all")
        _runs(env, "chats", "w1")
        test_logs._run(env, operator, "logs", "job/chats", host=host)

        def read():
            found = [entry for entry in env.audits["w1"].entries(env.namespace) if entry["user"]["username"] == _USER
                     and entry.get("objectRef", {}).get("subresource") == "log"]
            assert found
            return all(entry["impersonatedUser"]["username"] == _tenant(env) for entry in found)
        until(read, "the log to be read as the tenant")


def an_api_server_words_a_denied_impersonation_in_two_ways(env):
    """As core/kube/client expects it: the first denied right, or that of the way that worked before."""
    worker = env.workers[0]
    limited = kube.Client.of(worker.kubeconfig("limited", certificate=worker.host_certificate))   # user wharf may not
    one, other = (limited.acting_as(user, _GROUP) for user in (_tenant(env), "wharf:other"))
    told = set()
    for client in (one, other):
        try:
            client.create("jobs", env.namespace, job("denied", managed_by=None))
        except kube.ApiError as error:
            assert error.code == 403 and re.search('" cannot impersonate', str(error)), error
            told.add(re.search(r"cannot (impersonate\S*) resource", str(error)).group(1))
    assert told <= {"impersonate", "impersonate-on:user-info:create"} and told, told


an_api_server_words_a_denied_impersonation_in_two_ways.may_be_refused = {("w1", "create", 403)}
