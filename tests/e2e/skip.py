# SPDX-License-Identifier: Apache-2.0
"""Raised by a test that cannot run here. It counts as skipped, never as passed."""


class Skip(Exception):
    pass


def may_be_refused(*expected):
    """For a test in which a server has to reject requests of the host: (cluster, verb or "*", code) each."""
    def mark(test):
        test.may_be_refused = expected
        return test
    return mark
