# SPDX-License-Identifier: Apache-2.0
"""A network between the host and one worker, which can be cut while the worker runs on."""
import socket
import struct
import threading

from proc import free_port


class Relay:
    """Listens on its own port and passes bytes to and from the target port of 127.0.0.1."""

    def __init__(self, target):
        self.target, self.port = target, free_port()
        self.lock = threading.Lock()
        self.pairs, self.listener = set(), None
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
                sink.sendall(chunk)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            with self.lock:
                self.pairs.discard(pair)
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
