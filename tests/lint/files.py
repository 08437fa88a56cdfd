# SPDX-License-Identifier: Apache-2.0
"""The files of the tree, and what is left of C text without comments and literals."""
import os
import re

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
IGNORED = re.compile(r"^(\.git|build.*|__pycache__|\.cache)$")


def paths():
    """Every file below the root but what is built, relative, sorted."""
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(name for name in folders if not IGNORED.match(name))
        # .git is a file in a linked working tree
        found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names if name != ".git"]
    return sorted(found)


def read(path):
    """The text, or None for a file that is none."""
    try:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            return file.read()
    except (UnicodeDecodeError, OSError):
        return None


_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def code_only(text):
    """C text whose comments are blanks and whose literals are empty; lines stay where they are."""
    def blank(match):
        token = match.group()
        if token[0] in "\"'":
            return token[0] * 2
        return "\n" * token.count("\n")
    return _TOKEN.sub(blank, text)


def is_c(path):
    return path.endswith((".c", ".h", ".cc"))
