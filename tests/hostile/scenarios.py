# SPDX-License-Identifier: Apache-2.0
"""What a hostile worker does, by name. A scenario answers a request (True) or leaves it to the server (api.py)."""
import itertools
import json
import re
import time
import zlib

import api

LIST_HEAD = '{"kind":"JobList","apiVersion":"batch/v1","metadata":{"resourceVersion":"100"},"items":['
NUMBERS = itertools.count(1)
SPINS = 2000
HEAVY, HEAVY_SPINS = 4, 60  # mirrors with heavy statuses, and how often each of them changes for each new one
LAST = {"active": 42}  # the status in which a mirror settles that was changed so often


def _mirror(origin, number, **more):
    """An object that claims to be a mirror of the host."""
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {
        "name": f"orphan-{number}", "namespace": "default", "uid": f"00000000-0000-4000-8000-{number:012}",
        "resourceVersion": str(200 + number), "generation": 1, "labels": {
            "wharf.dev/origin": origin, "wharf.dev/kind": "jobs.batch",
            "wharf.dev/uid": f"00000000-0000-4000-9000-{number:012}"},
        "annotations": {"wharf.dev/attempt": "1"}}, **more}


def _accept_first(connection, request, count):
    """Stores the first `count` mirrors that are created; the others are rejected."""
    server = connection.server
    if not request.creates or len(server.created) >= count:
        return False
    made = json.loads(request.body)
    made["metadata"].update(uid=f"00000000-0000-4000-a000-{len(server.created):012}", generation=1,
                            resourceVersion=str(next(NUMBERS) + 100), creationTimestamp="2026-01-02T03:04:05Z")
    server.created.append(made)
    connection.answer(made, 201)
    return True


def _follow(connection, request, speak):
    """A watch in which `speak(mirror)` makes the events about what was created."""
    connection.head(Transfer_Encoding="chunked")
    if request.query.get("sendInitialEvents") == "true":
        connection.chunk(api.event("BOOKMARK", {"kind": "Job", "apiVersion": "batch/v1", "metadata": {
            "resourceVersion": "100", "annotations": {"k8s.io/initial-events-end": "true"}}}))
    told = 0
    while True:
        while told < len(connection.server.created):
            for each in speak(connection.server.created[told]):
                connection.chunk(each)
            told += 1
        connection.wait(0.1)


def _changed(mirror, **status):
    metadata = {**mirror["metadata"], "resourceVersion": str(next(NUMBERS) + 100000)}
    return {**mirror, "metadata": metadata, "status": status}


def gzip_bomb(connection, request):
    """A list of 70 million empty arrays in 204 KB of gzip."""
    if not request.lists:
        return False
    if not hasattr(gzip_bomb, "body"):
        squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
        parts = [squeeze.compress((LIST_HEAD + "[]").encode())]
        parts += [squeeze.compress(b",[]" * 1000000) for _ in range(70)]
        gzip_bomb.body = b"".join(parts + [squeeze.compress(b"]}"), squeeze.flush()])
    connection.head(Content_Encoding="gzip", Content_Length=len(gzip_bomb.body))
    connection.send(gzip_bomb.body)
    return True


def nested_items(connection, request):
    """The same without gzip: a list with one item of 30 million empty arrays."""
    if not request.lists:
        return False
    connection.head(Transfer_Encoding="chunked")
    connection.chunk(LIST_HEAD + '{"metadata":{"name":"a","uid":"b","resourceVersion":"1"},"spec":{"a":[[]')
    for _ in range(300):
        connection.chunk(b",[]" * 100000)
    connection.chunk("]}}]}")
    connection.send("0\r\n\r\n")
    return True


def endless_tokens(connection, request):
    """A list without an end: every page has a new continue token."""
    if not request.lists:
        return False
    connection.answer({"kind": "JobList", "apiVersion": "batch/v1", "items": [], "metadata": {
        "resourceVersion": "100", "continue": f"token-{next(NUMBERS)}"}})
    return True


