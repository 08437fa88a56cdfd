# SPDX-License-Identifier: Apache-2.0
"""python3 tests/lint: the checks of the tree that no compiler and no linter does. Exit 1 if something was found."""
import sys

sys.dont_write_bytecode = True

import circles  # noqa: E402
import events   # noqa: E402
import files    # noqa: E402
import layers   # noqa: E402
import links    # noqa: E402
import named_tests  # noqa: E402
import one_name  # noqa: E402
import parts    # noqa: E402
import selftest  # noqa: E402
import sizes    # noqa: E402
import words    # noqa: E402


def main():
    selftest.run()
    found = looked_at = 0
    for path in files.paths():
        text = files.read(path)
        if text is None:
            continue
        looked_at += 1
        for module in (layers, links, named_tests, one_name, sizes, words):
            for line, problem in module.check(path, text):
                print(f"{path}:{line}: {problem}")
                found += 1
    for problem in [*circles.check(), *events.check(), *parts.check()]:
        print(problem)
        found += 1
    print(f"tree: {looked_at} files, {found} problems")
    return 1 if found else 0


sys.exit(main())
