# SPDX-License-Identifier: Apache-2.0
"""What must not be written, and the line that every source begins with."""
import re

import files

BANNED = re.compile(r"(?<![\w.>])(strcpy|strcat|sprintf|vsprintf|stpcpy|strtok|atoi|atol|atoll|gets|system|alloca|tmpnam|"
                    r"mktemp|rand|srand)\s*\(")
# Folders of the machine that something was written on, and package registries. Spelled in pieces: this is read too.
HOST_PATHS = re.compile(r"(?<![\w.*])/(wo" r"rk|ho" r"me/\w+|Us" r"ers/\w+)/\w")
REGISTRIES = re.compile(r"\b(deb\.deb" r"ian\.org|registry\.npm" r"js\.org|py" r"pi\.org|proxy\.go" r"lang\.org|"
                        r"crates" r"\.io|repo\.maven|gh" r"cr\.io|quay" r"\.io|docker" r"\.io|gcr" r"\.io)\b")
NULL_TEST = re.compile(r"[!=]=\s*NULL\b|\bNULL\s*[!=]=")
COMPARED = re.compile(r"!\s*(?:str|mem)\w*cmp\s*\(")
SPDX = "SPDX-License-Identifier: Apache-2.0"
SPDX_FILES = (".c", ".h", ".cc", ".py", ".sh", ".mk", ".yaml", ".in", ".clang-tidy", "Makefile", "bootstrap", ".ci/run")
NO_TEXT_RULES = ("LICENSE",)


def check_c(text):
    for number, line in enumerate(files.code_only(text).split("\n"), 1):
        for match in BANNED.finditer(line):
            yield number, f"{match.group(1)} is not used here"
        if NULL_TEST.search(line):
            yield number, "written `if (p)` and `if (!p)`, not as a comparison with NULL"
        if COMPARED.search(line):
            yield number, "written `strcmp(a, b) == 0`, since what is compared is not a truth"


def check_lines(text):
    for number, line in enumerate(text.split("\n"), 1):
        for what, pattern in (("a folder of one machine", HOST_PATHS), ("a registry", REGISTRIES)):
            match = pattern.search(line)
            if match:
                yield number, f"{match.group()}: {what}"
        if line != line.rstrip():
            yield number, "blanks at the end of the line"


def check(path, text):
    if path in NO_TEXT_RULES:
        return
    yield from check_lines(text)
    if text and not text.endswith("\n"):
        yield text.count("\n") + 1, "no newline at the end"
    if path.endswith(SPDX_FILES):
        head = text.split("\n")[:2]
        if not any(line.endswith(SPDX) for line in head):
            yield 1, "does not begin with its SPDX line"
    if files.is_c(path):
        yield from check_c(text)
