# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/events.md have a row for each reason of an Event that the code can write, and no other."""
import glob
import os
import re

import files

PAGE = "docs/events.md"
ROW = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)
# Where a reason is written down: as an argument of report_event or exclude, as the answer of an adapter, or instead of one.
REASONS = (
    re.compile(r'report_event\(\s*engine,\s*entry,\s*[^,"]+,\s*"(\w+)"'),
    re.compile(r'exclude\(engine, entry, mirror, "(\w+)"'),
    re.compile(r'\breason = "(\w+)"'),
    re.compile(r'adapter_answer_reason\([^;"]*"(\w+)"'),
    re.compile(r'adapter_answer_reason\([^;"]*"\w+" : "(\w+)"'),
)
CHOICE, CHOSEN = re.compile(r"\bchar \*reason = [^;]*;"), re.compile(r'[?:]\s+"(\w+)"')   # of several reasons
ANSWER = re.compile(r'\[(REASON_\w+)\] = \{"(\w+)", (true|false)\}')


def _sources(*folders):
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(files.ROOT, folder, "**", "*.c"), recursive=True)):
            yield files.read(os.path.relpath(path, files.ROOT)) or ""


def written():
    """Reasons that are the code's own."""
    texts = list(_sources("core/engine", "plugins/*"))
    chosen = {reason for text in texts for choice in CHOICE.findall(text) for reason in CHOSEN.findall(choice)}
    return chosen | {reason for text in texts for pattern in REASONS for reason in pattern.findall(text)}


def answers():
    """(all reasons of answers of API servers, those of answers that are told at once)"""
    rows = ANSWER.findall(files.read("core/kube/client/response.c") or "")
    return {name for _, name, _ in rows}, {name for _, name, permanent in rows if permanent == "true"}


def check():
    rows = ROW.findall(files.read(PAGE) or "")
    own, (known, told) = written(), answers()
    if len(own) < 20 or len(told) < 5:
        yield f"{PAGE}: the reasons are not found in the code any more"
    for reason in sorted((own | told) - set(rows)):
        yield f"{PAGE}: there is no row for `{reason}`"
    for reason in sorted(set(rows) - own - known):
        yield f"{PAGE}: no Event has the reason `{reason}`"
    for reason in sorted({row for row in rows if rows.count(row) > 1}):
        yield f"{PAGE}: `{reason}` has several rows"
