# SPDX-License-Identifier: Apache-2.0
"""One name means one thing: a struct or enum of core/ is defined in one file only."""
import re

import files

DEFINED = re.compile(r"^(struct|enum) (\w+) \{", re.MULTILINE)
_first = {}


def check(path, text):
    if not path.startswith("core/") or not files.is_c(path):
        return
    for match in DEFINED.finditer(files.code_only(text)):
        name = f"{match.group(1)} {match.group(2)}"
        first = _first.setdefault(name, path)
        if first != path:
            yield text.count("\n", 0, match.start()) + 1, f"{name} is already defined in {first}"
