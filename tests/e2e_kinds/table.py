# SPDX-License-Identifier: Apache-2.0
"""The table of what ran: kinds with their controllers' versions, and the counts of their lives."""
import collections
import re

_HEAD = ("kind", "controller", "Kubernetes", "lives", "statuses shown", "refused (422)", "writes by the host per life",
         "writes by others after ours", "left over")
_BEGIN, _END = "<!-- what ran: begin -->", "<!-- what ran: end -->"


def _named(counts):
    """The sum, and whose they are."""
    users = ", ".join(user.rpartition(":")[2] for user in sorted(counts))
    return f"{sum(counts.values())} ({users})" if users else "0"


def _rows(scene, lives):
    for kind in scene.kinds:
        mine = [(life, error) for life, error in lives if life.kind is kind]
        if mine:
            passed = [life for life, error in mine if not error]
            writes = sum(life.writes for life, _ in mine) / len(mine)
            yield (kind.plural, scene.version_of(kind), scene.kubernetes(), f"{len(passed)} of {len(mine)}",
                   str(sum(life.statuses for life in passed)), str(sum(life.refused for life, _ in mine)), f"{writes:.1f}",
                   _named(sum((life.rewrites for life, _ in mine), collections.Counter())), str(sum(life.left for life, _ in mine)))


def _lines(head, rows):
    return ["| " + " | ".join(each) + " |" for each in (head, ["---"] * len(head), *rows)]


def text(scene, lives):
    return "\n".join(_lines(_HEAD, _rows(scene, lives)))


def write(scene, lives, path):
    """Rows of the same kind, controller and Kubernetes are replaced, others stay."""
    with open(path, encoding="utf-8") as file:
        whole = file.read()
    before, _, rest = whole.partition(_BEGIN)
    inside, _, after = rest.partition(_END)
    assert after, f"{path} has no {_BEGIN} ... {_END}"
    rows = {}
    for line in re.findall(r"^\| (.+) \|$", inside, re.MULTILINE)[2:]:
        cells = tuple(cell.strip() for cell in line.split("|"))
        rows[cells[:3]] = cells
    rows.update({row[:3]: row for row in _rows(scene, lives)})
    body = "\n".join(_lines(_HEAD, [rows[key] for key in sorted(rows)]))
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{_BEGIN}\n\n{body}\n\n{_END}{after}")
