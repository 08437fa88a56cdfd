# SPDX-License-Identifier: Apache-2.0
"""Requests to the simulated API servers, over one connection for each client, and watches."""
import http.client
import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sandbox", "test"))

import clusters  # noqa: E402

MERGE = "application/merge-patch+json"


class Client(clusters.Cluster):
    """For one thread."""

    def __init__(self, kubeconfig):
        super().__init__(kubeconfig)
        self.connection = None

    def _connect(self):
        return http.client.HTTPSConnection("127.0.0.1", int(self.address), context=self.context, timeout=60)

    def ask(self, method, path, body=None, content_type="application/json", accept="application/json"):
        """(status, answer); a request that an idle connection has lost is sent again."""
        while True:
            fresh = self.connection is None
            if fresh:
                self.connection = self._connect()
            try:
                self.connection.request(method, path, json.dumps(body) if body is not None else None,
                                        {"Accept": accept, "Content-Type": content_type})
                response = self.connection.getresponse()
                text = response.read().decode()
                return response.status, json.loads(text) if text.startswith("{") else text
            except (OSError, http.client.HTTPException):
                self.connection = None
                if fresh:
                    raise

    def make(self, path, body):
        status, answer = self.ask("POST", path, body)
        assert status == 201, f"POST {path}: {status} {answer}"
        return answer

    def annotate(self, path, name, annotations):
        status, answer = self.ask("PATCH", f"{path}/{name}", {"metadata": {"annotations": annotations}}, MERGE)
        assert status == 200, f"PATCH {path}/{name}: {status} {answer}"

    def watch(self, path):
        """Events from the first one on, as (type, object); ends with the connection."""
        connection = self._connect()
        connection.timeout = 600
        connection.request("GET", path + "?watch=true", headers={"Accept": "application/json"})
        response = connection.getresponse()
        assert response.status == 200, response.read()
        for line in response:
            event = json.loads(line)
            if event["type"] in ("ADDED", "MODIFIED", "DELETED"):
                yield event["type"], event["object"]
