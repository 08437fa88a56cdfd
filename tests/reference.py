#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reference pages, made from the program's help. reference.py WHARF [--write]: without --write it checks that docs/cli.md and
docs/configuration.md are the help of WHARF. The tables below give each command and each key of the configuration its section."""
import os
import re
import subprocess
import sys
import textwrap

CLI, CONFIGURATION = "docs/cli.md", "docs/configuration.md"

# Sections of docs/cli.md: commands that no section names come last.
COMMANDS = (
    ("Host", "run check adapters plan rbac init guard adapter"),
    ("Workers", "join leave cordon uncordon drain"),
    ("Workloads", "status explain logs exec retry"),
    ("Other commands", ""),
)

# Sections of docs/configuration.md: the keys at the top of the file, and the pages that say more about them.
KEYS = (
    ("General", "apiVersion kind controllerName origin management namespace log", ("install", "credentials")),
    ("Workers", "workers workersFrom removal drainTimeout onWorkerLost workerLostTimeout createNamespaces", ("workers", "join")),
    ("Placement", "placement namespaces", ("placement", "capacity", "guards")),
    ("Tenants", "tenancy", ("tenancy", "security")),
    ("Dependencies", "dependencies", ("dependencies", "security")),
    ("Adapters", "adapters", ("kinds", "generic", "security")),
    ("Mirrors", "mirrorFinalizer mirrorRetention orphanGrace massDeletion seal", ("lifecycle", "security")),
    ("Kueue and pods", "kueue podEvents lastWords", ("kueue", "pod-events", "logs")),
    ("Credentials", "credentialPlugins", ("credentials",)),
    ("Server", "serve", ("api", "metrics", "security")),
    ("Fencing", "fencing", ("fencing",)),
    ("Replicas", "leaderElection shards", ("availability",)),
    ("Limits", "memory rateLimit", ("memory", "security")),
    ("Other keys", "", ()),
)
WIDTH = 128
MADE_BY = "`make reference` generates this page from `{}`."


def said(program, *arguments):
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout


def block(text):
    return "".join(f"    {line}\n" if line else "\n" for line in text.rstrip("\n").split("\n"))


def sections(table, known):
    """(title, names, what else the row has) for each row with names; the last row gets the names that no row has."""
    named = [name for row in table for name in row[1].split()]
    for title, names, *rest in table:
        present = [name for name in names.split() if name in known]
        if title == table[-1][0]:
            present += [name for name in known if name not in named]
        if present:
            yield title, present, rest


def commands(program):
    """{name: what it does, in a few words}"""
    lines = said(program, "help").split("Commands:\n")[1].split("\n\n")[0].split("\n")
    return dict(line.split(maxsplit=1) for line in lines if line.strip())


def cli_page(program):
    known = commands(program)
    page = f"# Commands\n\n{MADE_BY.format('wharf help')} `wharf help COMMAND` prints one section.\n"
    for title, names, _ in sections(COMMANDS, known):
        page += f"\n## {title}\n\n| command | |\n|---|---|\n"
        page += "".join(f"| [wharf {name}](#wharf-{name}) | {markdown(known[name])} |\n" for name in names)
        for name in names:
            page += f"\n### wharf {name}\n\n" + block(said(program, "help", name))
    return page


def markdown(text):
    """Help as Markdown: characters of markup are escaped, and pages become links."""
    text = re.sub(r"([\\*|<>])", r"\\\1", text)
    return re.sub(r"docs/([\w-]+\.md)", r"[\1](\1)", text)


class Key:
    """One key: its path, whether it is required, the value, the default and the meaning."""

    def __init__(self, lines):
        self.path, _, flags = lines[0].partition("  ")
        self.required = "(required)" in flags
        value, help_text = re.match(r"Expects (.*?)\.(?: +|$)(?=[A-Z\"]|$)(.*)", " ".join(line.strip() for line in lines[1:])).groups()
        self.value = value
        first = re.match(r"Default:? (?P<default>.+?)\.(?: +|$)(?P<meaning>.*)", help_text)
        last = re.match(r"(?P<meaning>.+\.) Default: (?P<default>.+)\.$", help_text)
        self.default, self.meaning = (first or last).group("default", "meaning") if first or last else ("", help_text)
        self.top = re.split(r"[.\[]", self.path)[0]


def keys(program):
    """The text before the keys, and the keys."""
    intro, *rest = said(program, "help", "configuration").rstrip("\n").split("\n\n")
    return intro.replace("\n", " "), [Key(text.split("\n")) for text in rest]


def cell(text):
    return f" {markdown(text)} |" if text else " |"


def key_table(found):
    rows = "| key | value | default | meaning |\n|---|---|---|---|\n"
    for key in found:
        rows += f"| `{key.path}` |" + cell(key.value) + cell("required" if key.required else key.default) + cell(key.meaning) + "\n"
    return rows


def paragraph(text):
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def key_section(key, below):
    """A key with keys below it: what it is, and a table of these."""
    value = "" if key.value == "a mapping" else f"{key.value[0].upper()}{key.value[1:]}. "
    default = "Required. " if key.required else f"Default: {key.default}. " if key.default else ""
    return f"\n### {key.path}\n\n" + paragraph(markdown(value + default + key.meaning)) + "\n" + key_table(below)


def configuration_page(program):
    intro, found = keys(program)
    tops = list(dict.fromkeys(key.top for key in found))
    example = "[etc/wharf.yaml](../etc/wharf.yaml) is a commented example with every key."
    page = "# Configuration\n\n" + paragraph(f"{MADE_BY.format('wharf help configuration')} {example}")
    page += "\n" + paragraph(markdown(intro))
    for title, names, (pages,) in sections(KEYS, tops):
        page += f"\n## {title}\n"
        if pages:
            page += "\nSee " + ", ".join(f"[{name}.md]({name}.md)" for name in pages) + ".\n"
        below = {name: [key for key in found if key.top == name] for name in names}
        plain = [below[name][0] for name in names if len(below[name]) == 1]
        if plain:
            page += "\n" + key_table(plain)
        for name in names:
            if len(below[name]) > 1:
                page += key_section(below[name][0], below[name][1:])
    return page


def keys_without_example(program):
    """Keys that etc/wharf.yaml does not show."""
    with open("etc/wharf.yaml") as file:
        example = file.read()
    return [key.path for key in keys(program)[1] if f"{key.path.split('.')[-1]}:" not in example]


def main():
    program, write = os.path.abspath(sys.argv[1]), "--write" in sys.argv
    stale = []
    for path, text in ((CLI, cli_page(program)), (CONFIGURATION, configuration_page(program))):
        old = open(path).read() if os.path.exists(path) else ""
        if write:
            with open(path, "w") as file:
                file.write(text)
        elif old != text:
            stale.append(path)
    for key in keys_without_example(program):
        stale.append("etc/wharf.yaml")
        print(f"not ok  etc/wharf.yaml does not have {key}")
    for path in stale:
        print(f"not ok  {path} is not what the program says: make reference writes the pages")
    print(f"{0 if stale else 3} passed, {len(stale)} failed, 0 skipped")
    return 1 if stale else 0


sys.exit(main())
