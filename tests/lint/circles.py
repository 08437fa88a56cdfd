# SPDX-License-Identifier: Apache-2.0
"""The parts of the engine (a .c and its .h) include each other as a tree, without circles."""
import re

import files

ROOM = "core/engine/"
TOGETHER = {"mirror", "carry", "finalizer"}   # making a mirror is one thing in several files
INCLUDE = re.compile(r'^#include "core/engine/(\w+)\.h"', re.MULTILINE)


def parts(texts):
    """{part: the parts that it includes} of {path: text}."""
    graph = {}
    for path, text in texts.items():
        part = path[len(ROOM):].rsplit(".", 1)[0]
        part = "mirror" if part in TOGETHER else part
        theirs = {"mirror" if name in TOGETHER else name for name in INCLUDE.findall(text)}
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
