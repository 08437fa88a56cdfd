# SPDX-License-Identifier: Apache-2.0
"""The part of a kubelet that an API server calls for logs and exec, over TLS: /containerLogs and /exec as a WebSocket.
There are no containers: a log is what a test writes into it, and a few commands are played."""
import base64
import contextlib
import hashlib
import json
import struct
import threading
import time
import urllib.parse

import tls_server

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"   # RFC 6455
_STDIN, _STDOUT, _STDERR, _ERROR, _RESIZE, _CLOSE = 0, 1, 2, 3, 4, 255
_FAILED = {"metadata": {}, "status": "Failure", "reason": "NonZeroExitCode"}


class Log:
    """One container's log: (timestamp, text) of each line, and whether more may come."""

    def __init__(self):
        self.lines, self.over, self.readers, self.changed = [], False, 0, threading.Condition()

    def write(self, *lines):
        with self.changed:
            for line in lines:
                now = time.time_ns()
                stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 10**9)) + f".{now % 10**9:09d}Z"
                self.lines.append((stamp, line))
            self.changed.notify_all()

    def end(self):
        with self.changed:
            self.over = True
            self.changed.notify_all()

    def after(self, count, follow):
        """The lines after the first `count`; waits for one if `follow`. None: there are no more."""
        with self.changed:
            while follow and len(self.lines) == count and not self.over:
                self.changed.wait(0.5)
                if not self.readers:
                    return None
            return self.lines[count:] or None


class Nodes:
    """The nodes of a worker, as one server; register() makes the API server use it for the pods of `node`."""

    def __init__(self, cluster):
        self.cluster, self.logs, self.lock = cluster, {}, threading.Lock()
        self.server = tls_server.serve(cluster.authority, "kubelet", _Handler, self)

    def register(self, node="node-1"):
        client = self.cluster.admin
        if not client.find("nodes", None, node):
            client.create("nodes", None, {"metadata": {"name": node}})
        client.patch_status("nodes", None, node, {"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self.server.server_port}},
            # The API server passes a WebSocket on as it is, and does not make SPDY of it.
            "declaredFeatures": ["ExtendWebSocketsToKubelet"]}})

    def log(self, namespace, pod, container="main"):
        with self.lock:
            return self.logs.setdefault((namespace, pod, container), Log())

    def close(self, node="node-1"):
        self.cluster.admin.delete("nodes", None, node)
        self.server.shutdown()
        self.server.server_close()


@contextlib.contextmanager
def nodes_of(workers):
    """{worker: its registered Nodes}"""
    nodes = {worker.name: Nodes(worker) for worker in workers}
    try:
        for each in nodes.values():
            each.register()
        yield nodes
    finally:
        for each in nodes.values():
            each.close()


class _Handler(tls_server.Handler):
    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        parts, query = url.path.strip("/").split("/"), urllib.parse.parse_qs(url.query)
        if parts[0] == "containerLogs" and len(parts) == 4:
            self._send_log(self.server.owner.log(*parts[1:]), query)
        elif parts[0] == "exec" and len(parts) == 4:
            try:
                _Session(self, query).run()
            except OSError:
                pass   # the client went away
        else:
            self.send_error(404)
        self.close_connection = True

    def _send_log(self, log, query):
        follow = query.get("follow", ["false"])[0] == "true"
        stamps = query.get("timestamps", ["false"])[0] == "true"
        tail, since = query.get("tailLines"), query.get("sinceTime")
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        log.readers += 1
        try:
            done = max(0, len(log.lines) - int(tail[0])) if tail else 0
            while (lines := log.after(done, follow)):
                done += len(lines)
                text = "".join((stamp + " " if stamps else "") + line + "\n" for stamp, line in lines
                               if not since or stamp[:19] >= since[0][:19]).encode()
                if text:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            pass   # the reader went away
        finally:
            log.readers -= 1


class _Session:
    """One exec: `echo WORDS`, `warn WORDS` (on stderr), `cat`, `exit CODE`, `size` (the first size that comes)."""

    def __init__(self, handler, query):
        self.handler, self.query = handler, query
        self.command = query.get("command", [])

    def run(self):
        offered = self.handler.headers.get("Sec-WebSocket-Protocol", "").replace(" ", "").split(",")
        protocol = next((each for each in ("v5.channel.k8s.io", "v4.channel.k8s.io") if each in offered), None)
        if not protocol:
            self.handler.send_error(400)
            return
        accept = hashlib.sha1((self.handler.headers["Sec-WebSocket-Key"] + _GUID).encode()).digest()
        self.handler.send_response(101)
        self.handler.send_header("Connection", "Upgrade")
        self.handler.send_header("Upgrade", "websocket")
        self.handler.send_header("Sec-WebSocket-Accept", base64.b64encode(accept).decode())
        self.handler.send_header("Sec-WebSocket-Protocol", protocol)
        self.handler.end_headers()
        code = self._play()
        causes = {"details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
                  "message": f"command terminated with non-zero exit code: {code}"}
        self._send(_ERROR, json.dumps({**_FAILED, **causes} if code else {"status": "Success"}).encode())
        self._frame(8, b"\x03\xe8")

    def _play(self):
        name, words = self.command[0], self.command[1:]
        if name == "echo":
            self._send(_STDOUT, " ".join(words).encode() + b"\n")
        elif name == "warn":
            self._send(_STDERR, " ".join(words).encode() + b"\n")
        elif name == "exit":
            return int(words[0])
        elif name == "cat":
            for channel, data in self._messages():
                if channel == _STDIN:
                    self._send(_STDOUT, data)
                elif channel == _CLOSE:
                    break
        elif name == "size":
            for channel, data in self._messages():
                if channel == _RESIZE:
                    self._send(_STDOUT, data + b"\n")
                    break
        else:
            self._send(_STDERR, f"{name}: not found\n".encode())
            return 127
        return 0

    def _send(self, channel, data):
        for start in range(0, max(len(data), 1), 60000):
            self._frame(2, bytes([channel]) + data[start:start + 60000])

    def _frame(self, opcode, data):
        size = bytes([len(data)]) if len(data) < 126 else b"\x7e" + struct.pack(">H", len(data))
        self.handler.wfile.write(bytes([0x80 | opcode]) + size + data)

    def _messages(self):
        while (head := self._read(2)):
            size, mask = head[1] & 0x7f, b"\0\0\0\0"
            if size == 126:
                size, = struct.unpack(">H", self._read(2))
            elif size == 127:
                size, = struct.unpack(">Q", self._read(8))
            if head[1] & 0x80:
                mask = self._read(4)
            data = bytes(byte ^ mask[i % 4] for i, byte in enumerate(self._read(size)))
            if head[0] & 0x0f == 8:
                return
            if head[0] & 0x0f == 2 and data:
                yield data[0], data[1:]

    def _read(self, size):
        return self.handler.rfile.read(size)
