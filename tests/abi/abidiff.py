# SPDX-License-Identifier: Apache-2.0
"""abidiff.py FOLDER CC...: what debug information says of the frozen header and of today's, compared by abidiff
(abigail-tools). Structs whose size is known and enums may grow at their end; nothing else may be in its report. Then
the same for the changes of headers.py: those that it must find, and those that are allowed."""
import os
import re
import subprocess
import sys

import headers

FROZEN, TODAY = "tests/abi/wharf-1.0/adapter.h", "include/wharf/adapter.h"
TYPE = re.compile(r"'(struct|enum) (\w+) at [^']*' changed:")
SUMMARY = re.compile(r"Leaf changes summary: \d+ artifacts? changed|Changed leaf types summary: \d+ leaf types? changed|"
                     r"Removed/Changed/Added (functions|variables) summary: 0 Removed, 0 Changed, 0 Added (function|variable)s?|"
                     r"(Functions|Variables) changes summary: 0 Removed, 0 Changed, 0 Added (function|variable)s?")
SIZE = re.compile(r"type size changed from (\d+) to (\d+) \(in bits\)")
MEMBER = re.compile(r"'.*', at offset (\d+) \(in bits\).*")
ENUM = re.compile(r"type size hasn't changed|\d+ enumerator insertions?:|'\w+::\w+' value '\d+'")


def build(compiler, folder, header):
    """A shared object with the whole of a header in its debug information."""
    os.makedirs(f"{folder}/wharf", exist_ok=True)
    with open(f"{folder}/wharf/adapter.h", "w", encoding="utf-8") as file:
        file.write(header)
    subprocess.run([*compiler, "-std=c11", "-g", "-O0", "-fPIC", "-shared", f"-I{folder}", "-o", f"{folder}/all.so",
                    "tests/abi/everything.c"], check=True)
    return f"{folder}/all.so"


def refused(report):
    """The lines of a report that tell of more than growth at the end."""
    found, what, name, size = [], "", "", 0
    for line in filter(None, map(str.strip, report.splitlines())):
        begins, sized, member = TYPE.fullmatch(line), SIZE.fullmatch(line), MEMBER.fullmatch(line)
        if SUMMARY.fullmatch(line):
            continue
        if begins:
            what, name, size = begins[1], begins[2], 0
            allowed = what == "enum" or name in headers.SIZED + headers.ELEMENTS
        elif what == "struct":
            size = int(sized[1]) if sized else size
            allowed = bool(sized or re.fullmatch(r"\d+ data member insertions?:", line) or
                           member and size and int(member[1]) >= size)
        else:
            allowed = what == "enum" and ENUM.fullmatch(line)
        if not allowed:
            found.append(f"{name}: {line}")
    return found


def compare(before, after):
    run = subprocess.run(["abidiff", "--leaf-changes-only", "--harmless", before, after], capture_output=True, text=True,
                         check=False)
    wrong = refused(run.stdout)
    if run.returncode & 3 or run.returncode and not run.stdout:     # it could not compare
        wrong.append(f"abidiff ended with {run.returncode}: {run.stderr.strip()}")
    return wrong


def main(folder, compiler):
    header = headers.text_of(FROZEN)
    frozen = build(compiler, f"{folder}/frozen", header)
    wrong = [f"{TODAY}: {line}" for line in compare(frozen, build(compiler, f"{folder}/today", headers.text_of(TODAY)))]
    for name, (change, allowed, shown) in headers.CHANGES.items():
        found = compare(frozen, build(compiler, f"{folder}/{name}", change(header))) if shown else []
        if shown and bool(found) == allowed:
            wrong.append(f"change \"{name}\": {'found ' + '; '.join(found) if found else 'not found'}")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
