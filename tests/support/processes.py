# SPDX-License-Identifier: Apache-2.0
"""Processes, from /proc."""
import os


def children(pid):
    """The processes that it started, of those that still run."""
    found = []
    for each in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{each}/stat", encoding="ascii", errors="replace") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == pid:
                    found.append(int(each))
        except OSError:     # ended meanwhile
            continue
    return found
