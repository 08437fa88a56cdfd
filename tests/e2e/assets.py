# SPDX-License-Identifier: Apache-2.0
"""Where the servers' binaries are. The folder of all, found as envtest finds it, has kubectl and what the others lack; the
management cluster and the workers can have servers of other versions."""
import functools
import os
import re
import subprocess

NEEDED = ("kube-apiserver", "etcd", "kube-controller-manager")


class Assets:
    def __init__(self, management=None, workers=()):
        self.base = os.environ.get("KUBEBUILDER_ASSETS") or "/usr/local/kubebuilder/bin"
        self.management, self.workers = management, list(workers)   # folders; the last one is of all further workers

    def missing(self):
        """What is not there, as a sentence, or None."""
        lacking = [name for name in NEEDED if not _runs(os.path.join(self.base, name))]
        if lacking:
            return f"no {', '.join(lacking)} in {self.base} (set KUBEBUILDER_ASSETS)"
        for folder in [self.management] * bool(self.management) + self.workers:
            if not _runs(os.path.join(folder, "kube-apiserver")):
                return f"no kube-apiserver in {folder}"
        return None

    def tool(self, name):
        return os.path.join(self.base, name)

    def has(self, name):
        return _runs(self.tool(name))

    def program(self, cluster, name):
        """The path of the binary for this cluster."""
        own = os.path.join(self._folder(cluster), name)
        return own if _runs(own) else self.tool(name)

    def version(self, cluster):
        """Of the API server: (1, 37, 2)."""
        return _version(self.program(cluster, "kube-apiserver"))

    def _folder(self, cluster):
        if cluster == "management":
            return self.management or self.base
        number = re.fullmatch(r"w(\d+)", cluster)
        return self.workers[:int(number[1])][-1] if number and self.workers else self.base


def add_arguments(parser):
    parser.add_argument("--management", metavar="FOLDER", help="servers of the management cluster, of another version")
    parser.add_argument("--workers", metavar="FOLDER[,FOLDER]", help="servers of the workers: of all, or of the first and "
                        "of the others")


def chosen(options):
    return Assets(options.management, options.workers.split(",") if options.workers else ())


def _runs(path):
    return os.access(path, os.X_OK)


@functools.lru_cache(maxsize=None)
def _version(program):
    said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    return tuple(int(number) for number in re.search(r"v(\d+)\.(\d+)\.(\d+)", said).groups())
