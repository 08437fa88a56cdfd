# SPDX-License-Identifier: Apache-2.0
"""What the programs have in common that run tests against real servers: options, a folder, and the last lines."""
import contextlib
import os
import resource
import shutil
import signal
import sys
import tempfile
import time

import assets

_ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def parse_arguments(parser):
    """The options of `parser` and those that all have; `assets` are the servers."""
    parser.add_argument("--keep", action="store_true", help="leave the clusters running at the end, until Ctrl-C")
    parser.add_argument("--build", default=os.path.join(_ROOT, "build"), help="the folder with wharf and adapters/")
    assets.add_arguments(parser)
    options = parser.parse_args()
    options.assets = assets.chosen(options)
    options.wharf = os.path.join(options.build, "wharf")
    options.adapters = os.path.join(options.build, "adapters")
    return options


def cannot_run(name, options):
    """The exit code where there are no servers or no wharf, and says so; else None."""
    missing = options.assets.missing()
    if missing:
        print(f"{name} skipped: {missing}")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    if not os.access(options.wharf, os.X_OK):
        print(f"{name}: {options.wharf} has not been built")
        return 1
    return None


def until_interrupted():
    print("Kept running until Ctrl-C", flush=True)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})


def _leave(number, _):
    sys.exit(128 + number)


def _processor_time():
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


@contextlib.contextmanager
def folder_of(name, keeps):
    """A folder for logs and data, which stays after an exception, or where keeps() is true at the end."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    folder, kept = tempfile.mkdtemp(prefix=f"wharf-{name}-"), True
    try:
        yield folder
        kept = keeps()
    finally:
        if kept:
            print(f"logs and data are kept in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def run(name, options, results, work):
    """work(folder), which counts in `results`: the exit code. The folder stays where tests failed or --keep is given."""
    began = time.monotonic()
    try:
        with folder_of(name, lambda: results.failed or options.keep) as folder:
            work(folder)
    except KeyboardInterrupt:
        print("interrupted")
        return 130
    print(f"in {time.monotonic() - began:.0f} s, with {_processor_time():.0f} s of processor time")
    print(results.line())
    return 1 if results.failed else 0
