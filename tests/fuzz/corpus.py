# SPDX-License-Identifier: Apache-2.0
"""Corpora for the fuzz targets, from the fixtures: corpus.py BUILD writes BUILD/fuzz-corpus/<target>/*.

What a target found once stays in tests/fuzz/found/<target>/ and goes along.
"""
import json
import pathlib
import shutil
import subprocess
import sys

FIXTURES = pathlib.Path("tests/fixtures")
FOUND = pathlib.Path("tests/fuzz/found")
SEPARATOR = b"\xff"
LINE_MAX = 255 * 4


class Corpus:
    def __init__(self, build, target):
        self.folder = build / "fuzz-corpus" / target
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        for path in sorted((FOUND / target).glob("*")):
            shutil.copy(path, self.folder / f"found-{path.name}")

    def add(self, name, data):
        (self.folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def documents(build, paths):
    """The documents of YAML files, read as the host reads them."""
    out = subprocess.run([build / "tests/to_json", *paths], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(out)


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def stored(workload):
    metadata = {"uid": "u", "resourceVersion": "7", "generation": 1, **workload["metadata"]}
    return {**workload, "metadata": metadata}


def write_json(corpus, lives):
    for plural, life in lives.items():
        workload, statuses = life
        one = compact(workload)
        two = compact({**workload, "status": statuses[-1] if statuses else {}})
        corpus.add(plural, SEPARATOR.join((one, two, b"/spec/*/0")))
    corpus.add("numbers", SEPARATOR.join((b'{"a":[1,1.0,9007199254740993,1e400,-0],"b":"\\u0000\\ud83d\\ude00"}',
                                          b'{"a":null,"b":{"c":[{}]}}', b"/a/~0/~1/-")))


def script(steps):
    """What reflector_fuzz reads: a byte for what happens, one for the length in fours, the payload."""
    out = b""
    for what, payload in steps:
        payload = payload[:LINE_MAX]
        payload += b" " * (-len(payload) % 4)
        out += bytes((what, len(payload) // 4)) + payload
    return out


def write_reflector(corpus, lives):
    event = '{"type":"%s","object":%s}'
    bookmark = ('{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7","annotations":'
                '{"k8s.io/initial-events-end":"true"}}}}')
    gone = '{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Gone"}}'
    for plural, (workload, _) in lives.items():
        small = {"metadata": stored(workload)["metadata"]}
        item = compact(small).decode()
        page = ('{"kind":"%sList","metadata":{"resourceVersion":"5","continue":"%s"},"items":[%s]}'
                % (workload["kind"], "t", item))
        last = page.replace('"continue":"t"', '"continue":""')
        steps = [(7, page), (7, last), (1, ""), (4, event % ("ADDED", item)), (4, event % ("DELETED", item)),
                 (4, bookmark), (4, '{"type":"MODIFIED","object":'), (4, item + "}"), (4, gone), (2, ""), (0xE7, "{}")]
        corpus.add(plural, script((what, payload.encode()) for what, payload in steps))


def write_responses(corpus, lives):
    failure = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "reason": "Forbidden",
               "message": "jobs is forbidden: exceeded quota: q",
               "details": {"name": "a", "kind": "jobs", "retryAfterSeconds": 5,
                           "causes": [{"reason": "NamespaceTerminating", "message": "m", "field": "f"}]}}
    for status in range(16):
        corpus.add(f"status-{status}", bytes((status, status % 6, 3)) + compact(failure))
    for verb, (plural, (workload, _)) in enumerate(lives.items()):
        corpus.add(plural, bytes((0, verb % 6, 3)) + compact(stored(workload)))


def write_channel(corpus, lives):
    for kind, (plural, (workload, statuses)) in enumerate(lives.items()):
        mirror = dict(workload, status=statuses[0] if statuses else {})
        texts = SEPARATOR.join(compact(value) for value in (stored(workload), stored(mirror), {"status": mirror["status"]}))
        for side in range(4):
            corpus.add(f"{plural}-{side}", bytes((side, 0, kind)) + texts)
            corpus.add(f"{plural}-{side}-changed", bytes((side, 2, 0, 9, 7, 0, 40, 255, kind)) + texts)
    for side in range(4):
        corpus.add(f"raw-{side}", bytes((0x80 | side,)) + bytes(64))


def write_adapters(corpus, count):
    for kind in range(count):
        for step in range(6):
            changes = bytes((step * 37 + 16 * i + n * 29) % 256 for i in range(4) for n in range(4))
            corpus.add(f"{kind}-{step}", bytes((kind | (0x80 if step % 2 else 0), step, step)) + changes)


def write_references(corpus, lives):
    pod = {"serviceAccountName": "a", "imagePullSecrets": [{"name": "s"}], "priorityClassName": "p", "resourceClaims": [
        {"resourceClaimName": "c"}], "volumes": [{"configMap": {"name": "m", "optional": True}}, {"projected": {"sources": [
            {"secret": {"name": "s"}}]}}, {"persistentVolumeClaim": {"claimName": "d"}}],
           "containers": [{"envFrom": [{"secretRef": {"name": "e"}}], "env": [{"valueFrom": {"configMapKeyRef": {"name": "f"}}}]}]}
    task = {"steps": pod["containers"] + [{"ref": {"name": "r"}}], "volumes": pod["volumes"]}
    other = {"metadata": {"namespace": "n"}, "imagePullSecrets": [{"name": "s"}], "spec": {
        **pod, **task, "runtimeRef": {"name": "t"}, "pipelineRef": {"name": "p"}, "taskSpec": task, "tasks": [
            {"taskRef": {"name": "t", "kind": "Task"}, "taskSpec": task}], "template": {"spec": pod}, "components": [
                {"template": {"kind": "Secret", "metadata": {"name": "s"}, "spec": pod}}], "workspaces": pod["volumes"],
        "devices": {"requests": [{"exactly": {"deviceClassName": "g"}}]}}}
    for kind, (plural, (workload, _)) in enumerate(lives.items()):
        corpus.add(plural, bytes((kind,)) + compact(stored(workload)))
        corpus.add(f"{plural}-other", bytes((kind,)) + compact(other))


def write_kubeconfigs(corpus):
    base = """apiVersion: v1
kind: Config
current-context: a
clusters: [{name: a, cluster: {server: "https://127.0.0.1:6443", %s}}]
users: [{name: a, user: {%s}}]
contexts: [{name: a, context: {cluster: a, user: a, namespace: n}}]
"""
    clusters = ["insecure-skip-tls-verify: true", "certificate-authority-data: bm9uZQ==", "tls-server-name: b",
                "proxy-url: 'socks5://127.0.0.1:1080'"]
    users = ["token: t", "username: u, password: p", "tokenFile: /dev/null", "client-certificate-data: eA==, "
             "client-key-data: eA==", "exec: {command: c, apiVersion: client.authentication.k8s.io/v1}", "as: x",
             "as: x, as-uid: u, as-groups: [g, h], as-user-extra: {a/b: [c], d%: [e, f]}, exec: {command: sh, args: [a, b], "
             "apiVersion: client.authentication.k8s.io/v1beta1, env: [{name: AWS_REGION, value: b}, {name: PATH, value: /x}], "
             "provideClusterInfo: true, installHint: 'a b', interactiveMode: Never}"]
    for number, cluster in enumerate(clusters):
        for other, user in enumerate(users):
            corpus.add(f"{number}-{other}", SEPARATOR + (base % (cluster, user)).encode())
    for path in sorted((FIXTURES / "kubeconfigs").glob("*.yaml")):
        text = path.read_text().replace("SERVER", "https://127.0.0.1:6443").replace(": CA", ": bm9uZQ==")
        corpus.add(path.stem, SEPARATOR + text.encode())
    corpus.add("context", b"a" + SEPARATOR + (base % (clusters[0], users[0])).encode())


def write_configs(corpus):
    text = pathlib.Path("etc/wharf.yaml").read_text()
    corpus.add("shipped", text)
    corpus.add("all", "\n".join(line[2:] if line.startswith("# ") and ":" in line else line
                                for line in text.split("\n")))


def write_generic(corpus):
    corpus.add("fixtures", (FIXTURES / "generic.yaml").read_text())
    corpus.add("example", """kinds:
- {group: example.com, versions: [v1], kind: Simulation, plural: simulations, managedBy: {field: /spec/managedBy},
   suspend: {field: /spec/suspend}, carry: [/spec/workers], remove: [/spec/ttlSecondsAfterFinished],
   pods: [{template: /spec/template, count: [/spec/workers]}], finishedAt: /status/completionTime,
   phases: [{condition: Complete, phase: Succeeded}, {field: /status/state, value: Running, phase: Active}]}
""")


def frame(opcode, payload, last=True):
    """A frame as a server sends it (RFC 6455 section 5.2): not masked."""
    size = len(payload)
    length = bytes((size,)) if size < 126 else b"\x7e" + size.to_bytes(2, "big")
    return bytes((opcode | (0x80 if last else 0),)) + length + payload


def write_websocket(corpus):
    failed = json.dumps({"status": "Failure", "details": {"causes": [{"reason": "ExitCode", "message": "3"}]}}).encode()
    corpus.add("session", frame(2, b"\x01out") + frame(9, b"ping") + frame(2, b"\x02err") + frame(2, b"\x03" + failed)
               + frame(8, b"\x03\xe8bye"))
    corpus.add("fragments", frame(2, b"\x01a", False) + frame(9, b"") + frame(0, b"b", False) + frame(0, b"c"))
    corpus.add("long", frame(2, b"\x01" + b"x" * 500))
    corpus.add("huge", b"\x82\x7f" + b"\xff" * 8)
    corpus.add("masked", b"\x82\x85\x01\x02\x03\x04hello")
    corpus.add("status", failed)
    corpus.add("headers", b"Upgrade: websocket\r\nsec-websocket-protocol:  v5.channel.k8s.io\r\n")


def write_quantity(corpus):
    spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "500m", "memory": "1.5Gi"}, "limits": {
        "nvidia.com/gpu": 2}}}], "initContainers": [{"restartPolicy": "Always", "resources": {"requests": {"cpu": "1e3"}}},
        {"resources": {"requests": {"cpu": 2}}}], "overhead": {"cpu": "250m"}, "nodeSelector": {"pool": "a"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}]}
    for number, text in enumerate((b"1", b"1.5Gi", b"-100m", b"12e-3", b"0.3333333333333333333Ei", b"8E", b".1n", b"9e999")):
        corpus.add(str(number), text + SEPARATOR + compact(spec))


