# SPDX-License-Identifier: Apache-2.0
"""The descriptions of mutants. A block of lines each, separated by empty lines; "#" begins a comment:

    mutant: its-name
    test: sim                     or replicas: its trials with several of the host; or unit/engine/decide_test, a
                                  program of tests/
    with: SIM_BACK=all            environment of the test (may be absent, or several)
    seeds: 3000                   more than usual (may be absent)
    says: rule 2                  what the test must say (may be absent)
    in: core/engine               a folder or file; may be repeated before further replacements
    - text to find, once
    + its replacement

The text may have several lines; spaces and line ends count as one space, so that reformatting changes nothing."""

import os
import re


class Mutant:
    def __init__(self, source):
        self.source, self.name, self.test, self.says, self.seeds = source, "", "sim", "", 0
        self.environment, self.replacements = {}, []


def read_block(source, lines):
    mutant, where, old, new = Mutant(source), "core", [], []

    def close():
        if old:
            mutant.replacements.append((where, "\n".join(old), "\n".join(new)))
        old.clear()
        new.clear()

    for line in lines:
        key, _, value = line.partition(" ")
        if key == "-":
            if new:
                close()
            old.append(value)
        elif key == "+":
            new.append(value)
        elif key == "in:":
            close()
            where = value.strip()
        elif key in ("mutant:", "test:", "says:", "seeds:", "with:"):
            value = value.strip()
            if key == "with:":
                name, _, setting = value.partition("=")
                mutant.environment[name] = setting
            else:
                setattr(mutant, {"mutant:": "name"}.get(key, key[:-1]), int(value) if key == "seeds:" else value)
        else:
            raise ValueError(f"{source}: a line that is not understood: {line}")
    close()
    if not mutant.name or not mutant.replacements:
        raise ValueError(f"{source}: a mutant without a name or a replacement")
    return mutant


def read_all(folder):
    mutants = []
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".txt"):
            continue
        source = os.path.join("tests/mutants", name)
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            lines = [line.rstrip("\n") for line in file if not line.startswith("#")]
        block = []
        for line in lines + [""]:
            if line.strip():
                block.append(line)
            elif block:
                mutants.append(read_block(source, block))
                block = []
    names = [m.name for m in mutants]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two mutants have the name {name}")
    return mutants


def sources(root, where):
    path = os.path.join(root, where)
    if os.path.isfile(path):
        return [path]
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names
                  if name.endswith((".c", ".h")))


def apply_to(mutant, root, write=True):
    """Returns the texts of the changed files as they were. Raises ValueError if something is not there once."""
    texts, saved = {}, {}
    for where, old, new in mutant.replacements:
        pattern = re.compile(r"\s+".join(re.escape(word) for word in old.split()))
        found = []
        for path in sources(root, where):
            if path not in texts:
                with open(path, encoding="utf-8") as file:
                    texts[path] = file.read()
            found += [(path, match) for match in pattern.finditer(texts[path])]
        if len(found) != 1:
            raise ValueError(f"found {len(found)} times in {where}, expected once: {' '.join(old.split())[:100]}")
        path, match = found[0]
        saved.setdefault(path, texts[path])
        texts[path] = texts[path][:match.start()] + new + texts[path][match.end():]
    if write:
        for path in saved:
            with open(path, "w", encoding="utf-8") as file:
                file.write(texts[path])
    return saved
