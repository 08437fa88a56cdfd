# SPDX-License-Identifier: Apache-2.0
"""The parts of the engine (a .c and its .h) include each other as a tree, without circles."""
import re

import files

ROOM = "core/engine/"
# One thing in several files: {file: what it is a part of}
TOGETHER = {"carry": "mirror", "finalizer": "mirror", "placement": "decide"}
FAMILIES = ("decide", "observe", "answer")   # NAME_*.c too
INTERFACES = ("engine", "act")   # NAME.h: what several files implement; NAME.c is on top of them
INCLUDE = re.compile(r'^#include "core/engine/(?:\w+/)*(\w+)\.h"', re.MULTILINE)


def part_of(name):
    family = name.split("_")[0]
    return TOGETHER.get(name) or (family if family in FAMILIES else name)


def parts(texts):
    """{part: the parts that it includes} of {path: text}."""
    graph = {}
    for path, text in texts.items():
        name, ext = path.rsplit("/", 1)[1].rsplit(".", 1)
        part = name + ".c" if ext == "c" and name in INTERFACES else part_of(name)
        theirs = {part_of(name) for name in INCLUDE.findall(text)}
        graph.setdefault(part, set()).update(theirs - {part})
    return graph


def circle(graph):
    """Parts that cannot be put in an order; empty if all can."""
    left = dict(graph)
    while True:
        done = {part for part, theirs in left.items() if not theirs & left.keys()}
        if not done:
            return sorted(left)
        left = {part: theirs for part, theirs in left.items() if part not in done}


def check(texts=None):
    texts = texts or {path: files.read(path) for path in files.paths()
                      if path.startswith(ROOM) and path.endswith((".c", ".h"))}
    found = circle(parts(texts))
    return [f"{ROOM}: {', '.join(found)}: some of them include each other in a circle"] if found else []
