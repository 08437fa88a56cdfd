# SPDX-License-Identifier: Apache-2.0
"""An HTTP server for tests whose clients may go away in the middle of an answer."""

import http.server
import ssl
import sys


class QuietServer(http.server.ThreadingHTTPServer):
    """Says nothing of a connection that its client ended; any other exception is printed."""

    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], (ConnectionError, ssl.SSLError)):
            super().handle_error(request, client_address)
