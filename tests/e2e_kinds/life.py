# SPDX-License-Identifier: Apache-2.0
"""One workload in a namespace of its own, and the rules that its life has to keep: docs/lifecycle.md, as the API servers saw
it."""
import collections

import kube
import servers
from audit import HOST_USERS, code, describe
from compare import differences, merge, tell
from kind import patch_at
from wait import until


class Life:
    own = ("wharf-last-words",)   # names of objects beside the workload that are not its controller's
    name = "subject"   # of each workload, in a namespace of its own

    def __init__(self, scene, kind, case, namespace):
        self.scene, self.kind, self.case, self.namespace = scene, kind, case, namespace
        self.management, self.changes, self.uid = scene.management, 0, None
        self.deleted = False
        self.may_be_refused = ()   # codes that a case provokes
        self.statuses = self.writes = self.refused = self.left = 0
        self.rewrites = collections.Counter()   # {user: changes of the object after one of the host's}
        self.prepare()

    def prepare(self):
        """Its namespace, and what it refers to, in all clusters."""
        for cluster in self.scene.clusters.all:
            if not cluster.admin.find("namespaces", None, self.namespace):
                cluster.admin.create("namespaces", None, {"metadata": {"name": self.namespace}})
            if self.kind.setup:
                self.kind.setup(cluster.admin, self.namespace)

    # Verbs.

    def submit(self, pods="succeed", patch=None):
        body = merge(self.kind.workload(self.name, pods, self.scene.host.managed_by), patch or {})
        made = until(lambda: self._create(body), f"{self.kind.plural} to be accepted", 60)
        self.uid = made["metadata"]["uid"]
        lost = [each for each in differences(made["spec"], body["spec"], "/spec") if each[1] == "(nothing)"]
        assert not lost, f"the API server drops {tell(lost)}"

    def _create(self, body):
        """Webhooks that are just starting refuse requests."""
        try:
            return self.management.create(self.kind.plural, self.namespace, body)
        except kube.ApiError as error:
            assert error.code != 500, error
            raise

    def change(self, patch):
        self.changes += 1
        return self.management.patch(self.kind.plural, self.namespace, self.name, patch)

    def change_suspend(self, suspended):
        pointer, yes, no = self.kind.suspend
        self.change(patch_at(pointer, yes if suspended else no))

    def release(self):
        self.scene.release(self.namespace)

    def delete(self):
        self.deleted = True
        self.management.delete(self.kind.plural, self.namespace, self.name)
        until(lambda: not self.management.find(self.kind.plural, self.namespace, self.name), "the workload to be gone")

    def end(self):
        """Held pods end; then so does the workload."""
        self.release()
        self.until_end()

    def until_end(self):
        self.until("running" if self.kind.never_ends else "succeeded")

    # Queries.

    def workload(self):
        return self.management.get(self.kind.plural, self.namespace, self.name)

    def mirrors(self):
        """{worker: mirror}"""
        found = {worker.name: worker.admin.find(self.kind.plural, self.namespace, self.name) for worker in self.scene.clusters.workers}
        return {name: mirror for name, mirror in found.items() if mirror}

    def children(self, plural):
        """What its controller has made, in both workers."""
        return [found for worker in self.scene.clusters.workers for found in worker.admin.list(plural, self.namespace)]

    def until(self, phase, timeout=180.0):
        """Waits until both the workload and its mirror (which may be gone after its end) are in this phase, with one status."""
        def probe():
            found, mirrors = self.workload(), self.mirrors()
            assert self.kind.phase(found) == phase, self._brief(found)
            worker = found["metadata"].get("annotations", {}).get("wharf.dev/cluster")
            if worker in mirrors:
                wrong = self._differ(found, mirrors[worker])
                assert not wrong, f"not as in {worker}: {tell(wrong)}"
            return found
        return until(probe, f"{self.kind.plural} to be {phase}", timeout)

    def until_carried(self, what, check):
        """Waits until each mirror fulfils this."""
        def probe():
            found = self.mirrors()
            assert found and all(check(mirror) for mirror in found.values()), str([each["metadata"] for each in found.values()])[:600]
            return True
        until(probe, what)

    def until_event(self, text):
        """Waits for an Event of the host that has this text."""
        def probe():
            told = [each.get("message", "") for each in self.management.list("events", self.namespace)
                    if each["involvedObject"].get("uid") == self.uid]
            assert any(text in each for each in told), str(told)[:600]
            return True
        until(probe, f"an Event that says {text}")

    def until_status(self, what, check, timeout=180.0):
        def probe():
            found = self.workload()
            assert check(found), self._brief(found)
            return found
        return until(probe, f"{self.kind.plural} to be {what}", timeout)

    def placed_in(self):
        """Waits for a mirror that has a status; its worker."""
        def probe():
            worker = self.workload()["metadata"].get("annotations", {}).get("wharf.dev/cluster")
            return worker if worker and self.mirrors().get(worker, {}).get("status") else None
        return until(probe, f"{self.kind.plural} to be placed")

    def _differ(self, workload, mirror):
        attempts = len(self.uids_of_mirrors())
        return differences(self._normal(workload, attempts), self._normal(mirror, attempts), "/status")

    def _normal(self, found, attempts):
        return self.kind.normal(found.get("status", {}), attempts)

    def _brief(self, found):
        return f"status {str(found.get('status'))[:600]}"

    def uids_of_mirrors(self):
        return {mirror["metadata"]["uid"] for mirror in self.history()}

    def history(self):
        """All mirrors, as they were at each change."""
        return [event["object"] for worker in self.scene.clusters.workers for event in self._events(worker.name)]

    def changes_of_mirrors(self):
        """How often the host has changed a mirror, but for its status."""
        return sum(len(self.scene.audits[worker.name].host(self.namespace, verb="patch", resource=self.kind.plural, subresource=""))
                   for worker in self.scene.clusters.workers)

    def until_mirrors_are_gone(self):
        until(lambda: not self.mirrors(), f"the mirror of {self.kind.plural} to be deleted")

    def shown(self, phase):
        """Whether the workload has ever been in this phase."""
        return any(self.kind.phase(event["object"]) == phase for event in self._events("management"))

    # Rules.

    def close(self):
        """Takes the workload away, and checks its whole life."""
        until(self.check_statuses, "the statuses to have been seen in the clusters", 20)   # one watch may be later than another
        if not self.deleted:
            self.release()
            self.delete()
        until(self._nothing_is_left, f"nothing of {self.namespace} to be left")
        until(self.check_statuses, "the last statuses to have been seen in the clusters", 20)
        self.check_requests()
        self.check_left_alone()

    def _events(self, cluster):
        return [event for event in self.scene.recorder.of(self.namespace, cluster, self.kind.plural)
                if event["object"]["metadata"]["name"] == self.name]

    def check_statuses(self):
        """Each status of the workload is one that a mirror had, in the order in which the mirrors had them. Before the first mirror
        the host itself writes the status of a workload that is suspended, or was."""
        shown, had, own, attempts = [], [], [], len(self.uids_of_mirrors())
        placed = min((event["ts"] for worker in self.scene.clusters.workers for event in self._events(worker.name)), default=0)
        for event in self._events("management"):
            status = self._normal(event["object"], attempts)
            if event["ts"] < placed and self.kind.phase({"status": status}) in (None, "suspended"):
                own.append(status)
            if status and status not in own and (not shown or shown[-1] != status):
                shown.append(status)
        for attempt in self._attempts():
            had += attempt
        self.statuses, place = len(shown), 0
        for number, status in enumerate(shown, 1):
            match = next((n for n in range(place, len(had)) if not differences(status, had[n])), None)
            if match is not None:
                place = match
            elif not self.kind.allows(status):
                nearest = min(had, key=lambda each: len(differences(status, each))) if had else {}
                raise AssertionError(f"status {number} of {len(shown)} is none of the mirror's {len(had)} from {place + 1} on; it "
                                     f"differs from the nearest in {tell(differences(status, nearest)) or 'its place'}")
        return True

    def _attempts(self):
        """The statuses of each mirror, in order."""
        mirrors, attempts = {}, len(self.uids_of_mirrors())
        for worker in self.scene.clusters.workers:
            for event in self._events(worker.name):
                mirror = mirrors.setdefault(event["object"]["metadata"]["uid"], (event["ts"], []))[1]
                mirror.append(self._normal(event["object"], attempts))
        return [statuses for _, statuses in sorted(mirrors.values(), key=lambda each: each[0])]

    def _nothing_is_left(self):
        for worker in self.scene.clusters.workers:
            for plural in (self.kind.plural, *self.kind.children, "pods"):
                left = [found["metadata"]["name"] for found in worker.admin.list(plural, self.namespace)
                        if found["metadata"]["name"] not in self.own]
                self.left = len(left)
                assert not left, f"{worker.name}: {plural} {', '.join(left)}"
        return True

    def check_requests(self):
        """No request of the host was refused, none was needless, and no controller and the host took turns."""
        attempts = len(self._attempts())
        for cluster in self.scene.clusters.all:
            entries = self.scene.audits[cluster.name].entries(self.namespace)
            refused = [entry for entry in entries if _by_host(entry) and code(entry) in (400, 401, 403, 422)
                       and code(entry) not in self.may_be_refused]
            self.refused += sum(1 for entry in refused if code(entry) == 422)
            self.writes += sum(1 for entry in entries if _by_host(entry))
            assert not refused, f"{cluster.name} refused {describe(refused[0])}"
            own = [entry for entry in entries if entry.get("objectRef", {}).get("name") == self.name
                   and entry["objectRef"].get("resource") == self.kind.plural]
            self._check_turns(cluster, own)
            ended = next((place for place, entry in enumerate(own) if entry["verb"] == "delete"), len(own))
            others = [entry for entry in own[:ended] if entry["verb"] in ("create", "update", "patch") and code(entry) < 300
                      and not _by_host(entry) and not _by_test(entry)]
            assert cluster is not self.scene.clusters.management or not others, \
                f"{_manager(others[0])} does not leave the delegated object alone: {describe(others[0])}"
        created = sum(1 for worker in self.scene.clusters.workers for entry in self._writes(worker, "create"))
        assert created == attempts, f"{created} mirrors were created in {attempts} attempts"

    def check_left_alone(self):
        """The kind's controller in the management cluster writes nothing of a delegated object, and makes nothing for it."""
        made = {f"{event['kind']} {event['object']['metadata']['name']}" for plural in self.kind.children
                for event in self.scene.recorder.of(self.namespace, "management", plural)
                if event["object"]["metadata"]["name"] not in self.own}
        made |= {f"pods {pod['metadata']['name']}" for pod in self.management.list("pods", self.namespace)}
        assert not made, f"the controller in the management cluster made {', '.join(sorted(made))}"
        if self.kind.project:
            accounts = f"system:serviceaccount:{self.kind.project.namespace}:"
            written = [entry for entry in self.scene.audits["management"].entries(self.namespace)
                       if entry["user"].get("username", "").startswith(accounts) and code(entry) < 300]
            assert not written, f"{_manager(written[0])} in the management cluster: {describe(written[0])}"

    def _writes(self, cluster, *verbs):
        return [entry for entry in self.scene.audits[cluster.name].host(self.namespace, resource=self.kind.plural, name=None)
                if entry["verb"] in verbs and 200 <= code(entry) < 300]

    def _check_turns(self, cluster, entries):
        """The host's changes of one object, and those of others that follow each (after a deletion finalizers only go)."""
        own = collections.Counter()
        last = None
        for entry in entries:
            if entry["verb"] == "delete":
                last = None
            if entry["verb"] not in ("patch", "update") or code(entry) >= 300 or entry["objectRef"].get("subresource"):
                continue
            if _by_host(entry):
                own[entry["user"]["username"]] += 1
                last = entry
            elif last is not None and not _by_test(entry) and _manager(entry) != servers.ADMIN:
                self.rewrites[_manager(entry)] += 1
        most = self.changes + 2 * max(len(self._attempts()), 1) + 1
        if cluster is self.scene.clusters.management and not self.kind.subresource:
            most += self.statuses
        total = sum(own.values())
        assert total <= most, f"{cluster.name}: the host changed the object {total} times, expected {most} at most: it takes " \
                              f"turns with {sorted({_manager(each) for each in entries if not _by_host(each)})}"


def _by_host(entry):
    return entry["user"].get("username") in HOST_USERS


def _by_test(entry):
    """The user whose part a life plays, under the name that kube-controller-manager and kwok have too."""
    return entry.get("userAgent") == kube.AGENT


def _manager(entry):
    return entry["user"].get("username")