def endless_page(connection, request):
    """A page without an end: ever more items."""
    if not request.lists:
        return False
    connection.head(Transfer_Encoding="chunked")
    connection.chunk(LIST_HEAD + json.dumps(_mirror(request.origin, 1)))
    while True:
        items = "".join("," + json.dumps(_mirror(request.origin, next(NUMBERS))) for _ in range(200))
        connection.chunk(items)


def trailers(connection, request):
    """Trailers of a chunked answer without an end."""
    if not request.lists:
        return False
    connection.head(Transfer_Encoding="chunked")
    connection.chunk(LIST_HEAD + "]}")
    connection.send("0\r\n")
    block = "".join(f"X-Trailer-{i}: {'t' * 1000}\r\n" for i in range(100))
    while True:
        connection.send(block)


def interim(connection, request):
    """Interim answers without an end."""
    if not request.lists:
        return False
    block = ("HTTP/1.1 103 Early Hints\r\n" + "X-Hint: " + "h" * 1000 + "\r\n\r\n") * 50
    while True:
        connection.send(block)


def million_orphans(connection, request):
    """A million mirrors of the host, none of which it deletes."""
    if request.deletes:
        connection.wait(3600)
        return True
    if not request.lists:
        return False
    first = int(request.query.get("continue", "0"))
    last = min(first + int(request.query.get("limit", "500")), 1000000)
    token = str(last) if last < 1000000 else ""
    items = ",".join(json.dumps(_mirror(request.origin, number)) for number in range(first, last))
    head = LIST_HEAD.replace('"100"}', f'"100","continue":"{token}"}}')
    connection.answer((head + items + "]}").encode())
    return True


def _widen(connection, request, keys):
    if request.watches:
        def speak(mirror):
            yield api.event("ADDED", mirror)
            for value in range(3):
                wide = ",".join(f'"{key}":{value}' for key in range(keys))
                text = api.event("MODIFIED", _changed(mirror, active=1))
                yield text.replace('"active":1', '"active":1,' + wide)
        _follow(connection, request, speak)
    return _accept_first(connection, request, 1)


def wide_status(connection, request):
    """A status of 1.2 million keys in one event."""
    return _widen(connection, request, 1200000)


def large_status(connection, request):
    """A status of 300,000 keys, more than is copied."""
    return _widen(connection, request, 300000)


def _repeat(connection, request, place, wide):
    """A mirror, with each of the texts `wide` before `place` in turn, as fast as they can be written."""
    if request.watches:
        def speak(mirror):
            head, tail = api.event("MODIFIED", _changed(mirror, active=1)).split(place)
            for each in itertools.cycle(wide):
                version = f'"resourceVersion":"{next(NUMBERS) + 100000}"'
                yield re.sub('"resourceVersion": ?"[0-9]+"', version, head + "\0" + tail).replace("\0", each + place)
        _follow(connection, request, speak)
    return _accept_first(connection, request, 1)


def costly_status(connection, request):
    """Statuses of 95,000 keys each, which differ in every value."""
    return _repeat(connection, request, '"active":1', [
        ",".join(f'"{key}":{value}' for key in range(95000)) + "," for value in (1, 2)])


def costly_mirror(connection, request):
    """Mirrors of 90,000 values each, most of them annotations."""
    return _repeat(connection, request, '"wharf.dev/attempt"', [
        ",".join(f'"{key}":"{value}"' for key in range(90000)) + "," for value in (1, 2)])


def heavy_end(connection, request):
    """A Job that is complete, with a status of a megabyte."""
    if request.watches:
        def speak(mirror):
            at, heavy = "2026-01-02T03:04:06Z", ["pod-" + "x" * 1000] * 500
            ends = [{"type": kind, "status": "True", "lastTransitionTime": at, "reason": "CompletionsReached",
                     "message": "m" * 200000} for kind in ("SuccessCriteriaMet", "Complete")]
            yield api.event("MODIFIED", _changed(mirror, startTime=at, completionTime=at, succeeded=1, ready=0,
                                                 conditions=ends, heavy=heavy))
        _follow(connection, request, speak)
    return _accept_first(connection, request, 1)


