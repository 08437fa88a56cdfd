# SPDX-License-Identifier: Apache-2.0
"""Plays one story of a fixture: the user in the management cluster, the kind's controller in the worker; after each
step both sides have to be as the story says."""
import copy
import time

import kube
from compare import MISSING, differences, merge, tell, time_of
from playable import ENDS, playable
from wait import until

FINALIZER = "e2e.wharf.dev/kept"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# Events that report actions of the test itself, and that the story ended in a failure.
_OF_THE_TEST = ("Rescheduled", "Finished")


def _earlier_seconds(mirror):
    return [int(value) for key, value in mirror["metadata"].get("annotations", {}).items()
            if key.endswith(".wharf.dev/earlier-seconds")]


def _is_left(mirror, path, found, wanted):
    """Of a deadline, a further attempt has what earlier ones have left."""
    earlier = _earlier_seconds(mirror)
    return path.endswith("/activeDeadlineSeconds") and earlier and found == max(wanted - earlier[0], 1)


class Play:
    """One workload made from a fixture, under its own name."""

    def __init__(self, env, fixture, namespace, name, subresource=True, defaults=None):
        self.env, self.fixture, self.namespace, self.name = env, fixture, namespace, name
        self.plural, self.subresource, self.defaults = fixture.plural, subresource, defaults or {}
        self.began, self.attempt, self.worker, self.mirror_uid = time.time(), 0, None, None
        self.held = False   # a change waits: it is undefined which of the next steps carries it
        self.spec, self.carried = copy.deepcopy(fixture.mirror.get("spec", {})), set()
        self.marks = {part: dict(fixture.mirror.get("metadata", {}).get(part) or {})
                      for part in ("labels", "annotations")}
        self.told, self.refused, self.phase = [], False, None
        self.most_statuses = 0   # the number of status patches that may have been needed

    # The objects.

    def workload(self):
        return self.env.management.get(self.plural, self.namespace, self.name)

    def mirror(self):
        return self.env.worker(self.worker).admin.find(self.plural, self.namespace, self.name)

    def submit(self, patch=None):
        """Creates the workload, with a change to what the fixture has."""
        body = merge(self.fixture.workload, patch or {})
        self.spec = merge(self.spec, (patch or {}).get("spec", {}))
        meta = body.setdefault("metadata", {})
        owner = self.env.management.get("configmaps", self.namespace, "owner")["metadata"]
        meta.update({"name": self.name, "namespace": self.namespace, "finalizers": [FINALIZER], "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}]})
        meta.setdefault("annotations", {})[_LAST_APPLIED] = "{}"
        made = self.env.management.create(self.plural, self.namespace, body)
        lost = [each for each in differences(made["spec"], body["spec"], "/spec") if each[1] == MISSING]
        assert not lost, f"the API server takes these out of the workload: {tell(lost)}"
        self.expected, self.started = {}, None
        self.carried = {made["metadata"]["generation"]}

    def placed(self):
        """Waits for the next placement, and checks the mirror that is made then."""
        def probe():
            notes = self.workload()["metadata"].get("annotations", {})
            if notes.get("wharf.dev/attempt") != str(self.attempt + 1):
                return None
            self.worker = notes["wharf.dev/cluster"]
            found = self.mirror()
            return found if found and found["metadata"]["uid"] != self.mirror_uid else None
        found = until(probe, f"attempt {self.attempt + 1} of {self.name} to have a mirror")
        self.attempt, self.mirror_uid = self.attempt + 1, found["metadata"]["uid"]
        if not self.refused and not self.held:
            self.check_mirror()

    # The expected mirror.

    def expected_mirror(self, change=None):
        """The story's mirror with the defaults of the worker's API server. While a change waits, its state is
        undefined: then it is the existing mirror with the latest change."""
        spec = merge(self.mirror()["spec"], change or {}) if self.held else self.spec
        body = {"apiVersion": self.fixture.api_version, "kind": self.fixture.kind, "spec": spec,
                "metadata": {"name": "probe-" + self.name, "labels": self.marks["labels"],
                             "annotations": self.marks["annotations"]}}
        return self.env.worker(self.worker).admin.create(self.plural, self.namespace, body, query={"dryRun": "All"})

    def check_mirror(self, change=None):
        expected, uid = self.expected_mirror(change), self.workload()["metadata"]["uid"]

        def probe():
            found = self.mirror()
            assert found, "there is no mirror"
            wrong = [each for each in differences(found["spec"], expected["spec"], "/spec") if not _is_left(found, *each)]
            for part in ("labels", "annotations"):
                ours = {key: value for key, value in found["metadata"].get(part, {}).items()
                        if not key.partition("/")[0].endswith("wharf.dev")}
                wrong += differences(ours, expected["metadata"].get(part, {}), f"/metadata/{part}")
            assert not wrong, tell(wrong)
            self._check_marks(found["metadata"], uid)
            return True
        until(probe, f"the mirror of {self.name} to be as it should")

    def _check_marks(self, meta, uid):
        marks = {key: meta.get("labels", {}).get(f"wharf.dev/{key}") for key in ("origin", "uid", "kind")}
        assert marks == {"origin": "e2e", "uid": uid, "kind": f"{self.plural}.{self.fixture.group}"}, marks
        assert meta["annotations"].get("wharf.dev/attempt") == str(self.attempt), meta["annotations"]
        for field in ("ownerReferences", "finalizers"):
            assert field not in meta, f"the mirror has {field}: {meta[field]}"

    # The steps.

    def play(self, steps):
        """Submits the workload, and takes it through all steps."""
        told = self.fixture.workload["metadata"]
        steps = playable(steps, self.began, {
            f"{told.get('namespace', 'default')}/{told['name']}": f"{self.namespace}/{self.name}"})
        if steps[0].get("unplaced"):
            self._begin_unplaced(steps[1])
            del steps[:2]
        else:
            self.submit()
            self.placed()
        self.go_on(steps)

    def go_on(self, steps):
        for number, step in enumerate(steps, 1):
            try:
                self.step(step)
            except (AssertionError, kube.ApiError) as error:
                told = f"step {number} of {len(steps)} ({', '.join(step)}): {error}"
                raise AssertionError(told) from error

    def _begin_unplaced(self, step):
        """Changes before the placement are part of the created object, since it would be placed at once."""
        self.submit(step["patch"])
        self.phase, self.most_statuses = step.get("phase"), 2
        if step.get("event"):
            self._expect_event(step["event"])
        if step.get("workload"):
            self._expect_status(step["workload"])
            assert not self.workload()["metadata"].get("annotations", {}).get("wharf.dev/cluster"), "it was placed"

    def step(self, step):
        self.most_statuses += 1
        if step.get("lost"):
            self._lose(step)
        elif "patch" in step:
            self._patch(step)
        else:
            if not self.mirror_uid:
                self.placed()
            self._write_status(step)
        self.phase = step.get("phase", self.phase)

    def _lose(self, step):
        """Somebody deletes the mirror, which is a lost mirror for the host."""
        self.env.worker(self.worker).admin.delete(self.plural, self.namespace, self.name, uid=self.mirror_uid)
        if not step.get("waits"):
            self.placed()
            return
        self.until_no_mirror("deleted by hand")
        self.mirror_uid = None
        self._expect_status(step["workload"])

    def _patch(self, step):
        before = self.mirror() if self.mirror_uid else None
        patched = self.env.management.patch(self.plural, self.namespace, self.name, step["patch"])
        generation, wanted = patched["metadata"]["generation"], step["patch"].get("spec", {})
        self.refused = self.refused or bool(step.get("event"))
        self.carried = self.carried | {generation} if step.get("event") else {generation}
        if step.get("event"):
            self._expect_event(step["event"])
        if step.get("event") and "mirror" not in step:
            after = self.mirror()
            assert after["spec"] == before["spec"], tell(differences(after["spec"], before["spec"], "/spec"))
            return
        self.held = self.held or "mirror" in step and step["mirror"] != wanted
        carried = step["mirror"] if "mirror" in step else wanted
        self.spec = merge(self.spec, carried)
        for part, kept in self.marks.items():
            self.marks[part] = merge(kept, step["patch"].get("metadata", {}).get(part, {}))
        if self.mirror_uid:
            self.check_mirror(carried)
        if "workload" in step and (self.mirror_uid or not step.get("passing")):
            self._expect_status(step["workload"])

    def _write_status(self, step):
        """The kind's controller writes the whole status of the mirror."""
        client = self.env.worker(self.worker).admin

        def probe():
            found = self.mirror()
            assert found, "there is no mirror"
            status = copy.deepcopy(step["status"])
            if "observedGeneration" in status:
                status["observedGeneration"] = found["metadata"]["generation"]
            found["status"] = status
            try:
                return status, client.replace(self.plural, self.namespace, found,
                                              "status" if self.subresource else None)
            except kube.ApiError as error:
                if error.code != 409:
                    raise
                return None
        written, stored = until(probe, f"the status of the mirror of {self.name} to be written", every=0.01)
        lost = [each for each in differences(stored.get("status", {}), written) if each[1] == MISSING]
        assert not lost, f"the API server takes these out of the status: {tell(lost)}"
        # A mirror without a status has nothing to copy.
        self._expect_status(step.get("workload", step["status"] or self.expected))

    def _expect_status(self, expected):
        self.expected = expected

        def acceptable(path, found, wanted):
            if path == "/observedGeneration":
                return found in self.carried
            # The deadline of all attempts counts from the start of the first one.
            if path == "/startTime" and found == self.started and _earlier_seconds(self.mirror() or {"metadata": {}}):
                return True
            # "now": the host writes this time.
            return wanted == "now" and (time_of(found) or 0) >= self.began - 2 or \
                wanted == MISSING and path in self.defaults and self.defaults[path] == found

        def probe():
            wrong = [each for each in differences(self.workload().get("status", {}), expected)
                     if not acceptable(*each)]
            assert not wrong, tell(wrong)
            self.started = self.workload().get("status", {}).get("startTime") or self.started
            return True
        until(probe, f"the status of {self.name} to be as the story says")

    # Events.

    def events(self):
        fields = f"involvedObject.name={self.name},involvedObject.kind={self.fixture.kind}"
        return self.env.management.list("events", self.namespace, fields=fields)

    def _expect_event(self, part):
        self.told.append(part)

        def probe():
            texts = [f"{event.get('reason')}: {event.get('message')}" for event in self.events()]
            assert any(part in text for text in texts), texts
            return True
        until(probe, f"an Event of {self.name} about {part!r}")

    def check_events(self):
        """No Warnings except those of the story."""
        texts = [f"{event.get('reason')}: {event.get('message')}" for event in self.events()
                 if event.get("type") == "Warning" and event.get("reason") not in _OF_THE_TEST]
        wrong = [text for text in texts if not any(part in text for part in self.told)]
        assert not wrong, f"unexpected Events: {wrong}"

    # The end.

    def end(self):
        """A finished workload's mirror goes and its status stays; a deleted workload's mirror goes with it."""
        self.check_events()
        if self.phase in ENDS:
            status = self.workload().get("status")
            self.until_no_mirror("finished")
            wrong = differences(self.workload().get("status"), status, "/status")
            assert not wrong, f"the status changed when the mirror was deleted: {tell(wrong)}"
        elif self.mirror_uid:
            assert self.mirror(), f"the mirror of {self.name} is gone, and it has not finished"
        self.delete()

    def delete(self):
        client = self.env.management
        client.delete(self.plural, self.namespace, self.name)
        if self.worker:
            self.until_no_mirror("being deleted")
        client.patch(self.plural, self.namespace, self.name, {"metadata": {"finalizers": None}})
        until(lambda: client.find(self.plural, self.namespace, self.name) is None, f"{self.name} to be gone")

    def until_no_mirror(self, why):
        until(lambda: self.mirror() is None, f"the mirror of {self.name}, which is {why}, to be gone")
