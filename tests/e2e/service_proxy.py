# SPDX-License-Identifier: Apache-2.0
"""Stands in front of an API server and passes the host's Service on, as the API server's own service proxy does: that
one refuses endpoints at loopback addresses, where the tests' servers are. Credentials are removed, WebSockets pass."""
import re
import socket
import ssl
import threading

from proc import free_port

PREFIX = "/api/v1/namespaces/wharf-system/services/http:wharf:http/proxy"


class ServiceProxy:
    def __init__(self, cluster, host_port):
        self.cluster, self.host_port, self.port, self.proxied = cluster, host_port, free_port(), []
        self.context = cluster.authority.server_context("service-proxy")
        self.upstream = ssl.create_default_context(cafile=cluster.authority.certificate)
        self.upstream.load_cert_chain(*cluster.admin_certificate)
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            client = self.context.wrap_socket(client, server_side=True)
            head = b""
            while b"\r\n\r\n" not in head:
                chunk = client.recv(65536)
                if not chunk:
                    return
                head += chunk
            server = self._connect(*head.split(b"\r\n\r\n", 1))
            back = threading.Thread(target=_pump, args=(server, client), daemon=True)
            back.start()
            _pump(client, server)
        except OSError:
            return

    def _connect(self, head, rest):
        lines = head.decode().split("\r\n")
        method, path, version = lines[0].split(" ")
        upgrade = any(re.match("upgrade:", line, re.IGNORECASE) for line in lines)
        kept = [line for line in lines[1:] if upgrade or not re.match("connection:", line, re.IGNORECASE)]
        if path.startswith(PREFIX):
            self.proxied.append(path[len(PREFIX):])
            server = socket.create_connection(("127.0.0.1", self.host_port))
            kept = [line for line in kept if not re.match("authorization:", line, re.IGNORECASE)]
            path, kept = path[len(PREFIX):], kept + ["X-Forwarded-For: 127.0.0.1"]
        else:
            server = self.upstream.wrap_socket(socket.create_connection(("127.0.0.1", self.cluster.port)),
                                               server_hostname="127.0.0.1")
        if not upgrade:
            kept.append("Connection: close")
        server.sendall("\r\n".join([f"{method} {path} {version}", *kept, "", ""]).encode() + rest)
        return server


def _pump(source, target):
    try:
        while (chunk := source.recv(65536)):
            target.sendall(chunk)
    except OSError:
        pass
    for end in (source, target):
        try:
            socket.socket.shutdown(end, socket.SHUT_RDWR)
        except OSError:
            pass
