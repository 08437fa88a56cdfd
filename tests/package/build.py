# SPDX-License-Identifier: Apache-2.0
"""Everything that `make` makes for installing, built once for all tests, from a copy of the sources in a folder of its own."""
import atexit
import functools
import glob
import os
import shutil
import subprocess
import tempfile

from chart import ROOT

EPOCH = 1767312000


@functools.lru_cache(None)
def folder():
    path = tempfile.mkdtemp(prefix="wharf-package-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def has(*programs):
    return all(shutil.which(program) for program in programs)


@functools.lru_cache(None)
def copy(name):
    """The sources as they are here, committed or not, as a repository with one commit."""
    path = os.path.join(folder(), name)
    os.makedirs(path)
    subprocess.run(f"git ls-files -z | tar --null --ignore-failed-read -T - -cf - | tar -C '{path}' -xf -", shell=True, check=True, cwd=ROOT)
    who = ["-c", "user.name=test", "-c", "user.email=test@example.invalid"]
    for command in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "all"]):
        subprocess.run(["git", *command], check=True, cwd=path, env={**os.environ, "GIT_COMMITTER_DATE": f"{EPOCH} +0000",
                                                                      "GIT_AUTHOR_DATE": f"{EPOCH} +0000"})
    return path


@functools.lru_cache(None)
def make(target, name="one"):
    """The folder with what `make TARGET` has made in the copy of this name."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "SOURCE_DATE_EPOCH"))}
    run = subprocess.run(["make", f"-j{os.cpu_count()}", target], cwd=copy(name), capture_output=True, text=True, env=environment)
    if run.returncode != 0:
        raise AssertionError(f"make {target}:\n{run.stdout}{run.stderr}")
    return os.path.join(copy(name), "build", "dist")


def one(pattern, target, name="one"):
    """The one file of this pattern that the target makes."""
    found = glob.glob(os.path.join(make(target, name), pattern))
    assert len(found) == 1, found
    return found[0]
