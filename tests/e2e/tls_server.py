# SPDX-License-Identifier: Apache-2.0
"""An HTTP server over TLS that plays a part of a cluster, with a certificate that API servers trust."""
import http.server
import threading

from proc import free_port


class Handler(http.server.BaseHTTPRequestHandler):
    """`self.server.owner` is the object that serves."""
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):   # the base class would print each request
        pass


def serve(authority, name, handler, owner):
    """The server, which runs, at port `server_port`."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), handler)
    server.daemon_threads, server.owner = True, owner
    server.socket = authority.server_context(name).wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
