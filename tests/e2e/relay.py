# SPDX-License-Identifier: Apache-2.0
"""A network between the host and one worker, which can be cut, silent, slow or half-open while the worker runs on."""
import contextlib
import socket
import struct
import threading
import time

from proc import free_port


class Relay:
    """Listens on its own port and passes bytes to and from the target port of 127.0.0.1."""

    def __init__(self, target):
        self.target, self.port = target, free_port()
        self.lock = threading.Lock()
        self.pairs, self.listener = set(), None
        self.flowing, self.delay, self.dead = threading.Event(), 0.0, set()
        self.flowing.set()
        self.mend()

    def mend(self):
        """The network works (again)."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(64)
        with self.lock:
            self.listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self):
        """Resets open connections and refuses new ones."""
        with self.lock:
            listener, self.listener = self.listener, None
            pairs, self.pairs = self.pairs, set()
        if listener:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for pair in pairs:
            self._reset(pair)

    def is_cut(self):
        return self.listener is None

    @contextlib.contextmanager
    def silent(self):
        """Connections stay and are accepted, and nothing passes; what was sent passes afterwards."""
        self.flowing.clear()
        try:
            yield
        finally:
            self.flowing.set()

    @contextlib.contextmanager
    def slow(self, delay):
        """Each piece is passed on so many seconds later than the one before."""
        self.delay = delay
        try:
            yield
        finally:
            self.delay = 0.0

    def half_open(self):
        """The server's ends of the open connections are gone, and nothing tells the host: what it sends on them is lost,
        and nothing comes any more. New connections work."""
        with self.lock:
            pairs = set(self.pairs)
            self.dead |= pairs
        for near, far in pairs:
            self._reset((far,))

    def _accept(self, listener):
        while True:
            try:
                near = listener.accept()[0]
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.target), timeout=5)
                far.settimeout(None)
            except OSError:
                near.close()
                continue
            pair = (near, far)
            with self.lock:
                cut = self.listener is not listener
                if not cut:
                    self.pairs.add(pair)
            if cut:
                self._reset(pair)
                return
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(source, sink, pair), daemon=True).start()

    def _pass(self, source, sink, pair):
        try:
            while chunk := source.recv(65536):
                time.sleep(self.delay)
                self.flowing.wait()
                if pair not in self.dead:
                    sink.sendall(chunk)
            if pair not in self.dead:
                sink.shutdown(socket.SHUT_WR)
                return
        except OSError:
            pass
        if pair in self.dead and source is pair[1]:   # the host is not told
            return
        with self.lock:
            self.pairs.discard(pair)
            self.dead.discard(pair)
        self._reset(pair)

    @staticmethod
    def _reset(pair):
        for end in pair:
            try:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()
