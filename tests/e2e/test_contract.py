# SPDX-License-Identifier: Apache-2.0
"""The contract of the world model, against a real API server, so that the two cannot diverge."""
import os
import re
import subprocess
import sys

from servers import Cluster
from skip import Skip

_CONTRACT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "contract", "contract.py")


def _put(cluster, *options):
    certificate, key = cluster.admin_certificate
    done = subprocess.run(
        [sys.executable, "-B", _CONTRACT, "--server", f"https://127.0.0.1:{cluster.port}", "--ca",
         cluster.authority.certificate, "--cert", certificate, "--key", key, *options],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, check=False)
    end = "\n".join(done.stdout.splitlines()[-40:])
    assert done.returncode == 0, f"exit {done.returncode}\n{end}"
    assert re.search(r"^[1-9]\d* passed, 0 failed", end, re.MULTILINE), end


def a_real_api_server_keeps_the_contract_of_the_world_model(env):
    if not os.path.exists(_CONTRACT):
        raise Skip("no tests/contract/contract.py")
    # Without controllers: only the contract changes its objects.
    cluster = Cluster("contract", env.clusters.assets, env.folder, with_controllers=False)
    try:
        cluster.start()
        cluster.await_ready()
        _put(cluster)
    finally:
        cluster.stop()


def a_real_job_controller_works_from_the_status_as_that_of_the_world_model(env):
    if not os.path.exists(_CONTRACT):
        raise Skip("no tests/contract/contract.py")
    _put(env.clusters.workers[-1], "--controllers")
