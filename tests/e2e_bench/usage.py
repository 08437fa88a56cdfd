# SPDX-License-Identifier: Apache-2.0
"""Processor time, memory and connections of processes, from /proc and from what connects.c counts."""
import os
import struct

_TICK = os.sysconf("SC_CLK_TCK")


def cpu(pid):
    """Seconds of user and system time so far, of all threads."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def memory(pid, field="VmRSS"):
    """Resident memory in MiB; VmHWM: the most that it has ever had."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field + ":")) / 1024


def connections(pid, port):
    """How many open TCP connections over IPv4 to this port of 127.0.0.1 it has."""
    mine = set()
    for each in os.listdir(f"/proc/{pid}/fd"):
        try:
            mine.add(os.readlink(f"/proc/{pid}/fd/{each}"))
        except FileNotFoundError:   # closed meanwhile
            continue
    with open(f"/proc/{pid}/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in list(file)[1:]]
    return sum(row[2] == f"0100007F:{port:04X}" and row[3] == "01" and f"socket:[{row[9]}]" in mine for row in rows)


class Cpu:
    """Processor time by group of processes, since this was made. `groups` is {name: [pid]}."""

    def __init__(self, groups):
        self.groups, self.before = groups, {}
        self.before = self._now()

    def _now(self):
        return {name: sum(map(cpu, pids)) for name, pids in self.groups.items()}

    def spent(self):
        return {name: now - self.before[name] for name, now in self._now().items()}


class Connects:
    """The TCP connections that a program opens, by cluster. It has to be started with env()."""

    def __init__(self, library, folder):
        self.library, self.path = os.path.abspath(library), os.path.join(folder, "connects")

    def env(self):
        with open(self.path, "wb") as file:
            file.truncate(4 * 65536)
        return {"LD_PRELOAD": self.library, "CONNECTS": self.path}

    def to(self, port):
        with open(self.path, "rb") as file:
            file.seek(4 * port)
            return struct.unpack("=I", file.read(4))[0]
