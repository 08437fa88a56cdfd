#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the requests of table.py and referenced.py to an API server and compares the answers: to the world model, or to a real
kube-apiserver without controllers. With --controllers those of progress.py, to a cluster whose Job controller runs, and whose
pods do. Exit 1 if one differs."""
import argparse
import concurrent.futures
import http.client
import json
import os
import re
import ssl
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import progress  # noqa: E402
import referenced  # noqa: E402
import table  # noqa: E402

_PATIENCE = 60   # seconds, of a step that waits


class Difference(Exception):
    pass


class Server:
    def __init__(self, url, ca=None, cert=None, key=None, token=None):
        parts = urllib.parse.urlsplit(url)
        self.host, self.port, self.token = parts.hostname, parts.port, token
        self.context = None
        if parts.scheme == "https":
            self.context = ssl.create_default_context(cafile=ca)
            if cert:
                self.context.load_cert_chain(cert, key)
        self.connection = self.connect()

    def connect(self, timeout=30):
        if self.context:
            return http.client.HTTPSConnection(self.host, self.port, context=self.context, timeout=timeout)
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def headers(self, content_type=None, accept=None):
        headers = {"Accept": accept or "application/json", "User-Agent": "contract/1"}
        if content_type:
            headers["Content-Type"] = content_type
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        return headers

    def ask(self, method, path, body=None, content_type="application/json", accept=None):
        self.connection.request(method, path, body, self.headers(content_type if body is not None else None, accept))
        response = self.connection.getresponse()
        text = response.read().decode()
        if response.getheader("Content-Type", "").startswith("application/json"):
            return response.status, json.loads(text), response
        return response.status, text, response

    def watch(self, path, count, accept=None):
        """The first `count` events of a watch, or all until the server ends it."""
        connection = self.connect()
        connection.request("GET", path, headers=self.headers(accept=accept))
        response = connection.getresponse()
        if response.status != 200:
            return response.status, json.loads(response.read())
        events = []
        while len(events) < count:
            line = response.readline()
            if not line:
                break
            events.append(json.loads(line))
        connection.close()
        return 200, events


def substitute(value, variables):
    """Puts ${name} into every string; a string that is nothing else keeps the variable's type."""
    if isinstance(value, str):
        whole = re.fullmatch(r"\$\{(\w+)\}", value)
        if whole:
            return variables[whole[1]]
        return re.sub(r"\$\{(\w+)\}", lambda found: str(variables[found[1]]), value)
    if isinstance(value, list):
        return [substitute(item, variables) for item in value]
    if isinstance(value, dict):
        return {substitute(key, variables): substitute(item, variables) for key, item in value.items()}
    return value


def compare(wanted, found, where):
    """`wanted` may leave members out; None means absent, ... means present, a callable decides."""
    if wanted is ...:
        if found is None:
            raise Difference(f"{where}: absent")
    elif callable(wanted):
        if not wanted(found):
            raise Difference(f"{where}: {json.dumps(found)[:200]}")
    elif isinstance(wanted, dict):
        if not isinstance(found, dict):
            raise Difference(f"{where}: {json.dumps(found)[:200]} is no object")
        for key, item in wanted.items():
            compare(item, found.get(key), f"{where}/{key}")
    elif isinstance(wanted, list):
        if not isinstance(found, list) or len(found) != len(wanted):
            raise Difference(f"{where}: {json.dumps(found)[:300]} instead of {json.dumps(wanted, default=str)[:300]}")
        for index, item in enumerate(wanted):
            compare(item, found[index], f"{where}/{index}")
    elif wanted != found:
        raise Difference(f"{where}: {json.dumps(found)[:300]} instead of {json.dumps(wanted)[:300]}")


def pick(value, path):
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def causes_of(answer):
    details = answer.get("details") or {} if isinstance(answer, dict) else {}
    return sorted(((cause.get("field"), cause.get("reason")) for cause in details.get("causes") or []), key=str)


def check(step, status, answer):
    shown = json.dumps(answer)[:700] if not isinstance(answer, str) else answer[:300]
    if status != step["status"]:
        raise Difference(f"status {status} instead of {step['status']}: {shown}")
    if "text" in step and (not isinstance(answer, str) or step["text"] not in answer):
        raise Difference(f"no text/plain with {step['text']!r}: {shown}")
    for cause in step.get("some_causes", []):
        if tuple(cause) not in causes_of(answer):
            raise Difference(f"causes {causes_of(answer)} without {cause}: {shown}")
    if "causes" in step and causes_of(answer) != sorted(map(tuple, step["causes"]), key=str):
        raise Difference(f"causes {causes_of(answer)} instead of {step['causes']}: {shown}")
    if "has" in step:
        compare(step["has"], answer, "")


def await_step(server, step):
    """Asks again and again, until the answer is the one that is wanted."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            check(step, *server.ask("GET", step["until"])[:2])
            return
        except Difference:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def run_step(server, step, variables):
    step = substitute(step, variables)
    if "until" in step:
        await_step(server, step)
        return
    if "watch" in step:
        status, answer = server.watch(step["watch"], step.get("events", 1000), step.get("accept"))
    else:
        body = step.get("body")
        if body is not None and not isinstance(body, str):
            body = json.dumps(body)
        status, answer, _ = server.ask(step["method"], step["path"], body, step["type"], step.get("accept"))
    check(step, status, answer)
    for name, path in step.get("save", {}).items():
        variables[name] = pick(answer, path)


def run_case(server, name, steps, namespace):
    variables = {"ns": namespace, "jobs": f"/apis/batch/v1/namespaces/{namespace}/jobs",
                 "events": f"/apis/events.k8s.io/v1/namespaces/{namespace}/events",
                 "pods": f"/api/v1/namespaces/{namespace}/pods"}
    server.ask("POST", "/api/v1/namespaces", json.dumps({"metadata": {"name": namespace}}))
    for number, step in enumerate(steps, 1):
        try:
            run_step(server, step, variables)
        except Difference as difference:
            what = step.get("watch") or step.get("until") or f"{step['method']} {step['path']}"
            return f"{name}\n    step {number}, {what}: {difference}"
        except (http.client.HTTPException, OSError, KeyError, IndexError, ValueError) as error:
            return f"{name}\n    step {number}: {error!r}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    for name in ("--ca", "--cert", "--key", "--token", "--only"):
        parser.add_argument(name)
    parser.add_argument("--controllers", action="store_true")
    arguments = parser.parse_args()
    run = os.urandom(3).hex()

    def turn(numbered):
        number, (name, steps) = numbered
        server = Server(arguments.server, arguments.ca, arguments.cert, arguments.key, arguments.token)
        namespace = f"contract-{run}-{number}"
        try:
            return run_case(server, name, steps, namespace)
        finally:
            if arguments.controllers:
                server.ask("DELETE", f"/api/v1/namespaces/{namespace}")
            server.connection.close()

    cases = [(number, case) for number, case in enumerate(
        progress.CASES if arguments.controllers else table.CASES + referenced.CASES)
        if not arguments.only or re.search(arguments.only, case[0])]
    # What waits for controllers waits for all at once.
    with concurrent.futures.ThreadPoolExecutor(8 if arguments.controllers else 1) as pool:
        problems = list(pool.map(turn, cases))
    failed = [problem for problem in problems if problem]
    for problem in failed:
        print("FAIL", problem)
    print(f"{len(problems) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed or not problems else 0


if __name__ == "__main__":
    sys.exit(main())
