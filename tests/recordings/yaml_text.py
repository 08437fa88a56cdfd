# SPDX-License-Identifier: Apache-2.0
"""YAML from JSON values, in blocks, the same for the same value."""
import json
import re

# Scalars that need no quotes. Others are quoted as in JSON, which is YAML.
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./ ()-]*[A-Za-z0-9_./)]|[A-Za-z]")
_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
_LONG = 100


def _scalar(value):
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)


def _flow(value):
    """On one line, or None for what has containers or is long."""
    if isinstance(value, dict):
        text = "{" + ", ".join(f"{_scalar(k)}: {_flow(v)}" for k, v in value.items()) + "}"
    elif isinstance(value, list):
        text = "[" + ", ".join(_flow(item) for item in value) + "]"
    else:
        text = _scalar(value)
    return text


def _lines(value, indent):
    pad = " " * indent
    if isinstance(value, dict):
        items = [(f"{_scalar(key)}:", member) for key, member in value.items()]
    else:
        items = [("-", member) for member in value]
    for head, member in items:
        flow = _flow(member)
        if not isinstance(member, (dict, list)) or not member or len(pad + head + flow) < _LONG:
            yield f"{pad}{head} {flow}"
            continue
        inner = list(_lines(member, indent + 2))
        if head == "-":
            inner[0] = f"{pad}- {inner[0].lstrip()}"
            yield from inner
        else:
            yield f"{pad}{head}"
            yield from inner


def document(value):
    return "".join(line + "\n" for line in _lines(value, 0))
