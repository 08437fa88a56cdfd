#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program whose ports cannot be chosen in a network namespace of its own, so that several can run on one machine.

    netns.py PORT,INSIDE PORT... -- PROGRAM ARGUMENT...

Connections to 127.0.0.1:PORT lead to the program's own port INSIDE; each other PORT of this machine can be reached from inside
at the same address."""
import ctypes
import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
import threading

_NEW_USER, _NEW_NET, _PR_SET_PDEATHSIG = 0x10000000, 0x40000000, 1
_SIOCSIFFLAGS, _UP = 0x8914, 1
_HOST = "127.0.0.1"
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def command(argv, outside, inside, reached):
    """The command line that runs argv so."""
    return [sys.executable, "-B", os.path.abspath(__file__), f"{outside},{inside}", *map(str, reached), "--", *argv]


def available():
    """Whether this user may make network namespaces."""
    return bool(_libc) and subprocess.run([sys.executable, "-B", os.path.abspath(__file__), "--", "true"], check=False,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def _unshare():
    user, group = os.getuid(), os.getgid()
    if _libc.unshare(_NEW_NET) == 0:
        return
    if _libc.unshare(_NEW_USER | _NEW_NET) != 0:
        sys.exit(f"no network namespace: {os.strerror(ctypes.get_errno())}")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def _bring_up():
    """The loopback device of a new namespace is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _UP))


def _die_with_parent():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for each in (source, target):
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def _lead(accepted, port):
    try:
        target = socket.create_connection((_HOST, port))
    except OSError:   # nothing listens there yet
        accepted.close()
        return
    for pair in ((accepted, target), (target, accepted)):
        threading.Thread(target=_copy, args=pair, daemon=True).start()


def _relay(listener, port):
    """From a listener of the other namespace to a port in that of this process."""
    while True:
        accepted, _ = listener.accept()
        threading.Thread(target=_lead, args=(accepted, port), daemon=True).start()


def _in_background(listener, port):
    threading.Thread(target=_relay, args=(listener, port), daemon=True).start()


def _inside(channel, served, reached, argv):
    """The child: in the new namespace. The parent gets the listeners of the ports that are reached from here."""
    _unshare()
    _die_with_parent()
    _bring_up()
    listeners = [socket.create_server((_HOST, port)) for port in reached]
    socket.send_fds(channel, [b"."], [each.fileno() for each in listeners])
    for listener, port in served:
        _in_background(listener, port)
    with subprocess.Popen(argv, preexec_fn=_die_with_parent) as child:
        signal.signal(signal.SIGTERM, lambda *_: child.terminate())
        return child.wait()


def main():
    split = sys.argv.index("--")
    words, argv = sys.argv[1:split], sys.argv[split + 1:]
    served = [tuple(map(int, word.split(","))) for word in words if "," in word]
    reached = [int(word) for word in words if "," not in word]
    served = [(socket.create_server((_HOST, outside)), inside) for outside, inside in served]
    near, far = socket.socketpair()
    child = os.fork()
    if child == 0:
        near.close()
        os._exit(_inside(far, served, reached, argv) & 255)
    far.close()
    _, descriptors, _, _ = socket.recv_fds(near, 1, len(reached) + 1)
    for descriptor, port in zip(descriptors, reached):
        _in_background(socket.socket(fileno=descriptor), port)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) & 255


if __name__ == "__main__":
    sys.exit(main())
