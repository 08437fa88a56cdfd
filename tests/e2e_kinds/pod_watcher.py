# SPDX-License-Identifier: Apache-2.0
"""A thread that sees each pod of one cluster at each change, for what plays a part beside the real controllers."""
import json
import threading
import traceback

import kube


class PodWatcher(threading.Thread):
    """A subclass has seen(event), and may have begun(), which is called when each watch begins, with all pods. `error` is what
    went wrong in this thread, or in one of the subclass's own; check() raises that in the test's thread."""

    def __init__(self, name, cluster):
        super().__init__(name=f"{name}-{cluster.name}", daemon=True)
        self.client, self.error, self.ended, self.stream = cluster.admin, None, False, None

    def stop(self):
        self.ended = True
        if self.stream:
            self.stream.close()

    def check(self):
        assert not self.error, self.error

    def release(self, namespace):
        """Pods that are held in this namespace go on. By default the nodes alone hold pods."""

    def begun(self):
        pass

    def run(self):
        while not self.ended:
            try:
                self.stream = self.client.watch("pods")
                self.begun()
                for line in self.stream:
                    self.seen(json.loads(line))
            except (kube.Unreachable, OSError, kube.ApiError):
                threading.Event().wait(0.2)   # the server restarts
            except Exception:   # raised by check(), in the test's own thread
                self.error = traceback.format_exc()
                return
