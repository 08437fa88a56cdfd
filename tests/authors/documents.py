# SPDX-License-Identifier: Apache-2.0
"""Documents whose code blocks are run. A block ```LANGUAGE file=NAME is written to that file; in a block ```sh the lines
that begin with "$ " are run, each followed by what it prints: "..." stands for any text, alone on a line for any lines. A
command that is to fail ends with "# fails"; what is exported is there for all commands after it. All blocks of a document
are run in one new folder, in their order. Where there is no kubectl, stand_in.py makes its requests, and what it would
print is not compared."""
import os
import re
import sys
import time

from shell import Skipped, Wrong

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lint"))

import links    # noqa: E402
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sandbox", "test"))

import clusters  # noqa: E402

DOCUMENTS = ("adapters.md",)
CONFIG = "share/doc/wharf/wharf.yaml"
BLOCK = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MINIMUM = 10    # a document of which less is found has not been read well
EVENTS = "kubectl get events"   # which the host writes on its own time: they are looked at again
EVENTS_S = 90


def steps(text):
    """(line, "file", name, content) and (line, "run", command, expected output)"""
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 2
        name = re.search(r"\bfile=(\S+)", match[2])
        if name:
            yield line, "file", name[1], match[3]
        elif match[1] == "sh":
            for part in re.split(r"^\$ ", match[3], flags=re.MULTILINE)[1:]:
                command, _, expected = part.partition("\n")
                yield line, "run", command, expected


def pattern(expected):
    lines = []
    for line in expected.strip().splitlines():
        lines.append(r"(?:[^\n]*\n)*?" if line == "..." else
                     ".*".join(re.escape(part) for part in line.rstrip().split("...")) + r"[ \t]*\n")
    return re.compile("".join(lines))


def run_step(author, folder, what, name, content):
    if what == "file":
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        return
    command, _, fails = name.partition("# fails")
    exported = re.fullmatch(r"export (\w+)=(\S+)\s*", command)
    if exported:
        author.environment[exported[1]] = exported[2]
        return
    code, output = author.run(command, folder)
    if (code != 0) != (fails == "" and "# fails" in name):
        raise Wrong(f"{command}: exit code {code}\n{output}")
    if "kubectl" in command and not clusters.find_kubectl():
        return
    until = time.monotonic() + EVENTS_S
    while not pattern(content).fullmatch(output.rstrip() + "\n" if output.strip() else ""):
        if not command.startswith(EVENTS) or time.monotonic() > until:
            raise Wrong(f"{command}: found\n{output}\nexpected\n{content}")
        time.sleep(0.2)
        code, output = author.run(command, folder)


def put_kubectl_on_path(author):
    """The one that is there, or what stands in for it."""
    folder = f"{author.work}/kubectl"
    os.makedirs(folder)
    stand_in = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stand_in.py")
    program = clusters.find_kubectl()
    with open(f"{folder}/kubectl", "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec {program} "$@"\n' if program else
                   f'#!/bin/sh\nexec {sys.executable} -B {stand_in} "$@"\n')
    os.chmod(f"{folder}/kubectl", 0o755)
    author.environment["PATH"] = f"{folder}:{author.environment['PATH']}"
    author.environment["HOME"] = folder     # for its cache
    author.environment["TO_JSON"] = os.environ["TO_JSON"]


def kubectl_is_there(_):
    if not clusters.find_kubectl():
        raise Skipped("there is no kubectl (KUBECTL, PATH, KUBEBUILDER_ASSETS): its requests were made without it")


def document(author, name):
    with open(f"{author.tree}/share/doc/wharf/{name}", encoding="utf-8") as file:
        found = list(steps(file.read()))
    if len(found) < MINIMUM:
        raise Wrong(f"{name}: only {len(found)} steps were found")
    folder = f"{author.work}/{name}"
    os.makedirs(folder)
    put_kubectl_on_path(author)
    try:
        for line, what, first, second in found:
            run_step(author, folder, what, first, second)
    except Wrong as wrong:
        raise Wrong(f"docs/{name}:{line}: {wrong}") from None
    finally:
        author.run("wharf-sandbox stop --dir live", folder)     # if a step before that has failed


def links_lead_somewhere(author):
    """From each installed document to something that is installed too. (Those of the repository: make lint.)"""
    documents = [os.path.relpath(os.path.join(folder, name), author.tree) for folder, _, names in os.walk(author.tree)
                 for name in names if name.endswith(".md")]
    if len(documents) < MINIMUM:
        raise Wrong(f"only {len(documents)} documents are installed")
    found = []
    for path in sorted(documents):
        with open(f"{author.tree}/{path}", encoding="utf-8") as file:
            found += [f"{path}:{line}: {problem}" for line, problem in links.broken(author.tree, path, file.read())]
    with open(f"{author.tree}/{CONFIG}", encoding="utf-8") as file:
        found += [f"{CONFIG}: {name} is not there" for name in re.findall(r"[\w./-]+\.md\b", file.read())
                  if not os.path.exists(os.path.join(author.tree, os.path.dirname(CONFIG), name))]
    if found:
        raise Wrong("\n".join(found))


def checks(author):
    return [(f"docs/{name}, step by step", lambda name=name: document(author, name)) for name in DOCUMENTS] + \
        [("documents: links_lead_somewhere", lambda: links_lead_somewhere(author)),
         ("documents: kubectl_is_there", lambda: kubectl_is_there(author))]
