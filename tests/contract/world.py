#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts the world server that is given and puts the contract to it."""
import os
import subprocess
import sys
import tempfile


def put(world, *options):
    """Whether the contract holds; `options` select what runs in the world, and what is asked of it."""
    contract = os.path.join(os.path.dirname(os.path.abspath(__file__)), "contract.py")
    running = "--controllers" in options
    with tempfile.TemporaryDirectory() as folder:
        world = subprocess.Popen([world, "--plain", "--clusters", "1", "--dir", folder,
                                  "--pods" if running else "--no-controllers"],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            url = world.stdout.readline().split()[1]
            status = subprocess.run([sys.executable, "-B", contract, "--server", url, *options], check=False).returncode
        finally:
            world.stdin.close()
            ended = world.wait(timeout=30)
    return status or ended


if __name__ == "__main__":
    sys.exit(put(*sys.argv[1:]) or put(*sys.argv[1:], "--controllers"))
