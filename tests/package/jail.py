# SPDX-License-Identifier: Apache-2.0
"""Programs that run with another root, unprivileged, with nothing but what is there and /proc."""
import os
import signal
import subprocess

UID = 65532
_RUN = 'mount -t proc proc "$1/proc" && root=$1 && shift && exec chroot --userspec={0}:{0} "$root" "$@"'.format(UID)


def _argv(root, argv):
    mine = [] if os.getuid() == 0 else ["--user", "--map-auto", "--map-root-user"]
    return ["unshare", *mine, "--mount", "--pid", "--fork", "sh", "-c", _RUN, "sh", root, *argv]


def works():
    """Whether this system lets us."""
    try:
        return subprocess.run(_argv("/", ["/bin/true"]), capture_output=True).returncode == 0
    except OSError:
        return False


def start(root, log, environment, *argv):
    """A process that runs on. stop() ends it."""
    os.makedirs(os.path.join(root, "proc"), exist_ok=True)
    return subprocess.Popen(_argv(root, argv), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)


def stop(process, timeout=15):
    """SIGTERM to the program, which is the first process of its namespace; the exit code."""
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        children = [int(child) for child in file.read().split()]
    for child in children:
        os.kill(child, signal.SIGTERM)
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        for child in children:
            os.kill(child, signal.SIGKILL)
        process.wait()
        raise


def run(root, *argv):
    os.makedirs(os.path.join(root, "proc"), exist_ok=True)
    return subprocess.run(_argv(root, argv), capture_output=True, text=True, env={"PATH": "/usr/bin:/usr/sbin:/bin:/sbin"})
