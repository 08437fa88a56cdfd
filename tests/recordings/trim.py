#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trim.py [--controller TEXT] [--kubernetes VERSION] [--host VERSION] FILE.jsonl...: turns watch events of one workload
into a recording, tests/recordings/<plural>/<case>.yaml. README.md describes both formats."""
import argparse
import copy
import datetime
import json
import os
import re
import sys

import yaml_text

HERE = os.path.dirname(os.path.abspath(__file__))
# The clock of the tests that replay recordings starts here.
EPOCH = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.timezone.utc)
MARK = "wharf.dev/"
NEVER_END = ("RayCluster", "RayService")
ENDS = {"success": "Succeeded", "failure": "Failed", "retry": "Succeeded", "suspend-resume": "Succeeded",
        "worker-lost": "Succeeded"}
WATCH_LAG_S = 3
CHILDREN = 12  # of one kind in one cluster; the others are counted
TIME = re.compile(r"\b(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)")
UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
ADDRESS = re.compile(r"\b10\.\d+\.\d+\.\d+\b")
REGISTRY = re.compile(r"^[a-z0-9-]+\.[a-z0-9.-]+/")
# The suffix of generated names, in the alphabet of Kubernetes' generator.
SUFFIX = re.compile(r"(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5}(?![a-z0-9])")


class Names:
    """Replaces what differs from one recording of a life to the next."""

    def __init__(self, metadata, began):
        self.name, self.began, self.known = metadata["name"], began, {}
        space = metadata["namespace"]
        self.space = re.compile(rf"(?<![a-z0-9-]){space}(?=/{self.name})|(?<=\.){space}(?=\.svc)|^{space}$")

    def _number(self, kind, text):
        among = self.known.setdefault(kind, {})
        return among.setdefault(text, len(among) + 1)

    def _time(self, match):
        if match[1].startswith("0001-"):  # Go's zero time
            return match[0]
        then = datetime.datetime.fromisoformat(match[1] + ("+00:00" if match[3] == "Z" else match[3]))
        return (EPOCH + (then - self.began)).strftime("%Y-%m-%dT%H:%M:%S") + (match[2] or "") + "Z"

    def text(self, text):
        text = TIME.sub(self._time, text).replace("/home/", "/opt/")
        text = UID.sub(lambda m: f"00000000-0000-0000-0000-{self._number('uid', m[0]):012d}", text)
        text = self.space.sub("default", text)
        text = ADDRESS.sub(lambda m: f"10.0.0.{self._number('address', m[0])}", text)
        if self.name not in text:
            return text
        text = text.replace(self.name, "life")
        return SUFFIX.sub(lambda m: f"{self._number('suffix', m[0]):05d}", text)

    def value(self, value, key=None):
        if isinstance(value, dict):
            return {self.text(key): self.value(member, key) for key, member in value.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, str) and key == "image":
            value = REGISTRY.sub("", value)
        return self.text(value) if isinstance(value, str) else value


def merge_patch(before, after):
    """The merge patch (RFC 7386) that makes `after` of `before`."""
    patch = {}
    for key in [*before, *(key for key in after if key not in before)]:
        if key not in after:
            patch[key] = None
        elif isinstance(before.get(key), dict) and isinstance(after[key], dict):
            if before[key] != after[key]:
                patch[key] = merge_patch(before[key], after[key])
        elif key not in before or before[key] != after[key]:
            patch[key] = after[key]
    return patch


def bare(value):
    """The object without status, and without what servers and the host add."""
    metadata = {}
    for part in ("labels", "annotations"):
        kept = {k: v for k, v in value["metadata"].get(part, {}).items() if not k.startswith(MARK)}
        if kept:
            metadata[part] = kept
    if value["metadata"].get("finalizers"):
        metadata["finalizers"] = value["metadata"]["finalizers"]
    if value["metadata"].get("deletionTimestamp"):
        metadata["deletionTimestamp"] = value["metadata"]["deletionTimestamp"]
    rest = {k: v for k, v in value.items() if k not in ("apiVersion", "kind", "metadata", "status")}
    return {"metadata": metadata, **rest} if metadata else rest


def as_created(value):
    """Without the selector and the labels that a server generates for a Job."""
    if value["kind"] != "Job" or value["spec"].get("manualSelector"):
        return value
    value = copy.deepcopy(value)
    value["spec"].pop("selector", None)
    for metadata in (value["metadata"], value["spec"]["template"]["metadata"]):
        metadata["labels"] = {k: v for k, v in metadata.get("labels", {}).items()
                              if k.removeprefix("batch.kubernetes.io/") not in ("controller-uid", "job-name")}
    return value


def without_nulls(value):
    """As servers store a custom resource: a field that cannot be null is left out."""
    if isinstance(value, dict):
        return {key: without_nulls(member) for key, member in value.items() if member is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def in_order(events):
    """Events of several watches, of which one may have been faster: a status in the management cluster comes after that of
    the mirror that it is a copy of, and a change of the workload before that of the mirror."""
    events = sorted(events, key=lambda event: event["ts"])
    management, kind = events[0]["cluster"], events[0]["kind"]
    workload = [e for e in events if e["kind"] == kind and e["cluster"] == management]
    mirrors = [e for e in events if e["kind"] == kind and e["cluster"] != management]
    _causes_first(workload, mirrors)
    _copies_last(workload, [e for e in mirrors if e["object"].get("status")])
    return sorted(events, key=lambda event: (event["ts"], event["cluster"] != management or 2 * event.get("copy", 0)))


def _causes_first(workload, mirrors):
    changes = [after for before, after in zip(workload, workload[1:]) if bare(before["object"]) != bare(after["object"])]
    end = next((e for e in workload if e["type"] == "DELETED"), None)
    for mirror in mirrors:
        if end and mirror["type"] == "DELETED" and mirror["ts"] <= end["ts"] < mirror["ts"] + WATCH_LAG_S:
            end["ts"] = mirror["ts"]
    for before, after in zip(mirrors, mirrors[1:]):
        same = before["object"]["metadata"]["uid"] == after["object"]["metadata"]["uid"]
        if not same or marks(before["object"]) == marks(after["object"]):
            continue
        late = [e for e in changes if after["ts"] <= e["ts"] < after["ts"] + WATCH_LAG_S]
        if late and not any(before["ts"] < e["ts"] <= after["ts"] for e in changes):
            late[0]["ts"] = after["ts"]


def _copies_last(workload, sources):
    now, seen, first = 0, {}, 0
    for event in workload:
        status = event["object"].get("status")
        if status and status != seen and marks(event["object"]):
            near = [e for e in sources[first:] if e["ts"] < event["ts"] + WATCH_LAG_S]
            distance = [len(json.dumps(merge_patch(e["object"]["status"], status))) for e in near]
            if near:
                chosen = distance.index(min(distance))
                if near[chosen]["ts"] >= event["ts"]:
                    now = max(now, near[chosen]["ts"])
                first += chosen
            event["copy"] = 1
        seen = status
        event["ts"] = now = max(now, event["ts"])


def marks(value):
    return {k: v for k, v in value["metadata"].get("annotations", {}).items() if k.startswith(MARK)}


def attempt(value):
    return int(marks(value).get(MARK + "attempt", 0))


class Recording:
    def __init__(self, events):
        self.events = in_order(events)
        first = self.events[0]
        self.management, self.kind = first["cluster"], first["kind"]
        self.began = first["ts"]
        created = first["object"]["metadata"]["creationTimestamp"]
        self.names = Names(first["object"]["metadata"],
                           datetime.datetime.fromisoformat(created.replace("Z", "+00:00")))
        self.steps, self.last, self.current = [], {}, None
        self.children, self.plural, self.made, self.first = {}, None, None, None

    def at(self, event):
        return round((event["ts"] - self.began) * 1000)

    def add(self, event, **members):
        self.steps.append({"at": self.at(event), **members})

    def cluster(self, event):
        return event["cluster"].rpartition("-")[2]

    def read(self):
        for event in self.events:
            value = event["object"]
            key = (event["cluster"], event["kind"], value["metadata"]["uid"])
            before = self.last.get(key)
            gone = event["type"] == "DELETED"
            if before and not gone and before["metadata"]["resourceVersion"] == value["metadata"]["resourceVersion"]:
                continue
            value = self.names.value(value)
            if event["kind"] != self.kind:
                self.child(event, value, gone)
            elif event["cluster"] == self.management:
                self.workload(event, value, before, gone)
            else:
                self.mirror(event, value, before, gone)
            self.last[key] = value
        self.phases()
        return self

    def workload(self, event, value, before, gone):
        if gone:
            self.add(event, deleted=True)
            return
        if not before:
            value = as_created(value)
            self.first = {key: value[key] for key in ("apiVersion", "kind")}
            self.first["metadata"] = {"name": value["metadata"]["name"], "namespace": value["metadata"]["namespace"],
                                      **bare(value).get("metadata", {})}
            self.first.update({k: v for k, v in bare(value).items() if k != "metadata"})
            return
        patch = merge_patch(bare(before), bare(value))
        if patch:
            self.add(event, patch=patch)
        if self.current and attempt(value) > attempt(self.current["object"]):
            self.add(event, lost=True, cluster=self.cluster(self.current))
            self.current = None
        if value.get("status", {}) != before.get("status", {}):
            shown = merge_patch(self.status_now(), value.get("status", {}))
            self.add(event, shown=shown)

    def status_now(self):
        mirror = self.current and self.last.get((self.current["cluster"], self.kind, self.current["object"]["metadata"]["uid"]))
        return (mirror or {}).get("status", {})

    def mirror(self, event, value, before, gone):
        cluster = self.cluster(event)
        kind = value["metadata"].get("labels", {}).get(MARK + "kind", "")
        self.plural = self.plural or kind.partition(".")[0]
        current = self.current and self.current["object"]["metadata"]["uid"] == event["object"]["metadata"]["uid"]
        if gone:
            self.add(event, deleted=True, cluster=cluster)
            if current:
                self.current = None
            return
        if not before:
            made = bare(value)
            status = {"status": value["status"]} if value.get("status") else {}
            self.add(event, created=cluster, generation=value["metadata"]["generation"],
                     **({} if made == self.made else {"object": made}), **status)
            self.made, self.current = made, event
        elif current:
            self.change(event, value, before)

    def change(self, event, value, before):
        """A write to the mirror, by the host, by the controller, or by both since the last event."""
        step, patch = {"cluster": self.cluster(event)}, merge_patch(bare(before), bare(value))
        if patch:
            step["carried" if marks(value) != marks(before) else "object"] = patch
        if value["metadata"]["generation"] != before["metadata"]["generation"]:
            step["generation"] = value["metadata"]["generation"]
        if value.get("status", {}) != before.get("status", {}):
            step["ending" if value["metadata"].get("deletionTimestamp") else "status"] = value.get("status", {})
        if len(step) > 1:
            self.add(event, **step)

    def child(self, event, value, gone):
        owner = next((o for o in value["metadata"].get("ownerReferences", ()) if o.get("controller")), {})
        among = self.children.setdefault((self.cluster(event), event["kind"]), {})
        entry = among.setdefault(value["metadata"]["uid"], {"name": value["metadata"]["name"], "at": self.at(event)})
        if owner:
            entry["owner"] = f"{owner['kind']}/{owner['name']}"
        phase = value.get("status", {}).get("phase")
        if phase:
            entry["phase"] = phase
        if gone:
            entry["gone"] = self.at(event)

    def phases(self):
        """The final phase, said by the last status."""
        statuses = [step for step in self.steps if "status" in step]
        created = [number for number, step in enumerate(self.steps) if "created" in step]
        resumed = [number for number, step in enumerate(self.steps) if "patch" in step]
        if not created or (resumed and resumed[0] < created[0]):
            self.steps.insert(0, {"at": 0, "unplaced": True})
        if statuses and self.ends:
            statuses[-1]["phase"] = self.ends

    def documents(self, versions):
        yield {"recorded": versions}
        yield self.first
        yield from self.steps
        for (cluster, kind), among in sorted(self.children.items()):
            listed = list(among.values())
            yield {"children": kind, "cluster": cluster, "count": len(listed), "first": listed[:CHILDREN]}

    ends = None


def end_of(case, kind):
    ends = [phase for end, phase in ENDS.items() if case.endswith(end)]
    return "Active" if ends and kind in NEVER_END else (ends or [None])[0]


def case_of(path, kind):
    name = os.path.basename(path).removesuffix(".jsonl")
    return next((name[len(prefix):] for prefix in (kind.lower() + "-", ) if name.startswith(prefix)), name)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for flag in ("controller", "kubernetes", "host"):
        parser.add_argument("--" + flag, default=None, help=f"version of the {flag}")
    parser.add_argument("--shared", action="store_true", help="the controller ran in the management cluster too")
    parser.add_argument("--out", default=HERE, help="folder of the recordings")
    parser.add_argument("--case", help="name of the file; default: of the input, without the kind")
    parser.add_argument("--ends", help="final phase; default: by the case")
    parser.add_argument("files", nargs="+", metavar="FILE.jsonl")
    options = parser.parse_args()
    for path in options.files:
        with open(path, encoding="utf-8") as file:
            lines = [without_nulls(json.loads(line)) for line in file]
        about = {} if "object" in lines[0] else lines.pop(0)
        recording = Recording(lines)
        case = options.case or about.get("case") or case_of(path, recording.kind)
        recording.ends = options.ends or not options.shared and end_of(case, recording.kind)
        recording.read()
        versions = {flag: getattr(options, flag) or about.get(flag) for flag in ("kubernetes", "controller", "host", "shared")
                    if getattr(options, flag) or about.get(flag)}
        folder = os.path.join(options.out, recording.plural)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, case + ".yaml"), "w", encoding="utf-8") as file:
            file.write("# SPDX-License-Identifier: Apache-2.0\n")
            file.write("---\n".join(yaml_text.document(d) for d in recording.documents(versions)))


if __name__ == "__main__":
    sys.exit(main())
