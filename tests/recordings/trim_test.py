# SPDX-License-Identifier: Apache-2.0
"""trim_test.py TO_JSON: what trim.py makes of watch events, and that a recording stays the same if it is made again of a
life that differs only in names, times, uids and addresses."""
import copy
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

import trim
import yaml_text

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 10 << 20
TO_JSON = sys.argv.pop(1)


def watched(ts, cluster, version, kind="Train", change="MODIFIED", **members):
    value = {"apiVersion": "example.com/v1", "kind": kind, "metadata": {
        "name": "ride-7", "namespace": "t", "uid": "b6ed25fc-3a27-43cd-a5f0-678dd44f2296",
        "creationTimestamp": "2026-11-23T17:01:47Z", "generation": 1, "resourceVersion": str(version),
        "managedFields": [{"manager": "user"}]}}
    for key, member in members.items():
        value["metadata" if key == "metadata" else key] = {**value.get(key, {}), **member}
    return {"ts": 1795453307 + ts, "cluster": cluster, "kind": kind, "type": change, "object": value}


def placed(attempt):
    return {"annotations": {"wharf.dev/attempt": str(attempt), "wharf.dev/cluster": f"w{attempt}"}}


def mirrored(attempt, **more):
    return {"uid": f"9200a74f-d30f-433f-a7d2-ea322cbcc62{attempt}", "labels": {"wharf.dev/kind": "trains.example.com"},
            "annotations": {"wharf.dev/attempt": str(attempt), "wharf.dev/carried": "a"}, **more}


RUNS = {"phase": "Running", "startedAt": "2026-11-23T17:01:49Z", "gone": None, "host": "ride-7-x2k9q.t.svc", "ip": "10.9.8.7", "image": "a.example.com/b/c:1"}
ENDED = {**RUNS, "phase": "Done", "host": "ride-7-x2k9q.t.svc"}


def life():
    spec = {"managedBy": "wharf.dev/host", "cars": 2}
    made = {"cars": 2, "color": "red"}
    return [
        watched(0, "rk-m", 1, change="ADDED", spec=spec),
        watched(0.1, "rk-m", 2, spec=spec, metadata=placed(1)),
        watched(0.2, "rk-w1", 3, change="ADDED", spec=made, metadata=mirrored(1)),
        watched(0.3, "rk-w1", 4, "Pod", change="ADDED", metadata={
            "name": "ride-7-x2k9q", "uid": "0cdc3a66-4787-4f99-bc90-56cffe975718",
            "ownerReferences": [{"kind": "Train", "name": "ride-7", "controller": True}]}),
        # The watch of the management cluster is faster.
        watched(0.9, "rk-m", 6, spec=spec, metadata=placed(1), status=RUNS),
        watched(1, "rk-w1", 5, spec=made, metadata=mirrored(1, finalizers=["example.com/keep"]), status=RUNS),
        watched(5, "rk-m", 7, spec={**spec, "cars": 3}, metadata=placed(1), status=RUNS),
        watched(6, "rk-w1", 8, spec={**made, "cars": 3}, metadata=mirrored(1, generation=2, annotations={
            "wharf.dev/attempt": "1", "wharf.dev/carried": "b"}), status=RUNS),
        watched(7, "rk-w1", 8, spec={**made, "cars": 3}, metadata=mirrored(1, generation=2), status=RUNS),  # once more
        watched(8, "rk-m", 9, spec={**spec, "cars": 3}, metadata=placed(2), status=RUNS),
        watched(9, "rk-w2", 10, change="ADDED", spec=made, metadata=mirrored(2)),
        watched(9.5, "rk-w1", 11, spec=made, metadata=mirrored(1), status=ENDED),  # nobody sees it any more
        watched(10, "rk-w2", 12, spec=made, metadata=mirrored(2), status=ENDED),
        watched(10.1, "rk-m", 13, spec={**spec, "cars": 3}, metadata=placed(2), status={**ENDED, "ip": None}),
        watched(20, "rk-w2", 14, change="DELETED", spec=made, metadata=mirrored(2), status=ENDED),
        watched(30, "rk-m", 15, change="DELETED", spec=spec, metadata=placed(2), status=ENDED),
    ]


