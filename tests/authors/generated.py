# SPDX-License-Identifier: Apache-2.0
"""wharf adapter new, as an author uses it: for each CRD a directory in each language, which builds without a warning, passes its
own test, and says the same in each language; and settings of the generic adapter that the host accepts."""
import glob
import os
import re
import shutil

from examples import compilers, strict, without_place_and_times
from shell import Skipped, Wrong

_HERE = os.path.dirname(os.path.abspath(__file__))
# Small CRDs, and the projects' own where they are beside the checkout.
OWN = os.path.join(_HERE, "..", "unit", "cmd", "crds")
REAL = os.environ.get("WHARF_CRDS") or os.path.join(_HERE, "..", "..", "..", "shared", "crds")
EXAMPLE = "share/doc/wharf/examples/adapter-c/crd.yaml"
KINDS = {"services.yaml": ("Fleet", "Film", "Export", "Mount")}    # of files with several CRDs
NO_WORKLOADS = re.compile(r"scope: found Cluster|found no status in the schema")
CONFIG = """apiVersion: wharf.dev/v1alpha1
kind: HostConfiguration
management: {kubeconfig: %(work)s/mgmt.kubeconfig}
workers: [{name: w1, kubeconfig: %(work)s/w1.kubeconfig}]
"""
ENABLED = "adapters: {directory: ., enabled: [{name: guessed}]}\n"
KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]
users: [{name: u, user: {}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
"""


def crds(author, real):
    """(path, kind or None)"""
    folders = (OWN, REAL) if real else (OWN,)
    for path in [*(path for folder in folders for path in sorted(glob.glob(f"{folder}/*.yaml"))), f"{author.tree}/{EXAMPLE}"]:
        for kind in KINDS.get(os.path.basename(path), (None,)):
            yield os.path.abspath(path), kind


def new(author, language, path, kind, folder):
    """The directory; None for a CRD of no workload."""
    command = ["wharf", "adapter", "new", "guessed", "--language", language, "--crd", path, "--output", folder]
    code, output = author.run(command + (["--kind", kind] if kind else []), author.work)
    if code == 1 and NO_WORKLOADS.search(output):
        return None
    if code != 0:
        raise Wrong(f"{path}: exit code {code}\n{output}")
    return folder


def build(author, language, variable, compiler, path, kind):
    folder = new(author, language, path, kind, f"{author.work}/new-{os.path.basename(compiler)}")
    if not folder:
        return None
    try:
        output = author.must(["make", "-s", "all", f"{variable}={compiler}"], folder, **strict(variable))
        if output:
            raise Wrong(f"{path}: {output}")
        return what_it_does(author, folder, language == "c")
    finally:
        shutil.rmtree(folder)


def put_config(author, path, adapters):
    with open(path, "w", encoding="utf-8") as file:
        file.write(CONFIG % {"work": author.work} + adapters)


def what_it_does(author, folder, full):
    """The mirrors and statuses of the objects in the directory; `make test` passes, for one of the languages."""
    if full:
        output = author.must("make -s test", folder)
        if not re.search(r", 0 findings(, \d+ warnings)?\n", output):
            raise Wrong(output)
    put_config(author, f"{folder}/wharf.yaml", ENABLED)
    author.must("wharf check --config wharf.yaml", folder)
    said = author.must("wharf plan --config wharf.yaml -f objects/sample.yaml", folder)
    for life in sorted(os.listdir(f"{folder}/objects")):
        with open(f"{folder}/objects/{life}", encoding="utf-8") as file:
            status = file.read().rpartition("---\n")[2]
        if "\nstatus:\n" in f"\n{status}":    # not an empty one
            with open(f"{folder}/status.yaml", "w", encoding="utf-8") as file:
                file.write(re.sub(r"\nphase: .*", "", status.partition("status:\n")[2]))
            said += author.must("wharf plan --config wharf.yaml -f objects/sample.yaml --status status.yaml", folder)
    return without_place_and_times(said, "guessed")


def builds(author, said, language, variable, compiler, all_crds):
    if not shutil.which(compiler):
        raise Skipped(f"there is no {compiler}")
    count = 0
    for path, kind in crds(author, variable == "CC" and all_crds):
        if all_crds or os.path.basename(path) == "services.yaml":
            found = build(author, language, variable, compiler, path, kind)
            count += found is not None
            if found:
                said.setdefault((path, kind), {})[compiler] = found
    if count < 2:
        raise Wrong(f"only {count} CRDs")


def they_say_the_same(said):
    if not said or all(len(texts) < 2 for texts in said.values()):
        raise Skipped("there is one compiler")
    for key, texts in said.items():
        if len(set(texts.values())) != 1:
            raise Wrong(f"{key}:\n" + "\n".join(f"{compiler}:\n{text}" for compiler, text in texts.items()))


def the_settings_are_accepted(author):
    """And the mirror is that of the adapter."""
    for path, kind in crds(author, False):
        folder = new(author, "c", path, kind, f"{author.work}/new-generic")
        if not folder:
            continue
        command = ["wharf", "adapter", "new", "--generic", "--crd", path] + (["--kind", kind] if kind else [])
        settings = author.must(command, author.work)
        put_config(author, f"{folder}/generic.yaml", settings)
        author.must("make -s all", folder)
        put_config(author, f"{folder}/wharf.yaml", ENABLED)
        installed = f"--adapters {author.tree}/lib/wharf/adapters"
        author.must(f"wharf check --config generic.yaml {installed}", folder)
        plans = [author.must(f"wharf plan --config {config} -f objects/sample.yaml", folder)
                 for config in (f"generic.yaml {installed}", "wharf.yaml")]
        shutil.rmtree(folder)
        mirrors = [plan.partition("\napiVersion:")[2] for plan in plans]
        if not mirrors[0] or mirrors[0] != mirrors[1]:
            raise Wrong(f"{path}:\n{plans[0]}\n{plans[1]}")


def put_kubeconfigs(author):
    for name in ("mgmt", "w1"):
        with open(f"{author.work}/{name}.kubeconfig", "w", encoding="utf-8") as file:
            file.write(KUBECONFIG)
        os.chmod(f"{author.work}/{name}.kubeconfig", 0o600)


def checks(author):
    said = {}
    found = []
    # The first one builds all small CRDs, the first of all the projects' own as well, the others one file.
    for language, variable, compiler, first in compilers():
        found.append((f"adapter new: {language} with {compiler}",
                      lambda la=language, v=variable, c=compiler, f=first:
                      put_kubeconfigs(author) or builds(author, said, la, v, c, f)))
    return [*found, ("adapter new: they_say_the_same", lambda: they_say_the_same(said)),
            ("adapter new: the_settings_are_accepted", lambda: the_settings_are_accepted(author))]