def event_flood(connection, request):
    """Events of one mirror as fast as they can be written."""
    if request.watches:
        def speak(mirror):
            while True:
                yield "".join(api.event("MODIFIED", _changed(mirror, active=number % 7)) for number in range(200))
        _follow(connection, request, speak)
    return _accept_first(connection, request, 1)


def object_flood(connection, request):
    """Ever new mirrors in a watch."""
    if not request.watches:
        return False

    def more():
        while True:
            yield "".join(api.event("ADDED", _mirror(request.origin, next(NUMBERS))) for _ in range(200))
    connection.server.watch(connection, request, more())
    return True


def huge_frame(connection, request):
    """One event of a gigabyte."""
    if not request.watches:
        return False
    connection.head(Transfer_Encoding="chunked")
    connection.chunk('{"type":"ADDED","object":{"metadata":{"annotations":{"a":"')
    for _ in range(1024):
        connection.chunk(b"x" * (1 << 20))
    connection.chunk('"}}}}')
    return True


def hung(connection, request):
    """Accepts requests and does not respond."""
    connection.wait(3600)
    return True


def drip(connection, request):
    """Lists come a byte a second."""
    if not request.lists:
        return False
    connection.head(Transfer_Encoding="chunked")
    for byte in itertools.cycle(LIST_HEAD + " "):
        connection.chunk(byte)
        connection.wait(1)


def flap(connection, request):
    """Every watch ends at once."""
    if not request.watches:
        return False
    connection.head(Content_Length=0)
    return True


def errors(connection, request):
    """Every create is answered with 500."""
    if not request.creates:
        return False
    connection.refuse(500, "InternalError", "Internal error occurred: failed calling webhook")
    return True


def slow_writes(connection, request):
    """A create takes half a minute."""
    if not request.creates:
        return False
    connection.wait(30)
    connection.refuse(500, "InternalError", "slow")
    return True


def vanishing(connection, request):
    """Mirrors are deleted as soon as they exist."""
    if request.watches:
        def speak(mirror):
            yield api.event("ADDED", mirror)
            yield api.event("DELETED", _changed(mirror))
        _follow(connection, request, speak)
    if _accept_first(connection, request, 1000000):
        time.sleep(0.01)
        return True
    return False


CORE = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": [
    {"name": name, "kind": kind, "namespaced": name == "pods", "verbs": ["get", "list", "watch"]}
    for name, kind in (("nodes", "Node"), ("pods", "Pod"))]}
LABELS = {f"example.com/{number}": "l" * 60 for number in range(200)}


def _node(number):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {
        "name": f"node-{number}", "uid": f"node-{number}", "resourceVersion": str(200 + number),
        "labels": {**LABELS, "kubernetes.io/hostname": f"node-{number}"}, "annotations": {"a": "x" * 1000}},
        "spec": {"taints": [{"key": f"taint-{number}", "effect": "NoSchedule"}]},
        "status": {"allocatable": {"cpu": "9223372036854775807", "memory": "1Ei", "pods": "110"},
                   "conditions": [{"type": "Ready", "status": "True"}]}}


def _pod(number):
    """It waits for a node, or runs on one that nobody else names, and asks for an amount that nobody else asks for."""
    spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": f"{number}m", f"example.com/{number % 60}":
                                                                    str(number)}}}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {
        "name": f"pod-{number}", "namespace": "default", "uid": f"pod-{number}", "resourceVersion": str(200 + number)},
        "spec": {**spec, **({"nodeName": f"node-{number}"} if number % 2 else {})}, "status": {"phase": "Pending"}}


def _serve_capacity(connection, request, nodes, pods):
    """Nodes and pods; `nodes` and `pods` answer what is asked about them, or leave the answer to an empty cluster."""
    if request.path == "/api/v1":
        connection.answer(CORE)
        return True
    own = {"/api/v1/nodes": nodes, "/api/v1/pods": pods}
    if request.method != "GET" or request.path not in own:
        return False
    request.lists = request.query.get("watch") not in ("true", "1")
    if request.query.get("sendInitialEvents") == "true":
        connection.refuse(422, "Invalid", "sendInitialEvents is forbidden")  # so that it is asked for lists
        return True
    if own[request.path] and own[request.path](connection, request):
        return True
    if request.lists:
        connection.answer({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "100"}, "items": []})
    else:
        connection.server.watch(connection, request)
    return True


