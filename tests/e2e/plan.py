# SPDX-License-Identifier: Apache-2.0
"""Which tests there are, and which of them may run side by side: each lane has clusters and a host of its own."""
import glob
import importlib
import inspect
import os
import re
import sys

# The modules of a row run one after the other in one lane. Any row may run beside any other, and the longest begins first: the
# numbers are seconds, roughly. A row of one module is divided where it takes longer than _PART, as its tests need no order; not so
# with `_after_all`, which ends what the tests of a module share. A module with `_before_all`, which is called when the lane begins,
# runs in the first lane.
ROWS = (
    # Need all kinds, which take a while to be installed; MPIJob is left in an older version.
    (400, "test_kinds", "test_deaf", "test_give_up", "test_kueue_kinds", "test_kinds_trouble"),
    (300, "test_fence"),
    # Share ten more API servers. The last test of the last one waits for what the others left.
    (300, "test_dependency_contract", "test_dependencies", "test_dependency_changes", "test_dependency_kill", "test_dependency_rights",
     "test_mapping", "test_dependency_cost"),
    (180, "test_chaos"),
    (180, "test_kueue_quota"),
    (120, "test_kueue_workers"),
    (120, "test_leader"),
    (120, "test_progress"),
    (120, "test_guards"),
    (120, "test_back"),
    (110, "test_hostile"),
    (100, "test_join"),
    (100, "test_pending"),
    (60, "test_elsewhere"),
    (80, "test_load", "test_contract"),
    (130, "test_helm", "test_install"),   # build the image in the same folder
    (60, "test_manifests"),
    (50, "test_versions"),
    (60, "test_logs"),
    (60, "test_words"),
    (50, "test_cron", "test_policies", "test_origins"),
    (50, "test_loss"),
    (90, "test_tenancy"),
    (45, "test_capacity"),
    (40, "test_credentials"),
    (40, "test_life", "test_pod_events"),
    (40, "test_placement"),
    (30, "test_change", "test_trouble"),
    (40, "test_setup", "test_operate", "test_plan", "test_view", "test_top"),
    (20, "test_limits"),
    (30, "test_values"),
    (20, "test_kill"),
    (10, "test_workers"),
)
_PART = 60   # seconds

# Begins when all others have ended: it looks at all that they have used.
LAST = "the_rights_that_are_printed_are_all_that_the_host_needs_and_all_that_it_uses"


class Test:
    """`number` makes its namespace: no other test has the same."""

    def __init__(self, number, name, function):
        self.number, self.name, self.function = number, name, function
        self.sentence, self.module = name.replace("_", " "), sys.modules[function.__module__]


class Row:
    """Tests that one lane runs in this order."""

    def __init__(self, seconds, tests):
        self.seconds, self.tests = seconds, tests
        self.first_lane_only = any(hasattr(test.module, "_before_all") for test in tests)


def _tests_of(module):
    return [(name, function) for name, function in vars(module).items()
            if inspect.isfunction(function) and function.__module__ == module.__name__ and name[0] != "_"]


def find(pattern):
    """(rows with the tests whose "test_life: a sentence" matches, the row of LAST or None)"""
    known, here = {name for _, *names in ROWS for name in names}, os.path.dirname(os.path.abspath(__file__))
    forgotten = {os.path.basename(path)[:-3] for path in glob.glob(os.path.join(here, "test_*.py"))} - known
    assert not forgotten, f"in no row of plan.py: {', '.join(sorted(forgotten))}"
    rows, last, number = [], None, 0
    for seconds, *names in ROWS:
        modules = [importlib.import_module(name) for name in names]
        every = [Test(number + index, *found) for index, found in enumerate(
            found for module in modules for found in _tests_of(module))]
        number += len(every)
        tests = [test for test in every if not pattern or re.search(pattern, f"{test.module.__name__}: {test.sentence}")]
        if LAST in [test.name for test in tests]:
            last = Row(0, [test for test in tests if test.name == LAST])
            tests = [test for test in tests if test.name != LAST]
        undivided = len(modules) > 1 or hasattr(modules[0], "_after_all")
        parts = 1 if undivided else max(1, round(seconds / _PART))
        for part in range(parts):
            share = [test for place, test in enumerate(every) if test in tests and place * parts // len(every) == part]
            if share:
                rows.append(Row(seconds * len(share) / len(every), share))
    return sorted(rows, key=lambda row: -row.seconds), last
