# SPDX-License-Identifier: Apache-2.0
"""Differences between JSON documents, and merge patches."""
import calendar
import copy
import re
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


def time_of(text):
    """Seconds since 1970, or None if it is neither a metav1.Time nor a metav1.MicroTime."""
    try:
        whole = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?Z", text)
        return calendar.timegm(time.strptime(whole.group(1), "%Y-%m-%dT%H:%M:%S")) if whole else None
    except (TypeError, ValueError):
        return None


def text_of(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