def recorded(events, ends="Succeeded"):
    recording = trim.Recording(trim.without_nulls(copy.deepcopy(events)))
    recording.ends = ends
    return recording.read()


class Trim(unittest.TestCase):
    maxDiff = None

    def test_a_life_becomes_steps_in_the_order_of_their_causes(self):
        recording = recorded(life())
        self.assertEqual(recording.plural, "trains")
        documents = list(recording.documents({"kubernetes": "1.36.2"}))
        status = {"phase": "Running", "startedAt": "2026-03-01T12:00:02Z", "host": "life-00001.default.svc", "ip": "10.0.0.1",
                  "image": "b/c:1"}
        ended = {**status, "phase": "Done"}
        self.assertEqual(documents, [
            {"recorded": {"kubernetes": "1.36.2"}},
            {"apiVersion": "example.com/v1", "kind": "Train", "metadata": {"name": "life", "namespace": "default"},
             "spec": {"managedBy": "wharf.dev/host", "cars": 2}},
            {"at": 200, "created": "w1", "generation": 1, "object": {"spec": {"cars": 2, "color": "red"}}},
            {"at": 1000, "cluster": "w1", "object": {"metadata": {"finalizers": ["example.com/keep"]}}, "status": status},
            {"at": 1000, "shown": {}},
            {"at": 5000, "patch": {"spec": {"cars": 3}}},
            {"at": 6000, "cluster": "w1", "carried": {"metadata": None, "spec": {"cars": 3}}, "generation": 2},
            {"at": 8000, "lost": True, "cluster": "w1"},
            {"at": 9000, "created": "w2", "generation": 1},
            {"at": 10000, "cluster": "w2", "status": ended, "phase": "Succeeded"},
            {"at": 10100, "shown": {"ip": None}},
            {"at": 20000, "deleted": True, "cluster": "w2"},
            {"at": 30000, "deleted": True},
            {"children": "Pod", "cluster": "w1", "count": 1,
             "first": [{"name": "life-00001", "at": 300, "owner": "Train/life"}]},
        ])

    def test_another_recording_of_the_same_life_is_the_same(self):
        text = json.dumps(life()).replace("ride-7", "trip-31").replace("x2k9q", "bcd24").replace("10.9.8.7", "10.1.1.1")
        text = text.replace("b6ed25fc", "11ed25fc").replace("17:01:", "18:31:")
        again = list(recorded(json.loads(text)).documents({}))
        self.assertEqual(again, list(recorded(life()).documents({})))

    def test_what_is_written_is_read_as_it_was(self):
        values = [{"a": ["1.5", "true", "no", "", "a: b", "x\ny", "- z", "#c", "Null", "1e3", "~", "é", "*", "&a", "2026-01-01"],
                   "b": [], "c": {}, "d": [[1, 2.5], [True, None]], "e": {"f": "g" * 200, "h": [{"i": "j" * 120, "k": 1}]},
                   "true": "yes", "n o": "C D"}, {"second": -7}]
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
            file.write("---\n".join(map(yaml_text.document, values)))
            file.flush()
            done = subprocess.run([TO_JSON, file.name], capture_output=True, text=True, check=True, timeout=60)
        self.assertEqual(json.loads(done.stdout), values)

    def test_all_recordings_together_are_small(self):
        size = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(HERE) for name in names)
        self.assertLess(size, LIMIT)


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=0, testRunner=unittest.TextTestRunner(stream=io.StringIO())).result
    for test, trace in result.failures + result.errors:
        print(f"FAILED  {test}\n{trace}")
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    sys.exit(bad != 0)
