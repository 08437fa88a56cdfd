# SPDX-License-Identifier: Apache-2.0
"""Where things are: the folder of the build is the first argument."""
import os
import sys

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
WHARF = os.path.join(BUILD, "wharf")
ADAPTERS = os.path.join(BUILD, "adapters")
TO_JSON = os.path.join(BUILD, "tests", "to_json")
