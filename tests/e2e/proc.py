# SPDX-License-Identifier: Apache-2.0
"""Child processes: each with its log file, ended by its own pid only, and never outliving this process."""
import ctypes
import os
import signal
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from free_port import free_port  # noqa: E402,F401
from host_page import fetch  # noqa: E402,F401
from processes import children  # noqa: E402,F401

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def _die_with_parent():
    # The signal comes when the thread that forked ends: so only the main thread may start processes.
    if _libc:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """One program with its arguments; can be started again after it has ended. `more_env` is added to its environment."""

    def __init__(self, name, argv, log, cwd=None):
        self.name, self.argv, self.log, self.cwd = name, argv, log, cwd
        self.more_env = {}
        self.child = None

    def start(self):
        assert not self.running(), f"{self.name} is running already"
        with open(self.log, "ab") as log:
            self.child = subprocess.Popen(
                self.argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.cwd,
                env={**os.environ, **self.more_env}, start_new_session=True, preexec_fn=_die_with_parent)

    def running(self):
        return self.child is not None and self.child.poll() is None

    def kill(self):
        """SIGKILL; returns when it is gone."""
        if self.running():
            self.child.kill()
            self.child.wait()

    def terminate(self, timeout=60.0):
        """SIGTERM; the exit code, or None if it had to be killed after the timeout."""
        if not self.running():
            return self.child.returncode if self.child else 0
        self.child.terminate()
        try:
            return self.child.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def check(self):
        """Raises, with the end of the log, if it has exited."""
        if not self.running():
            code = self.child.returncode if self.child else "never started"
            raise RuntimeError(f"{self.name} has ended ({code}):\n{self.tail()}")

    def tail(self, lines=15):
        try:
            with open(self.log, "rb") as log:
                log.seek(0, 2)
                log.seek(max(0, log.tell() - 64 * 1024))
                text = log.read().decode(errors="replace")
        except FileNotFoundError:
            return ""
        return "\n".join(text.splitlines()[-lines:])
