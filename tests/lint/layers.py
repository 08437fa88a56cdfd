# SPDX-License-Identifier: Apache-2.0
"""Who may include whom: a folder of core/ what ROOMS says, an adapter the public header and libc, the
public header the standard's two, and nothing shipped a test."""
import os
import re

import files

PLAIN = ("config/engine_settings.h", "config/dependencies.h", "config/worker_settings.h", "kube/client/types.h", "kube/api/pod_request.h", "kube/object/object.h", "kube/object/objects.h")   # no I/O
ROOMS = {   # folder of core/: what of core/ it may include besides itself, folders and single headers
    "base": (),
    "json": ("base",),
    "kube": ("base", "json"),
    "config": ("base", "json", "kube", "adapter/adapters.h"),
    "adapter": ("base", "json"),
    "engine": ("base", "json", *PLAIN, "adapter"),
    "host": ("base", "json", "kube", "config", "adapter", "engine"),
    "serve": ("base", "json", "kube", "config", "adapter", "engine", "host"),
    "isolate": ("base", "json", "adapter"),
    "conform": ("base", "json", *PLAIN, "adapter", "engine", "isolate"),
    "cmd": ("base", "json", "kube", "config", "adapter", "engine", "host", "serve"),
}
LIBRARIES = {   # the one folder (or two) that may know of a library
    "cjson": ("json",), "cJSON.h": ("json",), "yaml.h": ("json",), "curl": ("kube",), "openssl": ("base", "kube", "adapter", "engine", "host"),
    "microhttpd.h": ("serve",), "gnutls": ("serve",), "dlfcn.h": ("adapter", "conform", "isolate"), "seccomp.h": ("isolate",),
}
LIBC = set("""assert ctype errno float inttypes iso646 limits math stdalign stdarg stdbool stddef stdint stdio stdlib
stdnoreturn string strings time""".split())
OF_ANOTHER_ADAPTER = re.compile(r"\.\./[a-z]+/[a-z_]+\.h")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def includes(text):
    """(line number, "<" or '"', what is included)"""
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1), match.group(2)


def check_core(path, quote, name):
    room = path.split("/")[1]
    if room not in ROOMS:
        return "is in no folder of core/ that tests/lint/layers.py knows"
    if quote == "<":
        if name.startswith("wharf/"):
            return None
        users = LIBRARIES.get(name) or LIBRARIES.get(name.split("/")[0])
        return f"{name} is for core/{' and core/'.join(users)} only" if users and room not in users else None
    if not name.startswith("core/"):
        return f'"{name}": written "core/<folder>/<name>.h"'
    theirs = name.split("/")[1]
    allowed = theirs in (room, *ROOMS[room]) or name[len("core/"):] in ROOMS[room]
    return None if allowed else f"core/{room} may not include {name}"


def check_adapter(path, quote, name):
    if quote == '"':
        near = "/" not in name or OF_ANOTHER_ADAPTER.fullmatch(name)
        there = near and os.path.exists(os.path.join(files.ROOT, os.path.dirname(path), name))
        return None if there else f'"{name}" is not beside it, nor "../<adapter>/<name>.h"'
    known = name == "wharf/adapter.h" or name.endswith(".h") and name[:-2] in LIBC
    return None if known else f"an adapter may not include <{name}>"


def check_public(_, quote, name):
    return None if quote == "<" and name in ("stddef.h", "stdint.h") else f"the public header may not include {name}"


RULES = (("core/", check_core), ("plugins/", check_adapter), ("examples/", check_adapter), ("include/", check_public))


def check(path, text):
    rule = next((rule for prefix, rule in RULES if path.startswith(prefix)), None)
    if not rule or not files.is_c(path):
        return
    for line, quote, name in includes(text):
        problem = rule(path, quote, name)
        if problem:
            yield line, problem
