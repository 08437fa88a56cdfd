# SPDX-License-Identifier: Apache-2.0
"""token_plugin.py KUBECONFIG RUNS SECONDS: a credential plugin that asks the API server of a kubeconfig for a token of
wharf's service account, and says that it expires after so many seconds. It notes each run in the file RUNS."""
import datetime
import json
import os
import sys

import kube


def main():
    kubeconfig, runs, seconds = sys.argv[1:]
    asked = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
    token = kube.Client.of(kubeconfig).token_of("wharf-system", "wharf", 600)
    expires = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=int(seconds))
    with open(runs, "a", encoding="utf-8") as file:
        file.write(asked["spec"]["cluster"]["server"] + "\n")
    print(json.dumps({"apiVersion": asked["apiVersion"], "kind": "ExecCredential", "status": {
        "token": token, "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ")}}))


main()