def _endless_watch(make):
    def answer(connection, request):
        def more():
            while True:
                yield "".join(api.event("ADDED", make(next(NUMBERS))) for _ in range(20))
        if not request.lists:
            connection.server.watch(connection, request, more())
    return answer


def _endless_pages(make):
    def answer(connection, request):
        if request.lists:
            items = [make(next(NUMBERS)) for _ in range(int(request.query.get("limit", "500")))]
            connection.answer({"kind": "List", "apiVersion": "v1", "metadata": {
                "resourceVersion": "100", "continue": f"token-{next(NUMBERS)}"}, "items": items})
        return request.lists
    return answer


def nodes_by_watch(connection, request):
    """Ever new nodes in a watch."""
    return _serve_capacity(connection, request, _endless_watch(_node), None)


def nodes_by_pages(connection, request):
    """Ever more pages of nodes."""
    return _serve_capacity(connection, request, _endless_pages(_node), None)


def pods_by_watch(connection, request):
    """Ever new pods in a watch, each on a node of its own."""
    return _serve_capacity(connection, request, None, _endless_watch(_pod))


def _small_node(number):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {
        "name": f"n{number}", "uid": f"n{number}", "resourceVersion": "50"}, "status": {
            "allocatable": {"cpu": "1", "pods": "110"}, "conditions": [{"type": "Ready", "status": "True"}]}}


