# SPDX-License-Identifier: Apache-2.0
"""The state of a part of the engine is used in its folder only: a member of struct engine, struct cluster or struct
workload that has the name of a folder below core/engine."""
import os
import re

import files

ROOM = "core/engine/"
ALIASES = {"membership": "clusters", "queue": "", "lane": "", "startup_grace": ""}   # member: its folder, "": the top
COMMON = ("clusters", "store", "unstarted")   # read by all: the clusters by number, the store, facts
EXCEPTIONS = set()   # (path below core/engine, member)
STRUCTS = re.compile(r"^struct (engine|engine_cluster|workload) \{(.*?)^\};", re.MULTILINE | re.DOTALL)
MEMBER = re.compile(r"(\w+);")
USE = re.compile(r"(?:\bengine|\bworkload|\bw|\bslot|\bengine->clusters\[(?:[^\[\]]|\[[^\]]*\])*\])(?:->|\.)(\w+)\b(?!\()")


def members(texts, folders):
    """{member: its folder} of the structs."""
    found = {}
    for text in texts.values():
        for match in STRUCTS.finditer(text):
            for name in MEMBER.findall(re.sub(r"//.*", "", match.group(2))):
                folder = ALIASES.get(name, name)
                if folder in folders or folder == "":
                    found[name] = folder
    return {name: folder for name, folder in found.items() if name not in COMMON}


def check(texts=None):
    texts = texts or {path: files.read(path) for path in files.paths()
                      if path.startswith(ROOM) and path.endswith((".c", ".h"))}
    folders = {path[len(ROOM):].split("/")[0] for path in texts if "/" in path[len(ROOM):]}
    owners = members(texts, folders)
    if len(owners) < 10:
        yield f"{ROOM}: the state of the parts is not found any more"
    for path, text in sorted(texts.items()):
        here = path[len(ROOM):]
        folder = here.split("/")[0] if "/" in here else ""
        for name in sorted(set(USE.findall(re.sub(r"//.*", "", text)))):
            if name in owners and owners[name] != folder and (here, name) not in EXCEPTIONS:
                yield f"{path}: uses `{name}`, which is for {ROOM}{owners[name]} only"
