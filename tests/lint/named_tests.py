# SPDX-License-Identifier: Apache-2.0
"""Tests and scenarios that the documents name exist: `program_test: a_sentence`, `program_test`, `hostile: NAME`."""
import glob
import os
import re

import files

NAMED = re.compile(r"`(\w+_test)(?:: (\w+))?`")
HOSTILE = re.compile(r"`hostile: ([a-z-]+)`")


def _sources(program):
    found = glob.glob(os.path.join(files.ROOT, "tests", "**", program + ".c"), recursive=True)
    return [files.read(os.path.relpath(path, files.ROOT)) or "" for path in found]


def _is_scenario(name):
    text = files.read(os.path.join("tests", "hostile", "scenarios.py")) or ""
    return re.search(rf"^def {name.replace('-', '_')}\(", text, re.MULTILINE) is not None


def check(path, text):
    if not path.endswith(".md"):
        return
    for number, line in enumerate(text.split("\n"), 1):
        for program, sentence in NAMED.findall(line):
            sources = _sources(program)
            if not sources:
                yield number, f"there is no test program {program}"
            elif sentence and not any(re.search(rf"\b{sentence}\b", source) for source in sources):
                yield number, f"{program} has no test {sentence}"
        for name in HOSTILE.findall(line):
            if not _is_scenario(name):
                yield number, f"there is no hostile scenario {name}"
