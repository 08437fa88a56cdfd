# SPDX-License-Identifier: Apache-2.0
"""Who may include whom: a folder of core/ only those before it and itself, an adapter the public header and libc, the
public header the standard's two, and nothing shipped a test."""
import os
import re

import files

ORDER = ("base", "json", "kube", "host", "serve", "tools", "main")
LIBRARIES = {   # the one folder (or two) that may know of a library
    "cjson": ("json",), "cJSON.h": ("json",), "yaml.h": ("json",), "curl": ("kube",), "openssl": ("kube", "host"),
    "microhttpd.h": ("serve",), "dlfcn.h": ("host",),
}
LIBC = set("""assert ctype errno float inttypes iso646 limits math stdalign stdarg stdbool stddef stdint stdio stdlib
stdnoreturn string strings time""".split())
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def includes(text):
    """(line number, "<" or '"', what is included)"""
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1), match.group(2)


def layer(path):
    """The place in ORDER of a file of core/."""
    parts = path.split("/")
    name = parts[1] if len(parts) > 2 else "main"
    return ORDER.index(name) if name in ORDER else None


def check_core(path, quote, name):
    mine = layer(path)
    if mine is None:
        return "is in no folder of core/ that has a place in the order"
    if quote == "<":
        if name.startswith("wharf/"):
            return None
        users = LIBRARIES.get(name) or LIBRARIES.get(name.split("/")[0])
        return f"{name} is for core/{' and core/'.join(users)} only" if users and ORDER[mine] not in users else None
    if not name.startswith("core/"):
        return f'"{name}": written "core/<folder>/<name>.h"'
    theirs = layer(name)
    return f"core/{ORDER[mine]} may not include {name}" if theirs is None or theirs > mine else None


def check_adapter(path, quote, name):
    if quote == '"':
        beside = "/" not in name and os.path.exists(os.path.join(files.ROOT, os.path.dirname(path), name))
        return None if beside else f'"{name}" is not beside it'
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
