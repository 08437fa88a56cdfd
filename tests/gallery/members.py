# SPDX-License-Identifier: Apache-2.0
"""The adapters of the gallery: in which function each does harm, and what is then said about it."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Member:
    where: str = "phase"     # the function; "load": before there is a kind
    said: str = ""           # a part of the Event's note and of the status, as a regular expression; "": a call may succeed
    net: str = ""            # without a process of its own: a part of the line with which the host ends; "": not tried
    calls: bool = False      # only many calls do harm
    until: int = 0           # its process starts only during the first seconds of the host

    @property
    def follows(self):
        """Whether a mirror can bring the harm."""
        return self.where in ("phase", "status")


SIGNAL = r"signal \d+"
CALL = r"system call"
LIMIT = r"more than|no answer within|signal \d+"
ENDED = r"ended|exit"

ALL = {
    "segv": Member("phase", SIGNAL, "phase"),
    "null-call": Member("status", SIGNAL, "status"),
    "abort": Member("mirror", SIGNAL, "mirror"),
    "recursion": Member("accept", SIGNAL, "accept"),
    "input": Member("phase", f"{SIGNAL}|memory|answer"),
    "exit": Member("phase", ENDED),
    "quick-exit": Member("status", ENDED),
    "loop": Member("phase", LIMIT),
    "deadlock": Member("status", f"{LIMIT}|{CALL}"),
    "sleep": Member("phase", f"{LIMIT}|{CALL}"),
    "stop": Member("phase", f"{LIMIT}|{CALL}"),
    "memory": Member("mirror", f"{LIMIT}|memory"),
    "leak": Member("phase", f"{LIMIT}|memory", calls=True),
    "huge": Member("status", f"{LIMIT}|answer|memory"),
    "many": Member("status", f"{LIMIT}|answer|memory"),
    "answer": Member("phase", f"{SIGNAL}|answer"),
    "fork": Member("phase", CALL),
    "thread": Member("accept", CALL),
    "exec": Member("phase", CALL),
    "connect": Member("status", CALL),
    "open": Member("phase", CALL),
    "proc-mem": Member("phase", CALL),
    "environ": Member("mirror", CALL),
    "machine-code": Member("phase", CALL),
    "ptrace": Member("phase", CALL),
    "kill-parent": Member("status", CALL),
    "kill-all": Member("phase", CALL),
    "handler": Member("phase", CALL),
    "umask": Member("phase", CALL),
    "close": Member("status", f"{CALL}|{ENDED}"),
    "channel": Member("phase", f"{CALL}|frame|answer"),
    "frames": Member("status", f"{CALL}|frame|answer"),
    "drip": Member("phase", LIMIT),
    "words": Member("status", "the adapter's own words"),
    "longjmp": Member("phase", f"{SIGNAL}|{ENDED}|answer|{LIMIT}"),
    "restart": Member("phase", SIGNAL, until=15),
    "locale": Member("phase"),
    "log": Member("status"),
    "load-hang": Member("load", f"{LIMIT}|not loaded"),
    "load-sleep": Member("load", f"{CALL}|not loaded"),
    "load-crash": Member("load", SIGNAL),
    "load-exit": Member("load", ENDED),
    "start-hang": Member("load", f"{LIMIT}|not loaded"),
    "start-crash": Member("load", SIGNAL),
    "unterminated": Member("load", SIGNAL),
    "wild": Member("load", f"{SIGNAL}|expected"),
}