def write_logs(corpus):
    lines = b"".join(b"2026-01-02T03:04:0%d.000000000Z line %d\n" % (n, n) for n in range(5))
    corpus.add("resumed", lines + SEPARATOR + lines[40:] + b"2026-01-02T03:04:09.000000000Z more")
    corpus.add("unstamped", b"a\n\nb\r\n\x1b[2J" + SEPARATOR + b"c")
    corpus.add("long", b"2026-01-02T03:04:01Z " + b"x" * 2000 + SEPARATOR)


def write_access(corpus):
    user = {"username": "jane", "uid": "7", "groups": ["dev"], "extra": {"a/b": ["c"]}}
    valid = {"status": {"authenticated": True, "audiences": ["wharf.dev"], "user": user}}
    credential = {"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": {
        "token": "eyJhbGciOiJub25lIn0.eyJpYXQiOjEwMDAwMDAwMDAsImV4cCI6OTAwMDAwMDAwMH0.x",
        "expirationTimestamp": "2026-01-02T03:04:05Z"}}
    for number, (one, two, header) in enumerate((
            (valid, {"status": {"allowed": True}}, b"Bearer abc"),
            (valid, {"status": {"allowed": True, "denied": True}}, b"[::1]:9440"),
            (valid, {"status": {"allowed": "true"}}, b"localhost:9440"),
            ({"status": {"authenticated": "yes", "user": user}}, {}, b"job/team-a/train"),
            ({"status": {"authenticated": True, "user": {"username": "a\"},{", "groups": "g"}}}, {"status": []}, b"127.0.0.1"))):
        corpus.add(str(number), SEPARATOR.join((compact(one), compact(two), header, compact(credential))))


