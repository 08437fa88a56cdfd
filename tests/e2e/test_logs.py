# SPDX-License-Identifier: Apache-2.0
"""`wharf logs` and `wharf exec`: through the host, with a token of the management cluster, from whatever worker has the
pods. The API servers are real (TokenReview, SubjectAccessReview, pods/log, pods/exec); kubelet.py plays the nodes."""
import fcntl
import functools
import os
import pty
import struct
import subprocess
import termios
import threading
import time

import kubelet
import manifests
from jobs import job
from service_proxy import ServiceProxy
from skip import may_be_refused
from wait import until

_READ = [{"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}]
_EXEC = [*_READ, {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create"]}]


def _with_nodes(test):
    @functools.wraps(test)
    def run(env):
        with kubelet.nodes_of(env.workers) as nodes:
            test(env, nodes)
    run.__module__ = test.__module__
    return run


def _user(env, name, rules):
    """A kubeconfig with the token of a service account that has these rights in the test's namespace."""
    client, namespace = env.management, env.namespace
    client.create("serviceaccounts", namespace, {"metadata": {"name": name}})
    if rules:
        client.create("roles", namespace, {"metadata": {"name": name}, "rules": rules})
        client.create("rolebindings", namespace, {
            "metadata": {"name": name}, "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}})
    for rule in rules or []:
        until(lambda rule=rule: env.may(env.clusters.management, rule["verbs"][0], rule["resources"][0],
                                        f"system:serviceaccount:{namespace}:{name}"), f"the rights of {name} to be in force")
    token = client.token_of(namespace, name, 3600, audiences=["wharf.dev"])
    cluster = env.clusters.management
    file = cluster.write(f"{namespace}-{name}.token", token + "\n")
    return cluster.kubeconfig(f"{namespace}-{name}", token_file=os.path.basename(file))


def _let_the_host_run_commands(env):
    """What `wharf rbac --exec` prints for the workers, beyond rbac-worker.yaml."""
    rights = subprocess.run([env.host.wharf, "rbac", "--for", "worker", "--exec", "--adapters", env.host.adapters, "--config",
                             os.path.join(manifests.FOLDER, "..", "all-adapters.yaml"), "--user", "wharf"],
                            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True).stdout
    for worker in env.workers:
        manifests.apply_text(worker.admin, rights)
        until(lambda worker=worker: env.may(worker, "create", "pods/exec", "wharf"), "the rights of the host to be in force")


def _operator(env):
    _let_the_host_run_commands(env)
    return _user(env, "operator", _EXEC)


def _argv(env, kubeconfig, command, *args, host=None):
    host = host or env.host
    return [host.wharf, command, "-n", env.namespace, "--server", f"http://127.0.0.1:{host.port}", "--kubeconfig", kubeconfig, *args]


def _run(env, kubeconfig, command, *args, given=b"", host=None):
    done = subprocess.run(_argv(env, kubeconfig, command, *args, host=host), input=given, capture_output=True, timeout=60,
                          check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def _running_pod(env, name):
    """Waits for a pod of the Job that runs; (its worker's name, its name)."""
    worker = env.placed(name)

    def probe():
        for pod in env.worker(worker).admin.list("pods", env.namespace):
            if pod["metadata"]["name"].startswith(name + "-") and pod["status"].get("phase") == "Running":
                return pod["metadata"]["name"]
        return None
    return worker, until(probe, f"a pod of {name} to run")


@_with_nodes
def whoever_may_get_pod_logs_reads_them_from_any_worker(env, nodes):
    env.use_all()
    reader = _user(env, "reader", _READ)
    env.submit(job("read", hold="all"))
    worker, pod = _running_pod(env, "read")
    nodes[worker].log(env.namespace, pod).write("one", "two", "three")
    code, out, err = _run(env, reader, "logs", "job/read")
    assert (code, out) == (0, "one\ntwo\nthree\n"), (code, out, err)
    assert f"pod {pod}, container main, in {worker} (attempt 1)" in err, err
    code, out, err = _run(env, reader, "logs", "job/read", "--tail", "1", "--all-pods")
    assert (code, out) == (0, f"[{pod}/main] three\n"), (code, out, err)
    code, out, err = _run(env, reader, "logs", "job/read", "--timestamps", "--tail", "1")
    assert code == 0 and out.endswith("Z three\n") and out.startswith("20"), (code, out, err)
    code, out, err = _run(env, reader, "logs", "job/read", "-c", "other")
    assert code == 1 and f'pod {pod} has no container "other", only main' in err, (code, out, err)
    code, out, err = _run(env, reader, "logs", "job/absent")
    assert code == 1 and "is not delegated to this host" in err, (code, out, err)


@_with_nodes
def whoever_may_not_is_told_what_is_missing(env, nodes):
    env.use_all()
    stranger, reader = _user(env, "stranger", None), _user(env, "reader", _READ)
    env.submit(job("secret", hold="all"))
    worker, pod = _running_pod(env, "secret")
    nodes[worker].log(env.namespace, pod).write("secret")
    user = f"user system:serviceaccount:{env.namespace}:stranger"
    code, out, err = _run(env, stranger, "logs", "job/secret")
    assert (code, out) == (1, "") and err == \
        f"error: the host: {user} may not get pods/log in namespace {env.namespace} of the management cluster\n", err
    code, out, err = _run(env, stranger, "exec", "job/secret", "--", "echo", "a")
    assert (code, out) == (1, "") and \
        f"{user} may not create pods/exec in namespace {env.namespace} of the management cluster" in err, err
    code, out, err = _run(env, reader, "exec", "job/secret", "--", "echo", "a")
    assert (code, out) == (1, "") and "may not create pods/exec" in err, err
    # Nobody reads a log without a token, not even on the host's machine.
    assert env.host.fetch(f"/api/v1/logs/job/{env.namespace}/secret")[0] == 401


@_with_nodes
def a_log_is_followed_through_new_pods_until_the_job_has_finished(env, nodes):
    env.use_all(mirrorRetention="1h")
    reader = _user(env, "reader", _READ)
    env.submit(job("twice", completions=2, parallelism=1, hold="all", completionMode="Indexed"))
    worker, first = _running_pod(env, "twice")
    log = nodes[worker].log(env.namespace, first)
    log.write("begin")
    child = subprocess.Popen(_argv(env, reader, "logs", "job/twice", "-f", "--all-pods"), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    lines = []
    thread = threading.Thread(target=lambda: [lines.append(line.decode()) for line in child.stdout], daemon=True)
    thread.start()
    until(lambda: f"[{first}/main] begin\n" in lines, "the first line to be read")
    log.write("live")
    until(lambda: f"[{first}/main] live\n" in lines, "a line that was written later to be read")

    def pods():
        found = [pod["metadata"]["name"] for pod in env.worker(worker).admin.list("pods", env.namespace)]
        for pod in found:
            if pod != first and not nodes[worker].log(env.namespace, pod).lines:
                nodes[worker].log(env.namespace, pod).write("second")
                nodes[worker].log(env.namespace, pod).end()
        return len(found) == 2
    log.end()
    env.release()
    until(pods, "the second pod to be made")
    env.until_finished("twice")
    until(lambda: child.poll() is not None, "the reader to end with the Job", timeout=180)
    thread.join(60)
    assert child.returncode == 0, child.stderr.read()
    assert [line.split("] ")[1] for line in lines] == ["begin\n", "live\n", "second\n"], lines
    # The log is there while the mirror is kept.
    code, out, err = _run(env, reader, "logs", "job/twice", "--pod", first)
    assert (code, out) == (0, "begin\nlive\n"), (code, out, err)


@_with_nodes
def a_reader_that_goes_away_ends_its_connection_to_the_worker(env, nodes):
    env.use_all()
    reader = _user(env, "reader", _READ)
    env.submit(job("left", hold="all"))
    worker, pod = _running_pod(env, "left")
    log = nodes[worker].log(env.namespace, pod)
    log.write("a")
    child = subprocess.Popen(_argv(env, reader, "logs", "job/left", "-f"), stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    assert child.stdout.readline() == b"a\n"
    assert log.readers == 1
    child.kill()
    child.wait()

    def gone():   # the API server notices once it writes
        log.write("b")
        return log.readers == 0
    until(gone, "the log not to be read any more")


@may_be_refused(("w1", "get", 403), ("w2", "get", 403))   # the session before the host has the right
@_with_nodes
def a_command_runs_in_a_pod_with_its_input_output_and_exit_code(env, nodes):
    env.use_all()
    user = _user(env, "operator", _EXEC)
    env.submit(job("inside", hold="all"))
    worker, pod = _running_pod(env, "inside")
    for each in env.workers:
        manifests.apply(each.admin, "rbac-worker.yaml")
        until(lambda each=each: not env.may(each, "create", "pods/exec", "wharf"), "the right of the host to be gone")
    code, _, err = _run(env, user, "exec", "job/inside", "--", "echo", "a")
    assert code == 1 and f"{worker}: the host may not run commands there: repeat wharf join for it with --exec" in err, err
    _let_the_host_run_commands(env)
    cases = [   # arguments, input, exit code, stdout, stderr
        (["job/inside", "--", "echo", "a b", "$c"], b"", 0, "a b $c\n", ""),
        (["job/inside", "--", "warn", "careful"], b"", 0, "", "careful\n"),
        (["job/inside", "--", "exit", "7"], b"", 7, "", ""),
        (["job/inside", "-i", "--", "cat"], b"x" * 300000 + b"\n", 0, "x" * 300000 + "\n", ""),
        (["job/inside", "--", "absent"], b"", 127, "", "absent: not found\n"),
    ]
    for args, given, code, out, err in cases:
        found = _run(env, user, "exec", *args, given=given)
        assert found[:2] == (code, out) and found[2] == err, (args, found[0], found[1][:200], found[2])
    nodes[worker].log(env.namespace, pod).write("a line")
    for command, args in ("exec", ("--", "echo", "a")), ("logs", ()):   # as with `| head -0`
        far, near = os.pipe()
        os.close(far)
        done = subprocess.run(_argv(env, user, command, "job/inside", *args), stdin=subprocess.DEVNULL, stdout=near,
                              stderr=subprocess.PIPE, timeout=60, check=False)
        os.close(near)
        assert done.returncode == 141 and b"error" not in done.stderr, (command, done)
    path = env.host.socket()
    for server in [f"unix:{path}"] if path else []:   # the token goes there, too, and the session works
        done = subprocess.run([env.host.wharf, "exec", "-n", env.namespace, "--server", server, "--kubeconfig", user, "job/inside",
                               "-i", "--", "cat"], input=b"y" * 300000, capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (0, b"y" * 300000), (done.returncode, done.stdout[:200], done.stderr)
    code, out, err = _run(env, user, "exec", "job/inside", "--pod", "other", "--", "echo", "a")
    assert code == 1 and 'has no pod "other"' in err, (code, out, err)


@_with_nodes
def a_session_has_the_terminal_of_its_user(env, nodes):
    env.use_all()
    user = _operator(env)
    env.submit(job("screen", hold="all"))
    _running_pod(env, "screen")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
    before = termios.tcgetattr(theirs)
    child = subprocess.Popen(_argv(env, user, "exec", "job/screen", "-it", "--", "size"), stdin=theirs,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (0, b'{"Width":101,"Height":33}\n'), (child.returncode, out, err)
    assert termios.tcgetattr(theirs) == before, "the terminal was not restored"
    os.close(ours)
    os.close(theirs)


@_with_nodes
def a_follower_stays_when_the_mirror_is_made_again(env, nodes):
    env.use_all()
    reader = _user(env, "reader", _READ)
    env.submit(job("again", hold="all"))
    worker, first = _running_pod(env, "again")
    nodes[worker].log(env.namespace, first).write("first attempt")
    child = subprocess.Popen(_argv(env, reader, "logs", "job/again", "-f"), stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    assert child.stdout.readline() == b"first attempt\n"
    nodes[worker].log(env.namespace, first).end()
    env.worker(worker).admin.delete("jobs", env.namespace, "again")
    env.placed("again", attempt=2)

    def second():
        for name in (each.name for each in env.workers):
            for pod in env.worker(name).admin.list("pods", env.namespace):
                if pod["metadata"]["name"] != first and pod["status"].get("phase") == "Running":
                    nodes[name].log(env.namespace, pod["metadata"]["name"]).write("second attempt")
                    return True
        return False
    until(second, "a pod of the second attempt to run")
    assert child.stdout.readline() == b"second attempt\n"
    child.kill()
    child.wait()


@_with_nodes
def whoever_has_a_client_certificate_uses_the_viewers_token(env, nodes):
    env.use_all()
    env.submit(job("viewed", hold="all"))
    worker, pod = _running_pod(env, "viewed")
    nodes[worker].log(env.namespace, pod).write("seen")
    code, out, err = _run(env, env.clusters.management.admin_config, "logs", "job/viewed")
    assert (code, out) == (0, "seen\n"), (code, out, err)


@_with_nodes
def all_of_it_works_through_the_service_proxy_of_the_api_server(env, nodes):
    env.use_all()
    _operator(env)
    env.submit(job("far", hold="all"))
    worker, pod = _running_pod(env, "far")
    nodes[worker].log(env.namespace, pod).write("from afar")
    cluster = env.clusters.management
    proxy = ServiceProxy(cluster, env.host.port)
    try:
        config = cluster.kubeconfig("proxied", token_file=f"{env.namespace}-operator.token", port=proxy.port)

        def run(command, *args):
            done = subprocess.run([env.host.wharf, command, "-n", env.namespace, "--kubeconfig", config, *args],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
            return done.returncode, done.stdout, done.stderr
        code, out, err = run("logs", "job/far")
        assert (code, out) == (0, "from afar\n"), (code, out, err)
        code, out, err = run("exec", "job/far", "--", "echo", "hello")
        assert (code, out) == (0, "hello\n"), (code, out, err)
        assert [path.split("?")[0].split("/")[3] for path in proxy.proxied] == ["logs", "exec"], proxy.proxied
        # The proxy's address is a loopback one: what needs no token there needs one through it.
        code, out, err = run("status")
        assert code == 1 and "may not get the path /wharf of the management cluster" in err, (code, out, err)
    finally:
        proxy.close()


@_with_nodes
def a_follower_waits_for_the_first_pod(env, nodes):
    env.use_all()
    reader = _user(env, "reader", _READ)
    env.submit(job("later", hold="all", suspend=True))
    until(lambda: _run(env, reader, "logs", "job/later")[2] ==
          f"error: the host: Job {env.namespace}/later has no mirror now\n", "the Job to be known and nowhere")
    child = subprocess.Popen(_argv(env, reader, "logs", "job/later", "-f"), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    assert child.stderr.readline() == b"waiting for a pod\n"
    env.change("later", {"spec": {"suspend": False}})
    worker, pod = _running_pod(env, "later")
    nodes[worker].log(env.namespace, pod).write("at last")
    assert child.stdout.readline() == b"at last\n"
    child.kill()
    child.wait()


def _peak_kib(env):
    with open(f"/proc/{env.host.process.child.pid}/status", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("VmHWM:")).split()[1])


@_with_nodes
def a_reader_who_is_slow_holds_back_nobody_and_costs_no_memory(env, nodes):
    env.use_all()
    reader = _user(env, "reader", _READ)
    env.submit(job("loud", hold="all"))
    worker, pod = _running_pod(env, "loud")
    log = nodes[worker].log(env.namespace, pod)
    log.write(*(f"{number} " + "x" * 1000 for number in range(30000)))   # 30 MB
    _run(env, reader, "logs", "job/loud", "--tail", "1")
    before = _peak_kib(env)
    slow = [subprocess.Popen(_argv(env, reader, "logs", "job/loud"), stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL) for _ in range(4)]
    for each in slow:
        assert each.stdout.read(1) == b"0"
    code, out, err = _run(env, reader, "logs", "job/loud")
    assert code == 0 and out.count("\n") == 30000, (code, len(out), err)
    assert env.host.fetch("/readyz")[0] == 200
    grown = _peak_kib(env) - before
    assert grown < 8192, f"the host's memory grew by {grown} KiB for five readers of 30 MB"
    rest = slow[0].stdout.read()
    assert rest.count(b"\n") == 30000 and slow[0].wait(30) == 0, len(rest)
    for each in slow[1:]:
        each.kill()
        each.wait()


@_with_nodes
def open_logs_and_sessions_end_with_the_host(env, nodes):
    env.use_all()
    user = _operator(env)
    env.submit(job("open", hold="all"))
    worker, pod = _running_pod(env, "open")
    nodes[worker].log(env.namespace, pod).write("a")
    took = _stop_while_open(env, user)
    if took >= 5:   # perhaps the machine was busy with something else
        took = _stop_while_open(env, user)
    assert took < 5, f"the host took {took:.1f} s to stop"


def _stop_while_open(env, user):
    """How long the host takes to stop; it is started again."""
    until(lambda: _run(env, user, "logs", "job/open")[0] == 0, "the log to be there")
    follower = subprocess.Popen(_argv(env, user, "logs", "job/open", "-f"), stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL)
    session = subprocess.Popen(_argv(env, user, "exec", "job/open", "-i", "--", "cat"), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    session.stdin.write(b"b\n")
    session.stdin.flush()
    assert (follower.stdout.readline(), session.stdout.readline()) == (b"a\n", b"b\n")
    began = time.monotonic()
    env.host.stop()
    took = time.monotonic() - began
    assert follower.wait(60) is not None
    _, err = session.communicate(timeout=60)
    assert session.returncode == 1 and b"the connection was lost before the command ended" in err, err
    env.host.start()
    return took
