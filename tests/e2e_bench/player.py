#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""player.py KUBECONFIG: the nodes of one worker at little cost. Pods are not bound; each is two patches of its status, to
Running and ready, and after its time to Succeeded, on a kept connection. A watch of pending pods says which."""
import collections
import http.client
import json
import os
import queue
import sys
import threading
import time
import types

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import kube  # noqa: E402
import pods  # noqa: E402

# As few as keep up: patches at once take the API server from the dispatcher.
_CONNECTIONS = 1


class Player(pods.Kubelet):
    """Changes pods like its base, but is told of them instead of listing them."""

    def __init__(self, client):
        super().__init__(types.SimpleNamespace(name="player", admin=client), set())
        self.work = queue.SimpleQueue()   # (method, pod)
        self.running = collections.deque()

    def run(self):
        for target in (*[self._patch_all] * _CONNECTIONS, self._end_all):
            threading.Thread(target=target, daemon=True).start()
        while True:
            try:
                self._watch_pending()
            except (OSError, http.client.HTTPException, kube.ApiError) as error:   # the server restarts
                print(error, flush=True)
                time.sleep(0.2)

    def _watch_pending(self):
        stream = self.client.watch("pods", query={"fieldSelector": "status.phase=Pending"})
        print("ready", flush=True)
        for line in stream:
            if line.startswith(b'{"type":"ADDED"'):
                self.work.put((self._begin, json.loads(line)["object"]))

    def _begin(self, pod):
        self._set_running(pod)
        self.running.append((time.monotonic() + float(pod["metadata"]["annotations"][pods.RUN].rstrip("s")), pod))

    def _end(self, pod):
        self._finish(pod, failed=False, exit_code=0)

    def _patch_all(self):
        while True:
            method, pod = self.work.get()
            try:
                method(pod)
            except (kube.ApiError, kube.Unreachable) as error:
                print(error, flush=True)

    def _end_all(self):
        """All pods of a run take as long: the first that began is the first that ends."""
        while True:
            if not self.running or self.running[0][0] > time.monotonic():
                time.sleep(0.02)
                continue
            self.work.put((self._end, self.running.popleft()[1]))


if __name__ == "__main__":
    Player(kube.Client.of(sys.argv[1])).run()
