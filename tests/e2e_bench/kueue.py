# SPDX-License-Identifier: Apache-2.0
"""Kueue's MultiKueue as a dispatcher: a Kueue process for the management cluster and one for each worker, with the settings
of its manifests but for what a loopback needs (see tests/e2e/kueue_server.py, also for KUEUE_ASSETS)."""
import kube
import kueue_objects as objects
import kueue_server
from kueue_server import find  # noqa: F401
from turn import Dispatcher
from wait import until


class MultiKueue(Dispatcher):
    """The users' Jobs have a queue's label and nothing else: Kueue's webhook suspends them, and sets managedBy."""
    name, users, managed_by = "multikueue", ("kueue", "multikueue"), ""
    labels = {"kueue.x-k8s.io/queue-name": objects.QUEUE}
    # Its Workloads have finalizers, and those of the workers are deleted by the management cluster's Kueue.
    deletes_before_stop = True
    counts_connects = False   # Go has system calls of its own

    def __init__(self, clusters, assets):
        self.clusters = clusters
        objects.install(clusters, assets)
        self.kueues = [kueue_server.Server(cluster, assets) for cluster in clusters.all]
        self.processes = [kueue.process for kueue in self.kueues]

    def start(self, namespace):
        for kueue in self.kueues:
            kueue.process.start()
        for kueue in self.kueues:
            until(kueue.ready, f"{kueue.process.name} to be ready", 60)
            kueue.hook()
        management, workers = self.clusters.management, self.clusters.workers
        for cluster in self.clusters.all:
            until(lambda each=cluster: self._set_up(each, workers if each is management else (), namespace),
                  f"the queues of {cluster.name}", 60, every=0.25)
        for cluster in self.clusters.all:
            until(lambda each=cluster: kueue_server.is_active(each.admin, "localqueues", namespace, objects.QUEUE),
                  f"the queue of {cluster.name} to be active", 60, every=0.25)
        for worker in workers:
            assert kueue_server.is_active(management.admin, "multikueueclusters", None, worker.name)

    @staticmethod
    def _set_up(cluster, workers, namespace):
        """Refused while its webhooks are not served, or not known, yet."""
        try:
            objects.queues(cluster, workers)
            objects.local_queue(cluster, namespace)
        except kube.ApiError as error:
            raise AssertionError(str(error)) from error
        return True

    def stop(self):
        for kueue in self.kueues:
            kueue.unhook()
        for process in self.processes:
            process.terminate()
