# SPDX-License-Identifier: Apache-2.0
"""The examples, taken out of the installed tree: built by each compiler that is there, tested, installed and enabled."""
import glob
import os
import re
import shutil

from shell import Skipped, Wrong

STRICT = "-O2 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
CONFIG = """apiVersion: wharf.dev/v1alpha1
kind: HostConfiguration
management: {kubeconfig: mgmt.kubeconfig}
workers: [{name: w1, kubeconfig: w1.kubeconfig}]
adapters: {directory: %s, enabled: [{name: simulation, sha256: %s}]}
"""
# language, variable of the Makefile, compilers
LANGUAGES = (("c", "CC", ("gcc", "clang")), ("cpp", "CXX", ("g++", "clang++")), ("rust", "RUSTC", ("rustc", "/usr/bin/rustc")))


def compilers():
    """(language, variable, compiler, whether it is the first one of its language)"""
    for language, variable, names in LANGUAGES:
        for name in names:
            if name != "/usr/bin/rustc" or os.path.realpath(shutil.which("rustc") or "") != name:    # not the same one
                yield language, variable, name, name == names[0]


def strict(variable):
    return {} if variable == "RUSTC" else {"CFLAGS": STRICT, "CXXFLAGS": STRICT}


def without_place_and_times(planned, adapter):
    return re.sub(rf"\S*/{adapter}\.so|\d{{4}}-\d\d-\d\dT\S*", "", planned)


def copied(author, compiler):
    folder = f"{author.work}/examples-{compiler.strip('/').replace('/', '-')}"
    shutil.copytree(f"{author.tree}/share/doc/wharf/examples", folder)
    return folder


def build_and_test(author, plans, example, variable, compiler, first):
    if not shutil.which(compiler):
        raise Skipped(f"there is no {compiler}")
    folder = f"{copied(author, compiler)}/{example}"
    options = strict(variable)
    author.must(["make", "all", f"{variable}={compiler}"], folder, **options)
    plans[compiler] = plan(author, folder)
    exported = author.must("nm -D --defined-only simulation.so", folder).split()[2::3]
    if exported != ["wharf_module_v1"]:
        raise Wrong(f"exported are {exported}")
    if first:   # what another compiler of the same language makes of it is compared by its plans
        output = author.must(["make", "test", f"{variable}={compiler}"], folder, **options)
        if ", 0 findings" not in output:
            raise Wrong(output)
    author.must(["make", "install", f"{variable}={compiler}"], folder, **options)
    is_enabled(author, folder)


def is_enabled(author, folder):
    """`wharf adapters` lists the installed file with the hash that pins it."""
    directory = f"{author.tree}/lib/wharf/adapters"
    sha256 = author.must(f"sha256sum {directory}/simulation.so", folder).split()[0]
    with open(f"{folder}/wharf.yaml", "w", encoding="utf-8") as file:
        file.write(CONFIG % (directory, sha256))
    output = author.must("wharf adapters --config wharf.yaml", folder)
    if "simulations.batch.example.com/v1" not in output or sha256 not in output:
        raise Wrong(output)


def scorer(author, compiler):
    """The example that rates workers: built, tested and installed; `wharf plan` shows its scores."""
    if not shutil.which(compiler):
        raise Skipped(f"there is no {compiler}")
    folder = f"{copied(author, 'scorer-' + compiler)}/scorer-data-locality"
    output = author.must(["make", "test", "install", f"CC={compiler}"], folder, CFLAGS=STRICT)
    if ", 0 findings" not in output:
        raise Wrong(output)
    with open(f"{folder}/wharf.yaml", encoding="utf-8") as file:    # its parts of a configuration, and the rest
        parts = file.read().replace("adapters:\n", f"adapters:\n  directory: {author.tree}/lib/wharf/adapters\n")
    with open(f"{folder}/whole.yaml", "w", encoding="utf-8") as file:
        file.write("apiVersion: wharf.dev/v1alpha1\nkind: HostConfiguration\nmanagement: {kubeconfig: m.kubeconfig}\n" + parts)
    listed = author.must("wharf adapters --config whole.yaml", folder)
    planned = author.must("wharf plan --config whole.yaml -f objects/job.yaml", folder)
    if "scores of all kinds" not in listed or "# scores: data-locality: w2 100, w3 50 (" not in planned:
        raise Wrong(listed + planned)


def makefiles_are_short(author):
    for path in glob.glob(f"{author.tree}/share/doc/wharf/examples/*/Makefile"):
        with open(path, encoding="utf-8") as file:
            lines = len(file.readlines())
        if lines >= 15:
            raise Wrong(f"{path} has {lines} lines")


def plan(author, folder):
    """What `wharf plan` prints with an adapter: of one to be placed, one to be placed again, and a suspended one."""
    with open(f"{folder}/plan.yaml", "w", encoding="utf-8") as file:
        file.write(CONFIG.replace(", sha256: %s", "") % folder)
    with open(f"{folder}/../adapter-c/simulation.yaml", encoding="utf-8") as file:
        simulation = file.read()
    with open(f"{folder}/objects.yaml", "w", encoding="utf-8") as file:
        file.write("---\n".join((simulation, simulation + "status: {completedSteps: 300, nodes: [n1]}\n",
                                 simulation.replace("workers: 2", "suspend: true"))))
    output = author.must("wharf plan --config plan.yaml -f objects.yaml", folder)
    if "startAtStep: 300" not in output or "SuspendedBeforeStart" not in output:
        raise Wrong(output)
    return without_place_and_times(output, "simulation")


def they_say_the_same(plans):
    """The adapters make the same of the same objects, whatever they are written in."""
    if len(plans) < 2:
        raise Skipped("there are not two of them")
    if len(set(plans.values())) != 1:
        raise Wrong("\n".join(f"{compiler}:\n{text}" for compiler, text in plans.items()))


def checks(author):
    found, plans = [("examples: makefiles_are_short", lambda: makefiles_are_short(author))], {}
    for language, variable, compiler, first in compilers():
        found.append((f"examples/adapter-{language} with {compiler}",
                      lambda e=f"adapter-{language}", v=variable, c=compiler, f=first: build_and_test(author, plans, e, v, c, f)))
    for compiler in ("gcc", "clang"):
        found.append((f"examples/scorer-data-locality with {compiler}", lambda c=compiler: scorer(author, c)))
    found.append(("examples: they_say_the_same", lambda: they_say_the_same(plans)))
    return found
