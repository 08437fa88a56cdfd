# SPDX-License-Identifier: Apache-2.0
"""Credentials that are not in the kubeconfig: from a plugin, and impersonation."""
import contextlib
import json
import os
import sys

from jobs import job
from wait import until

HERE = os.path.dirname(os.path.abspath(__file__))


@contextlib.contextmanager
def _another_user(env, worker, user):
    """The host reaches this worker as this user of a kubeconfig."""
    kept = env.host.kubeconfigs[worker.name]
    env.host.kubeconfigs[worker.name] = worker.write("other.kubeconfig", json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "k", "cluster": {"server": f"https://127.0.0.1:{worker.port}",
                                               "certificate-authority": worker.authority.certificate}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}]}))
    try:
        yield
    finally:
        env.host.kubeconfigs[worker.name] = kept
        if env.host.process.running():
            env.host.stop()


def _plugin(worker, seconds):
    """A user with a plugin beside the kubeconfig, its path, and a function that tells how often it has run."""
    runs = worker.path("runs")
    path = worker.write("token-plugin", "#!/bin/sh\n"
                        f'exec {sys.executable} -B {HERE}/token_plugin.py "$@"\n')
    os.chmod(path, 0o755)

    def count():
        if not os.path.exists(runs):
            return 0
        with open(runs, encoding="utf-8") as file:
            return len(file.readlines())
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never",
                     "command": "./token-plugin", "args": [worker.admin_config, runs, str(seconds)],
                     "provideClusterInfo": True}}, path, count


def _submit_until_there_is_one_in(env, worker):
    """Jobs whose pods run until they are released; their number."""
    for number in range(20):
        env.submit(job(f"job{number}", hold="all"))
        if env.placed(f"job{number}") == worker.name:
            return number + 1
    raise AssertionError(f"none of 20 Jobs was placed in {worker.name}")


def _revoke_tokens(worker):
    """All tokens of the account become invalid; watches that were opened with them stay open."""
    worker.admin.delete("serviceaccounts", "wharf-system", "wharf")
    worker.admin.create("serviceaccounts", "wharf-system", {"metadata": {"name": "wharf"}})
    worker.write("wharf.token", worker.admin.token_of("wharf-system", "wharf") + "\n")   # for the other tests


def a_plugin_brings_tokens_and_new_ones_before_they_expire_and_when_they_are_rejected(env):
    worker = env.workers[1]
    user, path, runs = _plugin(worker, 15)
    with _another_user(env, worker, user):
        env.use_all(credentialPlugins=json.dumps({"allow": [path]}))
        count = _submit_until_there_is_one_in(env, worker)
        first = runs()
        until(lambda: runs() > first, "a token to be renewed before it expires")
        _revoke_tokens(worker)
        env.release()
        for number in range(count):
            env.until_finished(f"job{number}")
        for number in range(count):
            env.until_no_mirror(f"job{number}")
        code, out, err = env.host.command("check", "--online")
        assert code == 0, f"exit {code}\n{out}{err}"
        assert "its credential is accepted" in out, out


a_plugin_brings_tokens_and_new_ones_before_they_expire_and_when_they_are_rejected.may_be_refused = {("w2", "*", 401)}


def the_host_acts_as_the_user_that_a_kubeconfig_impersonates(env):
    worker = env.workers[0]
    certificate, key = worker.admin_certificate
    admin = {"client-certificate": certificate, "client-key": key}
    with _another_user(env, worker, {**admin, "as": "wharf"}):
        env.use_all()
        env.submit(job("first"))
        env.until_finished("first")
        env.until_no_mirror("first")
        env.host.stop()
    with _another_user(env, worker, {**admin, "as": "nobody", "as-groups": ["guests"]}):
        env.host.settings, before = None, env.host.log_size()
        env.host.use()
        until(lambda: env.host.logged('nobody', before), "the API server to refuse nobody")
        code, _, err = env.host.command("check", "--online")
        assert code == 1 and worker.name in err, f"exit {code}\n{err}"
        env.host.stop()


the_host_acts_as_the_user_that_a_kubeconfig_impersonates.may_be_refused = {("w1", "*", 403)}
