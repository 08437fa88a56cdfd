# SPDX-License-Identifier: Apache-2.0
"""Percentiles of what a test measured."""


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]
