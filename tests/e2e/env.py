# SPDX-License-Identifier: Apache-2.0
"""The environment of a test: the clusters, the host, a namespace, and queries."""
import glob
import os
import re
import types

import kube
import manifests
from audit import Audit, code, describe
from host import Host
from jobs import brief, condition, counts, finished, job
from pods import Kubelet
from relay import Relay
from wait import until


class Env:
    """Everything that runs. The second worker is reached with a service account's token, the others with certificates;
    the first one through a relay that can be cut."""

    def __init__(self, clusters, folder, wharf, adapters):
        self.clusters, self.folder = clusters, folder
        self.management, self.workers = clusters.management.admin, clusters.workers
        self.audits = {cluster.name: Audit(cluster) for cluster in clusters.all}
        self.released, self.namespace, self.marks, self.judged = set(), None, {}, None
        self.kueue = None   # see kueue_server
        self.plurals, self.selected = ["jobs"], set()   # kinds that tests make objects of; names of the tests of all lanes
        self.lanes = os.path.dirname(folder)            # has the folders of all lanes
        self._apply_rbac()
        self.relay = Relay(self.workers[0].port)
        self.host = Host(wharf, adapters, folder, self._kubeconfigs())
        self.kubelets = [Kubelet(worker, self.released) for worker in self.workers]
        for kubelet in self.kubelets:
            kubelet.start()

    def may(self, cluster, verb, resource, user, **more):
        """Whether the API server would let this user do this in the test's namespace: rights are in force a moment after
        they are written, so that tests which change them wait for it. `more`: other resourceAttributes."""
        resource, _, subresource = resource.partition("/")
        resource, _, group = resource.partition(".")
        answer = cluster.admin.create("subjectaccessreviews", None, {
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": user, "resourceAttributes": {
                "group": group, "resource": resource, "subresource": subresource, "verb": verb, "namespace": self.namespace, **more}}})
        return answer["status"]["allowed"]

    def _apply_rbac(self):
        for cluster in self.clusters.all:
            manifests.apply(cluster.admin, "namespace.yaml")
        manifests.apply(self.management, "rbac-management.yaml")
        for worker in self.workers:
            manifests.apply(worker.admin, "rbac-worker.yaml")

    def _kubeconfigs(self):
        paths = {}
        for cluster in self.clusters.all:
            paths[cluster.name] = cluster.kubeconfig("wharf", certificate=cluster.host_certificate)
        first, second = self.workers[:2]
        paths[first.name] = first.kubeconfig("wharf", first.host_certificate, port=self.relay.port)
        token = second.write("wharf.token", second.admin.token_of("wharf-system", "wharf") + "\n")
        paths[second.name] = second.kubeconfig("wharf", token_file=os.path.basename(token))
        return paths

    def close(self):
        for kubelet in self.kubelets:
            kubelet.stop()
        self.relay.cut()
        self.host.kill()

    def audits_of_all_lanes(self, cluster):
        """For what all tests together have done in their clusters of this name."""
        logs = glob.glob(os.path.join(self.lanes, "*", cluster.name, "audit.log"))
        return [Audit(types.SimpleNamespace(name=cluster.name, audit_log=log)) for log in logs]

    # A test's beginning and end.

    def begin(self, namespace):
        self.namespace = namespace
        for cluster in self.clusters.all:
            if not cluster.admin.find("namespaces", None, namespace):
                cluster.admin.create("namespaces", None, {"metadata": {"name": namespace}})
        self.judged = None   # rejections about other kinds do not count for this test
        self.mark()

    def mark(self):
        """From here on nothing may be rejected."""
        self.marks = {name: audit.mark() for name, audit in self.audits.items()}

    def end(self, may_be_refused=()):
        """After every test: nothing was rejected, and once the Jobs are deleted nothing is left over."""
        self.kubelet_check()
        self.nothing_was_refused((401, 403, 422), may_be_refused)
        self.delete_all()
        self.nothing_is_left_over()
        self.nothing_was_refused((401, 403, 422), may_be_refused)

    def kubelet_check(self):
        for kubelet in self.kubelets:
            kubelet.check()

    def nothing_was_refused(self, codes, may_be_refused=()):
        def may_be_refused_there(name, entry):
            return any((cluster, number) == (name, code(entry)) and verb in ("*", entry["verb"])
                       for cluster, verb, number in may_be_refused)
        for name in self.audits:
            wrong = [entry for entry in self._refused(name, codes) if not may_be_refused_there(name, entry)]
            assert not wrong, f"{name} rejected {len(wrong)} of the host's requests, first: {describe(wrong[0])}"

    def refusals(self):
        """For the report of a failed test: the host's first rejected requests."""
        return [f"{name} refused: {describe(entry)}" for name in self.audits
                for entry in self._refused(name, (400, 401, 403, 422))[:3]]

    def _refused(self, name, codes):
        others = {plural for plural in self.plurals if self.judged and plural != self.judged}
        return [entry for entry in self.audits[name].refused(codes, self.marks.get(name, 0))
                if entry.get("objectRef", {}).get("resource") not in others]

    def delete_all(self):
        for plural in self.plurals:
            self._delete_all_of(self.management, plural)
        self.release()

    def _delete_all_of(self, client, plural, selector=None):
        for found in client.list(plural, self.namespace, selector=selector):
            name = found["metadata"]["name"]
            try:
                client.delete(plural, self.namespace, name)
                if found["metadata"].get("finalizers"):
                    client.patch(plural, self.namespace, name, {"metadata": {"finalizers": None}})
            except kube.ApiError as error:
                if error.code != 404:   # gone meanwhile, with its CronJob
                    raise

    def nothing_is_left_over(self):
        def empty():
            left = [f"{worker.name}: {plural} {found['metadata']['namespace']}/{brief(found)}" for worker in self.workers
                    for plural in self.plurals for found in self.mirrors_in(worker, plural)]
            left += [f"{worker.name}: pod {pod['metadata']['name']}" for worker in self.workers
                     for pod in worker.admin.list("pods", self.there(worker.name))]
            assert not left, "; ".join(left)
            return True
        until(empty, "nothing to be left over in the workers")

    def restore(self):
        """After a failed test, so that the next one is independent of it."""
        for worker in self.workers:
            if not worker.api.running():
                worker.bring_back()
            for plural in self.plurals:
                self._delete_all_of(worker.admin, plural)
        if self.relay.is_cut():
            self.relay.mend()
        self._apply_rbac()
        self.delete_all()

    # Actions and queries of tests.

    def use_all(self, **settings):
        """The host runs with these settings, and all workers get new Jobs."""
        self.host.use(**settings)
        self.host.until_takes_work(worker.name for worker in self.workers)

    def submit(self, body):
        return self.management.create("jobs", self.namespace, body)

    def run_held(self, names):
        """Jobs that run until they are released; the names of those in the first worker."""
        for name in names:
            self.submit(job(name, hold="all"))
        there = [name for name in names if self.placed(name) == self.workers[0].name]
        assert there, "none was placed there"
        for name in names:
            self.until_counts(name, ready=1)
        return there

    def change(self, name, patch):
        return self.management.patch("jobs", self.namespace, name, patch)

    def release(self):
        self.released |= {self.namespace} | {self.there(worker.name) for worker in self.workers}

    def job(self, name):
        return self.management.get("jobs", self.namespace, name)

    def worker(self, name):
        return next(worker for worker in self.workers if worker.name == name)

    def there(self, _worker):
        """The name of the test's namespace in this worker."""
        return self.namespace

    def mirrors_in(self, worker, plural):
        """Of this test, or of any."""
        return worker.admin.list(plural, self.namespace, selector="wharf.dev/origin")

    def mirror(self, worker, name):
        return self.worker(worker).admin.find("jobs", self.there(worker), name)

    def mirrors(self, name):
        """{worker: mirror} of those that there are."""
        found = {worker.name: self.mirror(worker.name, name) for worker in self.workers if worker.api.running()}
        return {worker: mirror for worker, mirror in found.items() if mirror}

    def placed(self, name, attempt=None):
        """Waits until the Job is placed (in this attempt) and its mirror has been made; the worker's name. The mirror of
        a Job that nothing holds may be gone already: what tells is the record of its creation."""
        def probe():
            meta = self.job(name)["metadata"]
            notes = meta.get("annotations", {})
            if attempt and notes.get("wharf.dev/attempt") != str(attempt):
                return None
            worker = notes.get("wharf.dev/cluster")
            return worker if worker and (self.mirror(worker, name) or self.audits[worker].mirror_made(
                self.namespace, meta["uid"], notes["wharf.dev/attempt"])) else None
        return until(probe, f"{name} to be placed{f' in attempt {attempt}' if attempt else ''}")

    def until_job(self, name, what, check, timeout=180.0):
        """Waits until check(job) is true, and returns the Job as it is then."""
        def probe():
            found = self.job(name)
            assert check(found), brief(found)
            return found
        return until(probe, f"{name} to be {what}", timeout)

    def until_counts(self, name, **wanted):
        names = ("active", "ready", "succeeded", "failed")
        return self.until_job(name, f"at {wanted}", lambda found: wanted.items() <= dict(
            zip(names, counts(found))).items())

    def until_finished(self, name, kind="Complete", timeout=180.0):
        found = self.until_job(name, "finished", finished, timeout)
        assert condition(found, kind), f"expected {kind}: {brief(found)}"
        return found

    def until_no_mirror(self, name):
        until(lambda: not self.mirrors(name), f"the mirrors of {name} to be gone")

    def until_no_own_mirror(self, names):
        """Waits until only foreign objects have these names in the workers."""
        until(lambda: not [found for worker in self.workers for found in worker.admin.list(
            "jobs", self.namespace, selector="wharf.dev/origin") if found["metadata"]["name"] in names],
              f"our mirrors of {', '.join(names)} to be gone")

    def pods_created(self, name):
        """How many pods were ever created for this Job, by worker."""
        made = {worker.name: len(self.audits[worker.name].pods_created(self.there(worker.name), name)) for worker in self.workers}
        return {worker: count for worker, count in made.items() if count}

    def mirrors_that_ran(self, name):
        """The uids of all mirrors that ever had a pod."""
        return {uid for worker in self.workers
                for uid in self.audits[worker.name].pods_created(self.there(worker.name), name)}

    def events(self, name):
        """The texts of the Events about a Job."""
        return [f"{event.get('reason')}: {event.get('message')}"
                for event in self.management.list("events", self.namespace)
                if event["involvedObject"].get("name") == name]

    def until_event(self, name, pattern):
        def probe():
            told = self.events(name)
            assert any(re.search(pattern, text, re.IGNORECASE) for text in told), told
            return True
        until(probe, f"an Event of {name} about {pattern}")

    def describe(self):
        """For the report of a failed test."""
        lines = []
        for cluster in self.clusters.all:
            try:
                lines += [f"{cluster.name}: {plural} {brief(found)[:600]}" for plural in self.plurals
                          for found in cluster.admin.list(plural, self.namespace)]
                lines += [f"{cluster.name}: pod {pod['metadata']['name']} {pod['status'].get('phase')}"
                          for pod in cluster.admin.list("pods", self.namespace)]
                lines += [f"{cluster.name}: Event {event['involvedObject'].get('name')} {event.get('reason')}: "
                          f"{event.get('message')}" for event in cluster.admin.list("events", self.namespace)
                          if cluster.name == "management"]
            except (kube.ApiError, kube.Unreachable) as error:
                lines.append(f"{cluster.name}: {error}")
        return "\n".join(lines[:60])
