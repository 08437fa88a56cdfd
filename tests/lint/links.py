# SPDX-License-Identifier: Apache-2.0
"""Links of documents: the file is there, and so is the section that an anchor names. The installed documents are held to
it too (tests/authors). Comments of core/ name headers and sources that exist."""
import functools
import os
import re

import files

FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.*?)[ #]*$", re.MULTILINE)
SOURCE = re.compile(r"//.*?(?<![\w.])([\w/-]+\.[ch])\b")
NAMED = re.compile(r"(?<![\w/.])docs/[\w-]+\.md\b")


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def anchors(text):
    """Of a document's headings, as GitHub makes them."""
    found = {}
    for heading in HEADING.findall(FENCE.sub(_blank, text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        count = found.get(slug, 0)
        found[slug] = count + 1
        if count:
            found[f"{slug}-{count}"] = 1
    return found


def _problem(root, path, text, target):
    name, _, anchor = target.partition("#")
    if not name:
        return None if anchor in anchors(text) else f"{path} has no section #{anchor}"
    there = os.path.normpath(os.path.join(root, os.path.dirname(path), name))
    if os.path.relpath(there, root).startswith(".."):
        return f"{target} leads out of the tree"
    if not os.path.exists(there):
        return f"{target} is not there"
    if anchor:
        with open(there, encoding="utf-8") as file:
            if anchor not in anchors(file.read()):
                return f"{name} has no section #{anchor}"
    return None


def broken(root, path, text):
    """(line, problem) for each link of a document that leads nowhere; `path` is relative to `root`."""
    prose = CODE.sub(_blank, FENCE.sub(_blank, text))
    for match in LINK.finditer(prose):
        target = match.group(1)
        problem = None if re.match(r"[a-z]+:", target) else _problem(root, path, text, target)
        if problem:
            yield prose.count("\n", 0, match.start()) + 1, problem


@functools.lru_cache
def _sources():
    return {os.path.basename(path) for path in files.paths() if files.is_c(path)}


def check(path, text):
    if path.endswith(".md"):
        yield from broken(files.ROOT, path, text)
    if path.startswith("core/") and files.is_c(path):
        for match in SOURCE.finditer(text):
            name = match.group(1)
            folders = ("", "include", os.path.dirname(path))
            if not (any(os.path.exists(os.path.join(files.ROOT, folder, name)) for folder in folders) or name in _sources()):
                yield text.count("\n", 0, match.start()) + 1, f"there is no {name}"
    for number, line in enumerate(text.split("\n"), 1):
        for name in NAMED.findall(line):
            if not os.path.exists(os.path.join(files.ROOT, name)):
                yield number, f"there is no {name}"
