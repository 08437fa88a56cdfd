# SPDX-License-Identifier: Apache-2.0
"""`wharf plan` as a program: its comments on objects, and the dry run in a worker.

    python3 tests/integration/plan BUILD_FOLDER [unittest arguments]

Needs BUILD_FOLDER/wharf, adapters/job.so, plan_adapters/thing.so, tests/world/world and tests/to_json.
"""
import os
import sys
import unittest

from case import JOB_SO, SCORER_SO, THING_SO, TO_JSON, WHARF, WORLD
from comments_test import *  # noqa: F401,F403
from references_test import *  # noqa: F401,F403
from worker_test import *  # noqa: F401,F403

for program in (WHARF, WORLD, TO_JSON, THING_SO, JOB_SO, SCORER_SO):
    if not os.path.exists(program):
        sys.exit("%s is not there; run make plan-test" % program)
unittest.main(module=sys.modules[__name__], argv=sys.argv[:1] + sys.argv[2:])
