# SPDX-License-Identifier: Apache-2.0
"""Programs that run with another root, unprivileged, with nothing but what is there and /proc."""
import os
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


def run(root, *argv):
    os.makedirs(os.path.join(root, "proc"), exist_ok=True)
    return subprocess.run(_argv(root, argv), capture_output=True, text=True, env={"PATH": "/usr/bin:/usr/sbin:/bin:/sbin"})
