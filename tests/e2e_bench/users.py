#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""users.py KUBECONFIG NAMESPACE MANAGED_BY COUNT CLIENTS RUN LABELS REFERENCES CONFIGMAPS: users who create Jobs, each the next
one as soon as the last one was answered, on kept connections. MANAGED_BY may be empty. RUN is how long a pod runs, "1s"; LABELS
are those of the Jobs, as JSON; each refers to REFERENCES of so many ConfigMaps. Prints one line of JSON: when they began and
ended (of CLOCK_MONOTONIC), how long each request took, and the processor time of all."""
import json
import os
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import kube  # noqa: E402
import needs  # noqa: E402


class Users:
    def __init__(self, client, namespace, bodies, clients):
        self.client, self.path, self.bodies = client, kube.path_of("jobs", namespace), bodies
        self.took, self.next, self.failed = [], iter(bodies), []
        self.clients, self.start = clients, threading.Barrier(clients + 1)

    def _create(self):
        self.client.raw("GET", "/version")   # so that the connection is open
        self.start.wait(60)
        for body in self.next:
            began = time.monotonic()
            try:
                self.client.raw("POST", self.path, body)
            except (kube.ApiError, kube.Unreachable) as error:
                self.failed.append(str(error))
            self.took.append(time.monotonic() - began)

    def run(self):
        threads = [threading.Thread(target=self._create) for _ in range(self.clients)]
        for thread in threads:
            thread.start()
        self.start.wait(60)
        began = time.monotonic()
        for thread in threads:
            thread.join()
        return {"began": began, "ended": time.monotonic(), "took": self.took, "cpu": time.process_time(),
                "failed": self.failed}


def body_of(number, references, configmaps, **more):
    names = [f"configmap-{(number * references + each) % configmaps}" for each in range(references)]
    return json.dumps(needs.reading(f"job-{number}", names, **more)).encode()


def main():
    kubeconfig, namespace, managed_by, count, clients, run, labels, references, configmaps = sys.argv[1:]
    bodies = [body_of(number, int(references), int(configmaps), managed_by=managed_by, run=run, labels=json.loads(labels))
              for number in range(int(count))]
    print(json.dumps(Users(kube.Client.of(kubeconfig), namespace, bodies, int(clients)).run()), flush=True)


if __name__ == "__main__":
    main()
