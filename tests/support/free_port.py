# SPDX-License-Identifier: Apache-2.0
"""Ports of 127.0.0.1 for servers that are started later."""
import socket

_reserved = []


def free_port():
    """A free TCP port. The socket stays bound and does not listen: with SO_REUSEADDR a server may, and whoever asks for
    any free port, or connects, gets another one (socket(7)), also while that server is restarted."""
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    _reserved.append(reserved)
    return reserved.getsockname()[1]
