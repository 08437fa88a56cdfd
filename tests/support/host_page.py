# SPDX-License-Identifier: Apache-2.0
"""The pages of `wharf run`."""
import http.client


def fetch(port, path, timeout=20):
    """(HTTP status, body); (0, "") if nothing listens, or it ends."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except (OSError, http.client.HTTPException):
        return 0, ""
    finally:
        connection.close()
