# SPDX-License-Identifier: Apache-2.0
"""The figures of all turns as one table: of each dispatcher the median of its turns, and wharf's ratio to the script's."""
import statistics

# (what, the key of its figure, the wanted ratio)
_ROWS = (
    ("all created by the users, s", "created", ""),
    ("users' creates a second", "creates", "≥ 0.95"),
    ("a user's create, p50, s", "create50", ""),
    ("a user's create, p99, s", "create99", ""),
    ("mirrors a second", "mirrors", ""),
    ("Jobs complete a second", "completions", "≥ 0.95"),
    ("a Job's life, created to complete, p50, s", "life50", ""),
    ("a Job's life, p99, s", "life99", ""),
    ("status change, worker to management, p50, s", "status50", "≤ 1.5"),
    ("status change, p99, s", "status99", "≤ 1.2"),
    ("last status change of a Job, p50, s", "last50", ""),
    ("last status change of a Job, p99, s", "last99", ""),
    ("Job seen to mirror seen, p50, s", "placed50", "≤ 1.5"),
    ("Job seen to mirror seen, p99, s", "placed99", "≤ 1.5"),
    ("status changes a Job in the worker", "changes", ""),
    ("status changes a Job in management", "arrived", "≤ 1"),
    ("writes a Job in management", "writes", ""),
    ("the same without Events", "writes_bare", "1 + status changes"),
)
_CPU_TARGETS, _MEMORY_TARGETS = {"dispatcher": "≤ 0.4"}, {"dispatcher": "≤ 0.5"}


def _place(cluster, management):
    return "management" if cluster == management else "workers"


def _flat(turn, management):
    """{label: (figure, target)} of one turn, in the table's order."""
    rows = {what: (turn[key], target) for what, key, target in _ROWS}
    sums = {}
    for request, number in turn["requests"].items():
        cluster, verb, resource = request.split(" ")
        label = f"requests a Job: {_place(cluster, management)}, {verb} {resource}"
        sums[label] = sums.get(label, 0) + number
    rows.update((label, (number, "")) for label, number in sorted(sums.items()))
    sums = {}
    for cluster, number in turn["connects"].items():
        label = f"connections opened to {_place(cluster, management)}"
        sums[label] = sums.get(label, 0) + number
    rows.update((label, (number, "")) for label, number in sums.items())
    rows.update((f"processor time a Job: {name}, ms", (spent, _CPU_TARGETS.get(name, "")))
                for name, spent in turn["cpu"].items())
    rows.update((f"memory: {name}{', peak' if name == 'dispatcher' else ''}, MiB",
                 (size, _MEMORY_TARGETS.get(name, ""))) for name, size in turn["memory"].items())
    return rows


def number(value):
    """Three significant digits, no exponent."""
    digits = 3 - len(str(int(abs(value)))) if abs(value) >= 1 else 3
    return f"{value:.{max(0, digits)}f}"


def rows(turns, management):
    """[(what, script, wharf, ratio, target)] as text. `turns` is {dispatcher: [figures]}."""
    flat = {name: [_flat(turn, management) for turn in all_turns] for name, all_turns in turns.items()}
    labels = {label: target for name in ("wharf", "script") for turn in flat[name]
              for label, (_, target) in turn.items()}
    order = [label for label in [*flat["script"][0], *flat["wharf"][0]] if label in labels]
    found = []
    for label in dict.fromkeys(sorted(order, key=lambda each: _rank(each, order))):
        script, wharf = (statistics.median(turn.get(label, (0, ""))[0] for turn in flat[name])
                         for name in ("script", "wharf"))
        ratio = f"{wharf / script:.2f}" if script else ""
        found.append((label, number(script), number(wharf), ratio, labels[label]))
    return found


def _rank(label, order):
    """Rows that only one of them has stand with their like."""
    like = [index for index, each in enumerate(order) if each.split(":")[0] == label.split(":")[0]]
    return like[0], order.index(label) if ":" in label else 0


def plain(table):
    lines = [("", "script", "wharf", "ratio", "target"), *table]
    widths = [max(len(line[column]) for line in lines) for column in range(5)]
    return "\n".join(line[0].ljust(widths[0]) + "".join(
        "  " + cell.rjust(width) for cell, width in zip(line[1:], widths[1:])) for line in lines)


def markdown(table, title):
    lines = [("", "script", "wharf", "ratio", "target"), ("---", "---:", "---:", "---:", "---:"), *table]
    return title + "\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
