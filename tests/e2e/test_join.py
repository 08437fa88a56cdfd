# SPDX-License-Identifier: Apache-2.0
"""From bare clusters to workers: the commands of docs/join.md, as they are there, on servers of their own."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

import servers
from audit import Audit, code, describe
from pods import Kubelet
from proc import free_port
from skip import Skip
from wait import until

_ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def _blocks(section):
    """The commands of each indented block in a section of the page."""
    with open(os.path.join(_ROOT, "docs", "join.md"), encoding="utf-8") as page:
        text = re.search(rf"^## {section}\n(.*?)(?=^## |\Z)", page.read(), re.MULTILINE | re.DOTALL).group(1)
    return [[line[4:] for line in block.splitlines()] for block in re.findall(r"(?:^    .*\n)+", text, re.MULTILINE)]


class Place:
    """A folder with a kubeconfig for bare clusters `mgmt` and workers, and a shell in which `wharf` is there."""

    def __init__(self, env, clusters, folder):
        self.clusters, self.folder, self.port = clusters, folder, free_port()
        self.audits = {cluster.name: Audit(cluster) for cluster in clusters.all}
        self.running, self.log = [], os.path.join(folder, "output.log")
        self._write_kubeconfig()
        shutil.copy(os.path.join(_ROOT, "examples", "job.yaml"), os.path.join(folder, "job.yaml"))
        # Not installed: the adapters are elsewhere. Other hosts may be running on this machine: another port.
        self._write("wharf", "#!/bin/sh\nset -e\n"
                    f'[ "$1" = init ] || exec {env.host.wharf} "$@"\n'
                    f'{env.host.wharf} "$@" --adapters {env.host.adapters}\n'
                    f"sed -i s/127.0.0.1:9440/127.0.0.1:{self.port}/ wharf.yaml\n", 0o755)
        self.environment = {**os.environ, "KUBECONFIG": os.path.join(folder, "kubeconfig"), "HOME": folder,
                            "PATH": f"{folder}:{env.clusters.assets.base}:{os.environ['PATH']}"}

    def _write(self, name, text, mode=0o600):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def _write_kubeconfig(self):
        names = {cluster: "mgmt" if cluster.name == "management" else cluster.name for cluster in self.clusters.all}
        self._write("kubeconfig", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "mgmt",
            "clusters": [{"name": name, "cluster": {"server": f"https://127.0.0.1:{cluster.port}",
                                                    "certificate-authority": cluster.authority.certificate}}
                         for cluster, name in names.items()],
            "users": [{"name": name, "user": {"client-certificate": cluster.admin_certificate[0],
                                              "client-key": cluster.admin_certificate[1]}}
                      for cluster, name in names.items()],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in names.values()]}))

    def sh(self, command, may_fail=False):
        """Runs a line of the page and prints it; one that ends with & goes on running."""
        print(f"          $ {command}", flush=True)
        if command.endswith("&"):
            with open(self.log, "ab") as log:
                self.running.append(subprocess.Popen(["sh", "-c", "exec " + command[:-1]], stdin=subprocess.DEVNULL,
                                                     stdout=log, stderr=log, cwd=self.folder, env=self.environment))
            return ""
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, cwd=self.folder, env=self.environment, timeout=180, check=False)
        assert may_fail or done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def stop(self):
        for process in self.running:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.running.clear()

    def output(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def workers(self):
        """{name: state} as the host tells."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/workers", timeout=30) as answer:
                return {item["name"]: item["state"] for item in json.load(answer)["items"]}
        except OSError:
            return {}

    def worker(self, name):
        """What the host tells of it."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/workers", timeout=30) as answer:
            return next((item for item in json.load(answer)["items"] if item["name"] == name), {})

    def nothing_was_refused(self):
        for name, audit in self.audits.items():
            wrong = audit.refused((401, 403, 422))
            assert not wrong, f"{name} rejected {len(wrong)} of the host's requests, first: {describe(wrong[0])}"


@contextlib.contextmanager
def _bare(env, *workers):
    if not env.clusters.assets.has("kubectl"):
        raise Skip("kubectl is not there")
    folder = tempfile.mkdtemp(prefix="wharf-e2e-join-")
    kubelets, place = [], None
    try:
        with servers.Clusters(env.clusters.assets, folder, workers=workers) as clusters:
            place = Place(env, clusters, folder)
            kubelets += [Kubelet(worker, set()) for worker in clusters.workers]
            for kubelet in kubelets:
                kubelet.start()
            try:
                yield place
            except BaseException:
                if os.path.exists(place.log):
                    print("\n".join(place.output().splitlines()[-40:]))
                raise
            finally:
                place.stop()
                for kubelet in kubelets:
                    kubelet.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def from_two_bare_clusters_to_the_first_remote_job_in_six_commands_and_a_minute(env):
    with _bare(env, "w1") as place:
        (commands,) = _blocks("From two clusters to the first remote Job")
        assert len(commands) <= 6, commands
        began = time.monotonic()
        for command in commands:
            told = place.sh(command)
            if command.startswith("wharf join"):
                assert told.endswith("host: worker w1 is Ready\n"), told
        took = time.monotonic() - began
        print(f"          {len(commands)} commands, {took:.1f} s", flush=True)
        assert took < 60, took
        (mirror,) = place.clusters.workers[0].admin.list("jobs", "default")
        assert mirror["metadata"]["labels"]["wharf.dev/origin"]
        place.nothing_was_refused()


def a_worker_that_kubectl_joined_is_renewed_and_removed_by_the_commands_of_the_page(env):
    with _bare(env, "w1") as place:
        place.sh("wharf init --management-context mgmt")
        place.sh("wharf run --config wharf.yaml &")
        (by_hand,) = _blocks("With kubectl")
        for command in by_hand:
            place.sh(command)
        until(lambda: place.workers().get("w1") == "Ready", "w1 to be Ready")
        (again,), (revoke,) = _blocks("Renew")
        place.sh(revoke)
        told = place.sh(again)
        assert "worker w1 is Ready" in told and "serviceaccount/wharf created" in told, told
        secret = json.loads(place.sh("kubectl --context mgmt -n wharf-system get secret w1 -o json"))
        assert secret["metadata"]["labels"]["worker.wharf.dev/region"] == "eu"
        (quota,) = _blocks("Limits")
        place.sh(quota[0])
        _runs_a_job(place)
        (leave,), remove = _blocks("Remove")
        place.sh("kubectl --context mgmt delete job --all")
        assert "worker w1 left" in place.sh(leave)
        until(lambda: not place.workers(), "the host to forget w1")
        assert "w1 is Ready" in place.sh(again)
        for command in remove:
            place.sh(command)
        until(lambda: not place.workers(), "the host to forget w1 again")
        left = place.sh("kubectl --context w1 get clusterrole,role,sa -A -o name")
        assert "wharf" not in left, left


def _until(place, state, why=""):
    def told():
        item = place.worker("w1")
        return item.get("state") == state and why in (item.get("reason") or "") and item
    return until(told, f"w1 to be {state}: {why}", timeout=30)


def a_worker_whose_account_or_binding_is_deleted_is_rejected_within_seconds_until_it_joins_again(env):
    with _bare(env, "w1") as place:
        place.sh("wharf init --management-context mgmt")
        place.sh("sed -i 's/^adapters:/createNamespaces: true\\nadapters:/' wharf.yaml")
        place.sh("wharf run --config wharf.yaml &")
        place.sh("wharf join --context w1 --management-context mgmt --config wharf.yaml")
        again = f"WHARF_SERVER=http://127.0.0.1:{place.port} wharf join --context w1 --management-context mgmt" \
            f" --adapters {env.host.adapters}"
        rules = place.clusters.workers[0].admin.get("clusterroles", None, "wharf-worker")["rules"]
        place.sh("kubectl --context w1 -n wharf-system delete serviceaccount wharf")
        assert _until(place, "Rejected", "(401)")["contact"] == "rejected"
        assert "worker w1 is Ready" in place.sh(again)
        _runs_a_job(place)
        place.sh("kubectl --context w1 delete clusterrolebinding wharf-worker")
        assert _until(place, "Rejected", "(403)")["contact"] == "rejected"
        assert "worker w1 is Ready" in place.sh(again)
        assert _until(place, "Ready")["contact"] == "good"
        place.sh("kubectl --context mgmt delete job --all")
        _runs_a_job(place)
        assert place.clusters.workers[0].admin.get("clusterroles", None, "wharf-worker")["rules"] == rules
        told = place.sh(again + " --adapters-enabled job", may_fail=True)
        assert "ClusterRole wharf-worker would lose create of namespaces" in told, told
        assert "does not support streaming lists" not in place.output()


def _runs_a_job(place):
    place.sh("kubectl --context mgmt create -f job.yaml")
    place.sh("kubectl --context mgmt wait --for=condition=complete job --all --timeout=60s")


def a_host_with_the_printed_rights_and_no_others_runs_a_job_without_a_refusal(env):
    with _bare(env, "w1") as place:
        _host_as_service_account(place)
        for limit in ("", " --namespaced default --without-logs"):
            place.sh("wharf join --context w1 --management-context mgmt --config wharf.yaml" + limit)
            _runs_a_job(place)
            place.sh("kubectl --context mgmt delete job --all")
            until(lambda: not place.clusters.workers[0].admin.list("jobs", "default"), "the mirror to be gone")
            place.nothing_was_refused()
        told = place.sh("kubectl --context w1 auth can-i create jobs -n kube-public --as "
                        "system:serviceaccount:wharf-system:wharf", may_fail=True)
        assert told.strip() == "no", told
        _tells_which_verb_is_missing(place)


def _host_as_service_account(place):
    """The host runs with a token of ServiceAccount wharf, which has what `wharf rbac` prints."""
    place.sh("wharf init --management-context mgmt")
    place.sh("kubectl --context mgmt create namespace wharf-system")
    place.sh("wharf rbac --for management --config wharf.yaml | kubectl --context mgmt apply -f -")
    token = place.sh("kubectl --context mgmt -n wharf-system create token wharf --duration=2h").strip()
    path = os.path.join(place.folder, "kubeconfig")
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    config["users"].append({"name": "host", "user": {"token": token}})
    config["contexts"].append({"name": "host", "context": {"cluster": "mgmt", "user": "host"}})
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    place.sh("sed -i 's/context: \"mgmt\"/context: \"host\"/' wharf.yaml")
    place.sh("wharf run --config wharf.yaml &")


def _tells_which_verb_is_missing(place):
    """Without patch of jobs/status, the host's Event and `wharf check --online` say which right is missing."""
    admin = place.clusters.management.admin
    joined = len(admin.list("secrets", "wharf-system", "wharf.dev/worker=true"))
    told = place.sh("wharf check --online --config wharf.yaml", may_fail=True)
    assert re.search(r"may not [a-z, ]*create[a-z, ]* jobs\.batch, expected the rights of wharf join \(again\)", told), told
    good = place.sh("wharf check --online --namespaced default --config wharf.yaml")
    assert joined > 0 and re.search(rf"no problems(, \d+ warnings?)?: {joined} worker", good), (joined, good)
    rules = admin.get("clusterroles", None, "wharf-management")["rules"]
    fewer = json.loads(json.dumps(rules).replace('"jobs/status"', '"jobs/none"'))
    assert fewer != rules
    admin.patch("clusterroles", None, "wharf-management", {"rules": fewer})
    told = until(lambda: (lambda text: text if "may not" in text else None)(
        place.sh("wharf check --online --config wharf.yaml", may_fail=True)), "the check to miss a right")
    assert re.search(r"may not patch jobs\.batch/status", told), told
    place.sh("kubectl --context mgmt create -f job.yaml")
    until(lambda: [entry for entry in place.audits["management"].refused((403,))
                   if code(entry) == 403], "a refusal")
    until(lambda: any('cannot patch resource "jobs/status"' in (event.get("message") or event.get("note") or "")
                      for event in admin.list("events", "default")), "an Event that names the right")
