# SPDX-License-Identifier: Apache-2.0
"""The figures of all turns as one table: of each dispatcher the median of its turns, wharf's ratio to the script's, and
another dispatcher's to wharf's."""
import statistics

# (what, the key of its figure)
_ROWS = (
    ("all created by the users, s", "created"),
    ("users' creates a second", "creates"),
    ("a user's create, p50, s", "create50"),
    ("a user's create, p99, s", "create99"),
    ("mirrors a second", "mirrors"),
    ("Jobs complete a second", "completions"),
    ("a Job's life, created to complete, p50, s", "life50"),
    ("a Job's life, p99, s", "life99"),
    ("status change, worker to management, p50, s", "status50"),
    ("status change, p99, s", "status99"),
    ("last status change of a Job, p50, s", "last50"),
    ("last status change of a Job, p99, s", "last99"),
    ("Job seen to mirror seen, p50, s", "placed50"),
    ("Job seen to mirror seen, p99, s", "placed99"),
    ("status changes a Job in the worker", "changes"),
    ("status changes a Job in management", "arrived"),
    ("writes a Job in management", "writes"),
    ("the same without Events", "writes_bare"),
    ("writes a Job in the workers", "writes_workers"),
)
# The wanted ratio of a figure, by load.
_TARGETS = {
    "steady": {"creates": "≥ 0.95", "completions": "≥ 0.95", "status50": "≤ 1.5", "status99": "≤ 1.2",
               "placed50": "≤ 1.5", "placed99": "≤ 1.5", "arrived": "≤ 1", "writes_bare": "1 + status changes",
               "dispatcher": "≤ 0.4", "dispatcher, peak": "≤ 0.5"},
    "burst": {"creates": "≥ 0.9", "completions": "≥ 0.95", "status50": "≤ 3", "status99": "≤ 1.2", "placed50": "≤ 3",
              "placed99": "≤ 2", "writes": "≤ 1 + the script's", "dispatcher": "≤ 0.6", "dispatcher, peak": "≤ 0.5"},
}
_NAMES = {"multikueue": "MultiKueue"}
_OPENED = "connections opened to "


def _place(cluster, management):
    return "management" if cluster == management else "workers"


def _flat(turn, management, targets):
    """{label: (figure, target)} of one turn, in the table's order."""
    rows = {what: (turn[key], targets.get(key, "")) for what, key in _ROWS}
    sums = {}
    for request, number in turn["requests"].items():
        cluster, verb, resource = request.split(" ")
        label = f"requests a Job: {_place(cluster, management)}, {verb} {resource}"
        sums[label] = sums.get(label, 0) + number
    rows.update((label, (number, "")) for label, number in sorted(sums.items()))
    sums = {}
    for key, start in (("connects", _OPENED), ("kept", "connections kept to ")):
        for cluster, number in turn[key].items():
            label = start + _place(cluster, management)
            sums[label] = sums.get(label, 0) + number
    rows.update((label, (number, "")) for label, number in sums.items())
    rows.update((f"processor time a Job: {name}, ms", (spent, targets.get(name, "")))
                for name, spent in turn["cpu"].items())
    rows.update((f"memory: {name}, MiB", (size, targets.get(name, ""))) for name, size in turn["memory"].items())
    return rows


def number(value):
    """Three significant digits, no exponent."""
    digits = 3 - len(str(int(abs(value)))) if abs(value) >= 1 else 3
    return f"{value:.{max(0, digits)}f}"


def rows(turns, management, load):
    """Rows of text, the first of which is the header. `turns` is {dispatcher: [figures]}, `load` a key of _TARGETS."""
    flat = {name: [_flat(turn, management, _TARGETS[load]) for turn in all_turns] for name, all_turns in turns.items()}
    order = [label for name in turns for label in flat[name][0]]
    beside = [name for name in turns if name not in ("script", "wharf")]
    found = [("", *(_NAMES.get(name, name) for name in turns), "ratio", "target",
              *(f"{_NAMES.get(name, name)} : wharf" for name in beside))]
    for label in dict.fromkeys(sorted(order, key=lambda each: _rank(each, order))):
        target = next((turn[label][1] for name in turns for turn in flat[name] if label in turn), "")
        middle = {name: _middle(flat[name], label) for name in turns}
        cells = ["not counted" if value is None else number(value) for value in middle.values()]
        found.append((label, *cells, _ratio(middle["wharf"], middle["script"]), target,
                      *(_ratio(middle[name], middle["wharf"]) for name in beside)))
    return found


def _middle(turns, label):
    """None: its connections are not counted. What is missing otherwise has not happened."""
    if label.startswith(_OPENED) and not any(label in turn for turn in turns):
        return None
    return statistics.median(turn.get(label, (0, ""))[0] for turn in turns)


def _ratio(one, other):
    return f"{one / other:.2f}" if one is not None and other else ""


def _rank(label, order):
    """Rows that only one of them has stand with their like."""
    like = [index for index, each in enumerate(order) if each.split(":")[0] == label.split(":")[0]]
    return like[0], order.index(label) if ":" in label else 0


def plain(table):
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    return "\n".join(line[0].ljust(widths[0]) + "".join(
        "  " + cell.rjust(width) for cell, width in zip(line[1:], widths[1:])) for line in table)


def markdown(table, title):
    lines = [table[0], ("---", *["---:"] * (len(table[0]) - 1)), *table[1:]]
    return title + "\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
