# SPDX-License-Identifier: Apache-2.0
"""Says that a test cannot run here. It counts as skipped, never as passed."""


class Skip(Exception):
    pass


def may_be_refused(*expected):
    """For a test in which a server has to refuse the host something: (cluster, verb or "*", code) each."""
    def mark(test):
        test.may_be_refused = expected
        return test
    return mark
