# SPDX-License-Identifier: Apache-2.0
"""Workers that come, are cordoned and go while the host runs, and tokens that the host renews."""
import base64
import contextlib
import json
import time

from jobs import job
from wait import until

_OURS = "wharf-system"


def _encode(text):
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


def _read(path):
    with open(path, "rb") as file:
        return file.read()


def _kubeconfig(worker, user):
    """Everything inline, as a Secret has to have it."""
    return json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "default",
        "clusters": [{"name": "worker", "cluster": {
            "server": f"https://127.0.0.1:{worker.port}",
            "certificate-authority-data": _encode(_read(worker.authority.certificate))}}],
        "users": [{"name": "wharf", "user": user}],
        "contexts": [{"name": "default", "context": {"cluster": "worker", "user": "wharf"}}]})


def _secret(env, worker, user, **annotations):
    return env.management.create("secrets", _OURS, {
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": worker.name, "labels": {"wharf.dev/worker": "true"},
                     "annotations": {f"wharf.dev/{key}": value for key, value in annotations.items()}},
        "data": {"kubeconfig": _encode(_kubeconfig(worker, user))}})


@contextlib.contextmanager
def _host_without(env, worker):
    """The host's configuration has all workers but this one, and Secrets."""
    former = dict(env.host.kubeconfigs)
    if env.host.process.running():
        env.host.stop()
    try:
        del env.host.kubeconfigs[worker.name]
        env.host.use(workersFrom="{secrets: true}")
        yield
    finally:
        for plural, name in (("secrets", worker.name), ("configmaps", "wharf-workers")):
            if env.management.find(plural, _OURS, name):
                env.management.delete(plural, _OURS, name)
        env.host.kubeconfigs.update(former)
        env.host.stop()


def _known(env, worker):
    return ("wharf_worker_mirrors", (("cluster", worker.name),)) in env.host.metrics()


def _cordon(env, **workers):
    data = {name: json.dumps(entry) if entry else None for name, entry in workers.items()}
    if env.management.find("configmaps", _OURS, "wharf-workers"):
        env.management.patch("configmaps", _OURS, "wharf-workers", {"data": data})
    else:
        env.management.create("configmaps", _OURS, {"apiVersion": "v1", "kind": "ConfigMap", "data": data,
                                                    "metadata": {"name": "wharf-workers"}})


def a_worker_joins_by_a_secret_is_cordoned_and_leaves_while_jobs_run(env):
    first, second = env.workers
    with _host_without(env, second):
        until(lambda: env.host.takes_work(first.name), f"{first.name} to get work")
        for number in range(3):
            env.submit(job(f"before-{number}", hold="all"))
            assert env.placed(f"before-{number}") == first.name
        assert not _known(env, second)
        _secret(env, second, {"token": second.admin.token_of(_OURS, "wharf")})
        until(lambda: env.host.takes_work(second.name), f"{second.name} to get work")
        _cordon(env, **{first.name: {"cordoned": True}})
        until(lambda: not env.host.takes_work(first.name), f"{first.name} to be cordoned")
        env.submit(job("after", hold="all"))
        assert env.placed("after") == second.name
        _cordon(env, **{first.name: None})
        until(lambda: env.host.takes_work(first.name), f"{first.name} to get work again")
        # It leaves: what runs there ends there, and nothing new comes.
        env.management.delete("secrets", _OURS, second.name)
        until(lambda: not env.host.takes_work(second.name), f"{second.name} to leave")
        for number in range(2):
            env.submit(job(f"later-{number}", hold="all"))
            assert env.placed(f"later-{number}") == first.name
        assert env.mirror(second.name, "after"), "the mirror in the worker that leaves is gone"
        env.release()
        names = [f"before-{n}" for n in range(3)] + ["after"] + [f"later-{n}" for n in range(2)]
        for name in names:
            assert env.until_finished(name)["metadata"]["annotations"]["wharf.dev/attempt"] == "1"
            assert len(env.mirrors_that_ran(name)) == 1
        until(lambda: not _known(env, second), f"{second.name} to be forgotten")
        env.delete_all()
        env.nothing_is_left_over()   # before the host is stopped


def _claims(token):
    payload = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


def _old_token():
    """Four fifths of its life are over. The server does not look at it: the client certificate comes first."""
    now = int(time.time())
    parts = ({"alg": "none"}, {"iat": now - 3000, "exp": now + 600})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + ".x"


def a_token_in_a_secret_is_renewed_when_four_fifths_of_its_life_are_over(env):
    _, second = env.workers
    certificate, key = second.host_certificate
    with _host_without(env, second):
        old = _old_token()
        _secret(env, second, {"token": old, "client-certificate-data": _encode(_read(certificate)),
                              "client-key-data": _encode(_read(key))},
                **{"token-service-account": f"{_OURS}/wharf"})

        def renewed():
            secret = env.management.get("secrets", _OURS, second.name)
            text = env.host.wharf and base64.b64decode(secret["data"]["kubeconfig"]).decode()
            return text if old not in text else None
        text = until(renewed, "the token to be renewed")
        token = next(word.strip('"') for word in text.replace(",", " ").split() if word.strip('"').count(".") == 2
                     and word.strip('"').startswith("ey"))
        claims = _claims(token)
        assert claims["sub"] == f"system:serviceaccount:{_OURS}:wharf", claims
        assert claims["exp"] > time.time() + 3000, claims
        until(lambda: env.host.metrics().get(("wharf_worker_token_expiry_timestamp_seconds", (
            ("cluster", second.name),))) == claims["exp"], "the metric to tell the new token")
        # With nothing but the new token it is as good as before.
        before = env.host.log_size()
        env.management.patch("secrets", _OURS, second.name, {"data": {"kubeconfig": _encode(_kubeconfig(
            second, {"token": token}))}})
        until(lambda: env.host.logged(f"the credentials of the worker are replaced cluster={second.name}", before),
              "the host to use nothing else")
        until(lambda: env.host.takes_work(second.name), f"{second.name} to get work")
        _cordon(env, **{env.workers[0].name: {"cordoned": True}})
        until(lambda: not env.host.takes_work(env.workers[0].name), "the other worker to be cordoned")
        env.submit(job("by-token"))
        env.until_finished("by-token")
        assert env.mirrors_that_ran("by-token")
        env.delete_all()
        env.nothing_is_left_over()
