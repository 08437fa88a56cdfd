# SPDX-License-Identifier: Apache-2.0
"""Waiting for a condition, never for a time."""
import time


class Timeout(AssertionError):
    """The condition did not become true; the message has the last state."""


def until(probe, what, timeout=180.0, every=0.05):
    """Calls probe until it gives something true, and returns that.

    An AssertionError from probe counts as "not yet", and its text is reported at the timeout. It is called once more
    after the timeout, which may have passed while this process did not run.
    """
    end = time.monotonic() + timeout
    while True:
        late, last = time.monotonic() > end, ""
        try:
            found = probe()
            if found:
                return found
        except AssertionError as error:
            last = f" ({error})"
        if late:
            raise Timeout(f"after {timeout:g} s: {what}{last}")
        time.sleep(every)
