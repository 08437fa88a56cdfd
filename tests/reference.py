#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reference pages, made from what the program says of itself. reference.py WHARF [--write]: without --write it checks that
docs/cli.md and docs/configuration.md are what WHARF says now."""
import os
import subprocess
import sys

INTRO = {
    "docs/cli.md": "# Commands\n\nMade by `make reference` from `wharf help`, which reads the tables that the flags are read with.\n",
    "docs/configuration.md": "# Configuration\n\nMade by `make reference` from `wharf help configuration`, which reads the tables that the file is read "
                             "with.\n[etc/wharf.yaml](../etc/wharf.yaml) is a commented file with every key.\n",
}


def said(program, *arguments):
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout


def block(text):
    return "".join(f"    {line}\n" if line else "\n" for line in text.rstrip("\n").split("\n"))


def commands(program):
    lines = said(program, "help").split("Commands:\n")[1].split("\n\n")[0].split("\n")
    return [line.split()[0] for line in lines if line.strip()]


def pages(program):
    cli = INTRO["docs/cli.md"] + "\n" + block(said(program, "help"))
    for name in commands(program):
        cli += f"\n## wharf {name}\n\n" + block(said(program, "help", name))
    return {"docs/cli.md": cli, "docs/configuration.md": INTRO["docs/configuration.md"] + "\n" + block(said(program, "help", "configuration"))}


def keys_without_example(program):
    """Keys that etc/wharf.yaml does not show."""
    with open("etc/wharf.yaml") as file:
        example = file.read()
    keys = [line.split()[0] for line in said(program, "help", "configuration").split("\n\n", 1)[1].split("\n") if line and line[0] != " "]
    return [key for key in keys if f"{key.split('.')[-1]}:" not in example]


def main():
    program, write = os.path.abspath(sys.argv[1]), "--write" in sys.argv
    stale = []
    for path, text in pages(program).items():
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
