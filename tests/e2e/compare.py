# SPDX-License-Identifier: Apache-2.0
"""Differences between JSON documents, and merge patches."""
import calendar
import copy
import time

MISSING = "(nothing)"


def merge(target, patch):
    """RFC 7386, as a new document."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = copy.deepcopy(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def differences(found, expected, path=""):
    """[(path, found, expected)] of the smallest parts that are not the same."""
    if isinstance(found, dict) and isinstance(expected, dict):
        keys = [(f"{path}/{key}", found.get(key, MISSING), expected.get(key, MISSING))
                for key in sorted({*found, *expected})]
        return [each for key, one, other in keys for each in differences(one, other, key)]
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        return [each for index, (one, other) in enumerate(zip(found, expected))
                for each in differences(one, other, f"{path}/{index}")]
    same = found == expected and isinstance(found, bool) == isinstance(expected, bool)
    return [] if same else [(path, found, expected)]


def tell(parts, most=6):
    lines = [f"{path}: found {str(found)[:200]}, expected {str(expected)[:200]}"
             for path, found, expected in parts[:most]]
    return "; ".join(lines + (["..."] if len(parts) > most else []))


def is_time_since(text, began):
    """Whether it is a metav1.Time between `began` (seconds since 1970) and now, give or take a second or two."""
    try:
        then = time.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
    except (TypeError, ValueError):
        return False
    seconds = calendar.timegm(then)
    return began - 2 <= seconds <= time.time() + 2
