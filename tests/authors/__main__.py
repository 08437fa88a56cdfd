# SPDX-License-Identifier: Apache-2.0
"""python3 tests/authors: what an author of an adapter gets from `make install`, and nothing else, tried as he would: the
installed files, the examples with each compiler, adapters from CRDs, the documents' code. The last line is the sum of the checks."""
import argparse
import os
import shutil
import sys
import traceback

sys.dont_write_bytecode = True

import documents  # noqa: E402
import examples  # noqa: E402
import generated  # noqa: E402
import installed  # noqa: E402
import shell  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    for name in ("root", "prefix", "work", "make"):
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args()
    shutil.rmtree(arguments.work, ignore_errors=True)
    os.makedirs(arguments.work)
    author = shell.Author(os.path.abspath(arguments.root), arguments.prefix, os.path.abspath(arguments.work), arguments.make)
    passed = failed = skipped = 0
    for name, check in installed.checks(author) + examples.checks(author) + generated.checks(author) + documents.checks(author):
        try:
            check()
            passed += 1
        except shell.Skipped as why:
            print(f"skipped {name}: {why}")
            skipped += 1
        except shell.Wrong as wrong:
            print(f"FAILED  {name}\n{wrong}")
            failed += 1
        except Exception:   # of the check itself
            print(f"FAILED  {name}\n{traceback.format_exc()}")
            failed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


sys.exit(main())
