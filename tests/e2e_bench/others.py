#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""others.py KUBECONFIG...: others who keep the same API servers and the same machine busy. In each cluster a few clients
write ConfigMaps at a fixed rate, and each core has a process that computes all the time. `ready` is printed once
all of them run; they end with this process."""
import os
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import kube  # noqa: E402
import proc  # noqa: E402

_CLIENTS = 4     # of each cluster
_EVERY = 0.25    # seconds, a client's round: it creates, patches and deletes one object
_SPACE = "default"


def _use(client, number):
    while True:
        began, name = time.monotonic(), f"others-{os.getpid()}-{number}"
        for request in (
                lambda: client.create("configmaps", _SPACE, {"metadata": {"name": name}, "data": {"text": "x" * 2000}}),
                lambda: client.patch("configmaps", _SPACE, name, {"data": {"text": "y" * 2000}}),
                lambda: client.delete("configmaps", _SPACE, name)):
            try:
                request()
            except (kube.ApiError, kube.Unreachable) as error:
                print(error, flush=True)
        time.sleep(max(0.0, began + _EVERY - time.monotonic()))


def main():
    for core in range(os.cpu_count()):
        proc.Process(f"burner-{core}", [sys.executable, "-c", "while True: pass"], os.devnull).start()
    for config in sys.argv[1:]:
        for number in range(_CLIENTS):
            threading.Thread(target=_use, args=(kube.Client.of(config), number), daemon=True).start()
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
