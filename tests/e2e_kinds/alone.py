#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""alone.py PORT PROGRAM [ARGUMENT]...: runs a program in a network namespace of its own, where a port that the program always
listens at is free. PORT of 127.0.0.1 is there as it is here."""
import ctypes
import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
import threading

_CLONE_NEWUSER, _CLONE_NEWNET, _PR_SET_PDEATHSIG = 0x10000000, 0x40000000, 1
_SIOCSIFFLAGS, _UP_AND_RUNNING = 0x8914, 0x41
_libc = ctypes.CDLL(None, use_errno=True)


def argv(port, command):
    return [sys.executable, "-B", os.path.abspath(__file__), str(port), *command]


def possible():
    """Whether this user may make network namespaces."""
    return subprocess.run([*argv(0, []), "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


def _unshare(flags):
    if _libc.unshare(flags):
        number = ctypes.get_errno()
        raise OSError(number, f"unshare: {os.strerror(number)}")


def _become_root():
    """In a user namespace, where one may make other namespaces."""
    user, group = os.getuid(), os.getgid()
    _unshare(_CLONE_NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        with open("/proc/self/" + name, "w", encoding="ascii") as file:
            file.write(text)


def _pass(source, sink):
    try:
        while chunk := source.recv(65536):
            sink.sendall(chunk)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, sink):
            end.close()


class Inside(threading.Thread):
    """The program's network: of this thread alone, so that connections made by other threads leave it."""

    def __init__(self, port, command):
        super().__init__()
        self.port, self.command = port, command
        self.listener, self.ready = None, threading.Event()

    def run(self):
        try:
            code = self._run()
        except OSError as error:
            print(f"{self.command[0]}: {error}", file=sys.stderr, flush=True)
            code = 1
        os._exit(code & 0xff)

    def _run(self):
        _unshare(_CLONE_NEWNET)
        with socket.socket() as any_socket:
            fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _UP_AND_RUNNING))
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", self.port))
        self.listener.listen(64)
        self.ready.set()
        return subprocess.Popen(self.command, preexec_fn=lambda: _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)).wait()


def _forward(inside, port):
    while True:
        near = inside.listener.accept()[0]
        try:
            far = socket.create_connection(("127.0.0.1", port))
        except OSError:
            near.close()
            continue
        for source, sink in ((near, far), (far, near)):
            threading.Thread(target=_pass, args=(source, sink), daemon=True).start()


def main():
    port, command = int(sys.argv[1]), sys.argv[2:]
    if os.getuid():
        _become_root()
    inside = Inside(port, command)
    inside.start()
    inside.ready.wait()
    _forward(inside, port)


if __name__ == "__main__":
    main()
