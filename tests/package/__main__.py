# SPDX-License-Identifier: Apache-2.0
"""What installs wharf: the chart, the manifests, the unit; with "all" the packages, the tarballs and the image too.

    python3 tests/package BUILD_FOLDER quick|all [unittest arguments]
"""
import os
import sys
import unittest

from place import ADAPTERS, TO_JSON, WHARF
from chart_test import *  # noqa: F401,F403
from helm_test import *  # noqa: F401,F403
from unit_test import *  # noqa: F401,F403

if sys.argv[2:3] == ["all"]:
    from build_test import *  # noqa: F401,F403

for program in (WHARF, ADAPTERS, TO_JSON):
    if not os.path.exists(program):
        sys.exit(f"{program} is not there; run make package-test")
unittest.main(module=sys.modules[__name__], argv=sys.argv[:1] + sys.argv[3:])
