#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts the world server that is given and puts the contract to it."""
import os
import subprocess
import sys
import tempfile


def main():
    contract = os.path.join(os.path.dirname(os.path.abspath(__file__)), "contract.py")
    with tempfile.TemporaryDirectory() as folder:
        world = subprocess.Popen([sys.argv[1], "--plain", "--clusters", "1", "--dir", folder, "--no-controllers"],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            url = world.stdout.readline().split()[1]
            status = subprocess.run([sys.executable, "-B", contract, "--server", url, *sys.argv[2:]],
                                    check=False).returncode
        finally:
            world.stdin.close()
            ended = world.wait(timeout=30)
    return status or ended


if __name__ == "__main__":
    sys.exit(main())
