# SPDX-License-Identifier: Apache-2.0
"""python3 tests/lint/single_use.py: what may be more than is needed, as a report that never fails. Functions that a
header of core/ declares although nobody but their own file (or nobody but tests) calls them, and small static functions
with one caller."""
import re
import sys

sys.dont_write_bytecode = True

import files  # noqa: E402

SMALL = 3   # lines of a body
NAME = re.compile(r"\b[A-Za-z_]\w*\b")
DECLARED = re.compile(r"^(?!static\b|typedef\b|#|\s|\}|//)[A-Za-z_][\w \t*]*?[ *](\w+)\([^;{]*?\)[^;{]*;", re.MULTILINE | re.DOTALL)
DEFINED = re.compile(r"^static (?!inline\b)[\w \t*]*?[ *](\w+)\([^;{]*?\) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)


def uses(texts):
    """name -> {path: how often it stands there}"""
    found = {}
    for path, text in texts.items():
        for name in NAME.findall(text):
            there = found.setdefault(name, {})
            there[path] = there.get(path, 0) + 1
    return found


def needless_declarations(texts):
    """(header, line, name, why)"""
    used = uses(texts)
    for header, text in sorted(texts.items()):
        if not header.startswith("core/") or not header.endswith(".h"):
            continue
        for match in DECLARED.finditer(text):
            name = match.group(1)
            elsewhere = {path: count for path, count in used[name].items() if path != header or count > 1}
            shipped = {path for path in elsewhere if path.startswith(("core/", "plugins/"))}
            if len(shipped) > 1 or header in shipped:
                continue
            line = text.count("\n", 0, match.start(1)) + 1
            own = sum(elsewhere[path] for path in shipped)
            if len(elsewhere) == len(shipped):
                yield header, line, name, "nobody calls it" if own <= 1 else "only its own file calls it: it can be static"
            elif own <= 1:
                yield header, line, name, "only tests call it"


def small_statics(texts):
    """(path, line, name)"""
    for path, text in sorted(texts.items()):
        if not path.startswith("core/") or not path.endswith(".c"):
            continue
        counts = uses({path: text})
        for match in DEFINED.finditer(text):
            name, body = match.groups()
            if body.count("\n") <= SMALL and counts[name][path] == 2:
                yield path, text.count("\n", 0, match.start(1)) + 1, name


def main():
    texts = {path: files.code_only(files.read(path)) for path in files.paths() if files.is_c(path)}
    for header, line, name, why in needless_declarations(texts):
        print(f"{header}:{line}: {name}: {why}")
    small = list(small_statics(texts))
    for path, line, name in small:
        print(f"{path}:{line}: {name}: at most {SMALL} lines, with one caller")


if __name__ == "__main__":
    main()
