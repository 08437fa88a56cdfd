# SPDX-License-Identifier: Apache-2.0
"""Each manifest that a user can apply, as an API server of its own validates it with fieldValidation=Strict: an unknown field, a
field that is set twice and a warning are failures. The files are found by their content, not by a list."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import textwrap

import crds
import discovery
import kube
import kueue_server
import servers
from installed import cases, chart, to_json

_NO_OBJECTS = ("HostConfiguration", "Kustomization", "Component")   # read by wharf and kustomize
_CRD = "CustomResourceDefinition"
_BLOCK = re.compile(r"^```yaml[^\n]*\n(.*?)^```$|((?:^(?:    [^\n]*)?\n)+)", re.DOTALL | re.MULTILINE)
_RBAC = (("management",), ("management", "--namespaced=a,b", "--user=u"), ("management", "--account=x", "--namespace=y"), ("worker",),
         ("worker", "--exec"), ("worker", "--without-logs", "--namespaced=a,b"), ("guard",), ("guard", "--account=x", "--user=u"))


def _walk(folder, ending):
    for place, folders, names in os.walk(os.path.join(chart.ROOT, folder)):
        folders[:] = sorted(set(folders) - {"templates", "build"})
        yield from (os.path.join(place, name) for name in sorted(names) if name.endswith(ending))


def _read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def _split(where, text):
    return [(where, part) for part in re.split(r"^---$", text, flags=re.MULTILINE) if re.search(r"^kind:", part, re.MULTILINE)]


def _of_files():
    for path in [*_walk("etc", ".yaml"), *_walk("examples", ".yaml")]:
        yield from _split(os.path.relpath(path, chart.ROOT), _read(path))


def _of_pages():
    """The YAML of documentation, without excerpts: those have a line `...`."""
    for path in [*_walk("docs", ".md"), os.path.join(chart.ROOT, "README.md")]:
        for match in _BLOCK.finditer(_read(path)):
            text = match[1] or textwrap.dedent(match[2] or "")
            if re.search(r"^apiVersion:", text, re.MULTILINE) and not re.search(r"^\.\.\.$", text, re.MULTILINE):
                yield from _split(os.path.relpath(path, chart.ROOT), text)


def _as_json(where, things):
    return [(where, json.dumps(thing)) for thing in things]


def _of_kustomizations(env):
    if chart.kubectl():
        for path in _walk("etc", "kustomization.yaml"):
            if "kind: Kustomization" in _read(path):
                folder = os.path.relpath(os.path.dirname(path), chart.ROOT)
                yield from _as_json(f"kubectl kustomize {folder}", chart.kustomize(to_json(env), folder))


def _of_the_chart(env):
    for name, values in cases.ALL.items():
        yield from _as_json(f"the chart with {name}", chart.render(to_json(env), values))


def _of_commands(env):
    adapters = ("--adapters", env.host.adapters, "--adapters-enabled",
                ",".join(sorted(name.removesuffix(".so") for name in os.listdir(env.host.adapters) if name != "generic.so")))
    join = ("join", "--kubeconfig", env.workers[0].admin_config, "--context", "default", "--name", "w1", "--labels", "a=b",
            "--management-kubeconfig", env.clusters.management.admin_config, "--management-context", "default", "--dry-run", *adapters)
    for command in [*(("rbac", "--for", *flags, *adapters) for flags in _RBAC), join, (*join, "--exec", "--namespaced=a,b")]:
        said = subprocess.run([env.host.wharf, *command], capture_output=True, text=True)
        assert said.returncode == 0, (command, said.stderr)
        yield from _split("wharf " + " ".join(command[:3]), said.stdout)


class _Server:
    """An API server that validates; `found` counts the objects by where they are from."""

    def __init__(self, env, cluster):
        self.env, self.cluster, self.admin = env, cluster, cluster.admin
        self.namespaces, self.wrong, self.missing, self.found = set(), [], set(), {}

    def define(self, things):
        """Installs the kinds of these objects: by the definitions among them, by their projects', or by those of tests/e2e/crds."""
        texts = {thing["spec"]["group"] + "_" + thing["spec"]["names"]["plural"]: text for text, thing in things if thing["kind"] == _CRD}
        files = {}
        for name, text in texts.items():
            path = os.path.join(self.cluster.folder, name + ".yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            files[path] = next(thing["spec"]["versions"][0]["name"] for other, thing in things if other == text)
        for _, thing in things:
            group, _, version = thing["apiVersion"].partition("/")
            plural = thing["kind"].lower() + ("es" if thing["kind"].endswith("s") else "s")
            path = f"{group}_{plural}" not in texts and version and not discovery.resource_of(self.admin, thing) and _definition(group, plural)
            if path:
                files[path] = version
        crds.install([self.admin], files)

    def send(self, where, text, thing):
        path = discovery.path_of(self.admin, thing)
        if not path:
            self.missing.add(f"{thing['kind']} of {thing['apiVersion']}")
            return
        self._make_namespace(thing["metadata"].get("namespace", "default"))
        asked = {"dryRun": "All", "fieldValidation": "Strict"}
        try:
            if "name" in thing["metadata"]:
                self.admin.raw("PATCH", path, text.encode(), "application/apply-patch+yaml",
                               query={**asked, "fieldManager": "e2e", "force": "true"})
            else:
                self.admin.raw("POST", path, text.encode(), "application/yaml", query=asked)
            warnings = self.admin.warnings()
        except kube.ApiError as error:
            warnings = [str(error)]
        self.wrong += [f"{where}: {thing['kind']}: {warning}" for warning in warnings]
        self.found[where] = self.found.get(where, 0) + 1

    def _make_namespace(self, name):
        if name not in self.namespaces and not self.admin.find("namespaces", None, name):
            self.admin.create("namespaces", None, {"metadata": {"name": name}})
        self.namespaces.add(name)


def _definition(group, plural):
    assets, _ = kueue_server.find()
    kueue = assets and os.path.join(kueue_server.components(assets), "crd", "bases", f"{group}_{plural}.yaml")
    return kueue if kueue and os.path.exists(kueue) else crds.path_of(group, plural)


def every_manifest_is_accepted_with_strict_validation(env):
    sources = [*_of_files(), *_of_pages(), *_of_kustomizations(env), *_of_the_chart(env), *_of_commands(env)]
    parsed = [(where, text, chart.read_yaml(to_json(env), text)[0]) for where, text in sources]
    parsed = [(where, text, thing) for where, text, thing in parsed if thing["kind"] not in _NO_OBJECTS]
    folder = tempfile.mkdtemp(prefix="wharf-e2e-manifests-")
    try:
        with servers.Clusters(env.clusters.assets, folder, workers=()) as clusters:
            server = _Server(env, clusters.management)
            server.define([(text, thing) for _, text, thing in parsed])
            _strictness(server, next(thing for _, _, thing in parsed if thing["kind"] == "Deployment"))
            for where, text, thing in parsed:
                server.send(where, text, thing)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"        {sum(server.found.values())} objects of {len(server.found)} files, pages and commands")
    for kind in sorted(server.missing):
        print(f"        not sent: {kind} (its CRD is not there)")
    assert not server.wrong, "\n".join(server.wrong)


def _strictness(server, deployment):
    """Its rejections are seen."""
    for text in (json.dumps({**deployment, "spec": {**deployment["spec"], "replica": 1}}),
                 json.dumps(deployment).replace('"spec": {', '"spec": {"paused": true, "paused": false, ', 1)):
        server.send("a mistake", text, deployment)
        assert server.wrong.pop() and not server.wrong, text
    server.found.clear()