def _waiting_pod(number):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {
        "name": f"p{number}", "namespace": "default", "uid": f"p{number}", "resourceVersion": "50"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": f"{2000 + number}m"}}}]}}


def capacity_churn(connection, request):
    """As many nodes, and pods that fit on none of them, as the memory budget allows; a node changes all the time."""
    def pages(make, count):
        def answer(connection, request):
            first = int(request.query.get("continue", "0"))
            last = min(first + int(request.query.get("limit", "500")), count)
            connection.answer({"kind": "List", "apiVersion": "v1", "metadata": {
                "resourceVersion": "100", "continue": str(last) if last < count else ""},
                "items": [make(number) for number in range(first, last)]})
            return True
        return answer

    def change(connection, request):
        if request.lists:
            return pages(_small_node, 15000)(connection, request)

        def more():
            while True:
                node = _small_node(0)
                node["metadata"]["resourceVersion"] = str(next(NUMBERS) + 100)
                node["status"]["allocatable"]["pods"] = str(100 + next(NUMBERS) % 10)
                yield api.event("MODIFIED", node)
                connection.wait(0.1)
        connection.server.watch(connection, request, more())
        return True

    def pods(connection, request):
        return request.lists and pages(_waiting_pod, 25000)(connection, request)
    return _serve_capacity(connection, request, change, pods)


OTHERS = {
    "/api/v1": [("namespaces", "Namespace"), ("resourcequotas", "ResourceQuota"), ("events", "Event"),
                ("pods", "Pod"), ("nodes", "Node")],
    "/apis/kueue.x-k8s.io/v1beta2": [("workloads", "Workload")]}
LARGE = "x" * 20000


def _other(kind, number):
    """An object of what the host watches besides mirrors, as large and as different from others as can be."""
    value = {"metadata": {"name": f"{kind}-{number}", "namespace": f"space-{number}", "uid": f"{kind}-{number}",
                          "resourceVersion": str(200 + number)}}
    if kind == "events":
        value.update(involvedObject={"kind": "Pod", "namespace": "default", "name": f"pod-{number}",
                                     "uid": f"{number}-{LARGE}"}, type="Warning", reason=f"R{number}{LARGE}",
                     message=f"{number} {LARGE}")
    if kind == "workloads":
        value["metadata"]["ownerReferences"] = [{"controller": True, "kind": "Job",
                                                 "uid": f"00000000-0000-4000-8000-{number:012}"}]
        value.update(spec={"queueName": "q"}, status={"conditions": [{
            "type": "QuotaReserved", "status": "False", "message": f"{number} {LARGE}"}]})
    return value


def crowd(connection, request):
    """Mirrors in Kueue's queues, Workloads, Events of pods, namespaces and quotas, each without an end."""
    if request.watches:
        def mirrors():
            while True:
                made = [_mirror(request.origin, next(NUMBERS)) for _ in range(20)]
                for each in made:
                    each["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "q"
                yield "".join(api.event("ADDED", each) for each in made)
        connection.server.watch(connection, request, mirrors())
        return True
    if request.path in OTHERS:
        connection.answer({"kind": "APIResourceList", "apiVersion": "v1", "resources": [
            {"name": name, "kind": kind, "namespaced": True, "verbs": ["get", "list", "watch"]}
            for name, kind in OTHERS[request.path]]})
        return True
    kind = request.path.rpartition("/")[2]
    if kind not in ("namespaces", "resourcequotas", "events", "workloads") or request.method != "GET":
        return False
    if request.query.get("watch") not in ("true", "1"):
        connection.answer({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "100"}, "items": []})
        return True
    if request.query.get("sendInitialEvents") == "true":
        connection.refuse(422, "Invalid", "sendInitialEvents is forbidden")
        return True

    def more():
        while True:
            yield "".join(api.event("ADDED", _other(kind, next(NUMBERS))) for _ in range(20))
    connection.server.watch(connection, request, more())
    return True


def _spin(connection, request, change):
    """A mirror that `change(number)` changes 400 times a second, SPINS times, and then settles in LAST."""
    server = connection.server
    if request.patches and server.created:
        server.patches += 1
        mirror = server.created[0]
        _merge(mirror, json.loads(request.body))
        mirror["metadata"]["resourceVersion"] = str(next(NUMBERS) + 100000)
        connection.answer(mirror)
        return True
    if request.watches:
        def speak(mirror):
            yield api.event("ADDED", mirror)
            for number in range(SPINS):
                mirror.update(change(mirror, number))
                yield api.event("MODIFIED", mirror)
                time.sleep(1 / 400)
            mirror.update(_changed(mirror, **LAST))
            yield api.event("MODIFIED", mirror)
        _follow(connection, request, speak)
    return _accept_first(connection, request, 1)


def _merge(into, patch):
    """A JSON merge patch."""
    for key, value in patch.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        elif key not in ("uid", "resourceVersion"):
            into[key] = value


def heavy_statuses(connection, request):
    """Statuses of 100 KB of several mirrors, all of which change 20 times a second."""
    if request.watches:
        def speak(mirror):
            yield api.event("ADDED", mirror)
            for number in range(HEAVY_SPINS):
                for each in list(connection.server.created):
                    note = {"type": "Note", "status": "True", "message": f"{number:0100000}"}
                    each.update(_changed(each, active=1, conditions=[note]))
                    yield api.event("MODIFIED", each)
                time.sleep(1 / 20)
            connection.server.is_over = True
        _follow(connection, request, speak)
    return _accept_first(connection, request, HEAVY)


def status_spin(connection, request):
    """Statuses of one mirror as fast as the host can copy them."""
    return _spin(connection, request, lambda mirror, number: _changed(mirror, active=1 + number % 7))


def suspend_flip(connection, request):
    """A mirror that is suspended and resumed as fast as the host can follow."""
    def flip(mirror, number):
        suspended = number % 2 == 0
        changed = _changed(mirror, conditions=[{"type": "Suspended", "status": str(suspended)}])
        changed["metadata"]["generation"] += 1
        return {**changed, "spec": {**mirror["spec"], "suspend": suspended}}
    return _spin(connection, request, flip)


for each in nodes_by_watch, nodes_by_pages, pods_by_watch, capacity_churn:
    each.settings = ", capacity: true"

ALL = {each.__name__.replace("_", "-"): each for each in (
    gzip_bomb, nested_items, endless_tokens, endless_page, trailers, interim, million_orphans, wide_status,
    large_status, costly_status, costly_mirror, heavy_end, event_flood, object_flood, huge_frame, hung, drip,
    flap, errors, slow_writes, vanishing, nodes_by_watch, nodes_by_pages, pods_by_watch, capacity_churn, crowd,
    status_spin, suspend_flip, heavy_statuses)}