def write_workers(corpus):
    kubeconfig = (b"current-context: a\nclusters: [{name: a, cluster: {server: 'https://127.0.0.1:6443'}}]\n"
                  b"users: [{name: a, user: {token: t}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n")
    secret = {"metadata": {"namespace": "n", "name": "w1", "labels": {"worker.wharf.dev/region": "eu"}, "annotations": {
        "wharf.dev/worker-name": "w2", "wharf.dev/qps": "5", "wharf.dev/burst": "10", "wharf.dev/drain": "move",
        "wharf.dev/cordoned": "true", "wharf.dev/token-service-account": "n/wharf"}}, "data": {"context": "YQ=="}}
    profile = {"metadata": {"namespace": "n", "name": "p1"}, "status": {"accessProviders": [
        {"name": "p", "cluster": {"server": "https://127.0.0.1:6443", "certificate-authority": "/etc/passwd",
                                  "proxy-url": "socks5://127.0.0.1:1", "extensions": [{"name": "a", "extension": {}}]}}]}}
    settings = {"metadata": {"name": "wharf-workers"}, "data": {"w1": '{"cordoned":true,"drain":"move"}', "w2": "{"}}
    for name, value in (("secret", secret), ("profile", profile), ("settings", settings)):
        corpus.add(name, compact(value) + SEPARATOR + kubeconfig)
    corpus.add("files", compact(secret) + SEPARATOR + kubeconfig.replace(b"token: t", b"tokenFile: /etc/passwd"))
    corpus.add("runs", compact(secret) + SEPARATOR + kubeconfig.replace(
        b"token: t", b"exec: {command: /bin/sh, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, "
        b"env: [{name: LD_PRELOAD, value: x}]}"))


