# SPDX-License-Identifier: Apache-2.0
"""The host under test: `wharf run` with a config made on the spot; it can be stopped, killed and started again."""
import contextlib
import json
import os
import re
import signal
import subprocess

from proc import Process, fetch, free_port
from wait import until

DEFAULTS = {"workerLostTimeout": "10m", "mirrorRetention": "1s", "createNamespaces": "false",
            "log": "{format: text, level: debug}"}


class Host:
    """One host process. `kubeconfigs` is {cluster name: path}, the management cluster's under "management"; a worker without a
    path is told by its `worker_settings` alone. `defaults` are the settings of a test that gives none."""

    def __init__(self, wharf, adapters, folder, kubeconfigs, defaults=None, origin="e2e", managed_by="wharf.dev/host"):
        self.origin, self.managed_by = origin, managed_by
        self.defaults = DEFAULTS if defaults is None else defaults
        self.wharf, self.folder = os.path.abspath(wharf), folder
        self.adapters, self.kubeconfigs = os.path.abspath(adapters), kubeconfigs
        self.port, self.settings = free_port(), None
        self.worker_settings = {}   # {worker: what else the configuration says of it}
        self.config = os.path.join(folder, "wharf.yaml")
        self.process = Process("wharf", [self.wharf, "run", "--config", self.config],
                               os.path.join(folder, "wharf.log"), cwd=folder)

    def write(self, settings, enabled=None):
        """The configuration, as of `use`, for commands before the host runs."""
        self._write_config({**self.defaults, **settings}, enabled or {"job": {}})

    def _write_config(self, settings, enabled):
        # Relative paths, as users write them: relative to the folder of the configuration.
        paths = {name: path and os.path.relpath(path, self.folder) for name, path in self.kubeconfigs.items()}
        lines = ["apiVersion: wharf.dev/v1alpha1", "kind: HostConfiguration",
                 f"controllerName: {self.managed_by}", f"origin: {self.origin}",
                 f"management: {{kubeconfig: {paths.pop('management')}}}", "workers:"]
        for name, path in paths.items():
            told = [f"name: {name}", path and f"kubeconfig: {path}", self.worker_settings.get(name)]
            lines.append(f"- {{{', '.join(filter(None, told))}}}")
        # JSON is YAML.
        lines += ["adapters:", f"  directory: {self.adapters}", "  enabled:"]
        lines += [f"  - {json.dumps({'name': name, **more})}" for name, more in enabled.items()]
        lines += [f"serve: {{address: 127.0.0.1:{self.port}}}"]
        lines += [f"{key}: {value}" for key, value in settings.items()]
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def socket(self):
        """The path of its Unix socket; None where it has none."""
        with open(os.path.join(self.folder, "wharf.log"), encoding="utf-8") as log:
            found = re.findall(r"wharf starting .* socket=(\S+)", log.read())
        return found[-1] if found else None

    def use(self, enabled=None, **settings):
        """Makes sure that it runs with these settings (and the defaults above for the others). `enabled` has the
        adapters, {name: what else the configuration says of it}; only Jobs unless it is given."""
        enabled = enabled or {"job": {}}
        wanted = {**self.defaults, **settings}
        if self.process.running() and (wanted, enabled) == self.settings:
            return
        if self.process.running():
            self.stop()
        self._write_config(wanted, enabled)
        self.settings = (wanted, enabled)
        self.start()

    def reconfigure(self, enabled=None, **settings):
        """The same while it runs: writes the configuration, which it reads again."""
        wanted, enabled = {**self.defaults, **settings}, enabled or {"job": {}}
        since = self.log_size()
        self._write_config(wanted, enabled)
        self.settings = (wanted, enabled)
        until(lambda: self.logged("configuration reloaded", since), "the configuration to be reloaded")

    def start(self):
        self.process.start()
        until(self.ready, "the host to be ready", timeout=120, every=0.02)

    def ready(self):
        self.process.check()
        return self.fetch("/readyz")[0] == 200

    def kill(self):
        self.process.kill()

    def stop(self):
        """SIGTERM; it has to exit with 0: after ten seconds of its own time it gives up and exits with 1."""
        code = self.process.terminate()
        assert code == 0, f"after SIGTERM the host exited with {code} (None: not within 60 s)"

    def fetch(self, path):
        """(HTTP status, body); (0, "") if nothing listens."""
        return fetch(self.port, path, timeout=30)

    def metrics(self):
        """{(name, ((label, value), ...)): number}"""
        code, text = self.fetch("/metrics")
        assert code == 200, f"/metrics answered {code}"
        found = {}
        for line in text.splitlines():
            sample = re.fullmatch(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)", line)
            if sample:
                labels = tuple(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', sample.group(2) or ""))
                found[sample.group(1), labels] = float(sample.group(3))
        return found

    def feed(self, cluster, kind, state):
        """Whether the watch of this kind in this cluster is in this state."""
        return self.metrics().get(("wharf_watch_state", (("cluster", cluster), ("kind", kind), ("state", state)))) == 1

    def takes_work(self, worker, kind="jobs.batch"):
        """Whether it gets new work of this kind: later than its watch is connected, as it is identified then."""
        return self.metrics().get(("wharf_worker_eligible", (("cluster", worker), ("kind", kind)))) == 1

    def until_takes_work(self, workers, kind="jobs.batch"):
        """`workers`: their names."""
        for worker in workers:
            until(lambda worker=worker: self.takes_work(worker, kind), f"{worker} to get work of {kind}")

    def log_size(self):
        """A place in the log, for `logged`."""
        return os.path.getsize(self.process.log) if os.path.exists(self.process.log) else 0

    def logged(self, text, since=0):
        """Whether the log has this text after that place."""
        with open(self.process.log, "rb") as log:
            log.seek(since)
            return text.encode() in log.read()

    @contextlib.contextmanager
    def frozen(self):
        """It does not run meanwhile: what happens then comes to it at once."""
        self.process.child.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.child.send_signal(signal.SIGCONT)

    def command(self, *args):
        """Runs another subcommand on the same config: (exit code, stdout, stderr)."""
        done = subprocess.run([self.wharf, *args, "--config", self.config], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=180, check=False)
        return done.returncode, done.stdout, done.stderr

    def explain(self, workload, namespace, *args):
        """What it prints about "job/a"."""
        code, out, err = self.command("explain", workload, "-n", namespace, *args)
        assert code == 0, out + err
        return out

    def rights(self, role, *args):
        """What `wharf rbac` prints for "management", "worker" or "guard"."""
        code, out, err = self.command("rbac", "--for", role, *args)
        assert code == 0, err
        return out

    def plan(self, body, *flags, code=0):
        """What `wharf plan` prints about this object; it exits with this code."""
        path = os.path.join(self.folder, "plan.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(body, file)
        found, out, err = self.command("plan", "-f", path, *flags)
        assert found == code and not err, f"exit {found} instead of {code}\n{out}{err}"
        return out