def main():
    build = pathlib.Path(sys.argv[1])
    lives = {}
    for folder in sorted(path.parent for path in FIXTURES.glob("*/workload.yaml")):
        workload = documents(build, [folder / "workload.yaml"])[0]
        steps = documents(build, sorted(folder.glob("*ed.yaml")))
        lives[folder.name] = workload, [step["status"] for step in steps if step and "status" in step]
    write_json(Corpus(build, "json"), lives)
    yaml = Corpus(build, "yaml")
    for path in sorted(FIXTURES.glob("*/*.yaml")):
        yaml.add(f"{path.parent.name}-{path.name}", path.read_bytes())
    write_reflector(Corpus(build, "reflector"), lives)
    write_responses(Corpus(build, "response"), lives)
    write_adapters(Corpus(build, "adapters"), len(lives))
    write_references(Corpus(build, "references"), lives)
    write_channel(Corpus(build, "channel"), lives)
    write_kubeconfigs(Corpus(build, "kubeconfig"))
    write_configs(Corpus(build, "config"))
    write_generic(Corpus(build, "generic"))
    write_websocket(Corpus(build, "websocket"))
    write_quantity(Corpus(build, "quantity"))
    write_logs(Corpus(build, "logs"))
    write_access(Corpus(build, "access"))
    write_workers(Corpus(build, "workers"))


if __name__ == "__main__":
    main()
