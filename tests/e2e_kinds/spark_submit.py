#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands in for Spark's spark-submit, which makes the driver pod of an application: with the cluster and the account of the
operator that runs it, and with the name, labels and annotations that the operator asks for.

    spark-submit [--conf NAME=VALUE | --OPTION VALUE]... APPLICATION [ARGUMENT...]"""
import os
import sys
import uuid

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "e2e"))

import kube  # noqa: E402

_DRIVER = "spark.kubernetes.driver."


def configuration(arguments):
    """{name: value} of all --conf."""
    return dict(value.split("=", 1) for option, value in zip(arguments, arguments[1:]) if option == "--conf")


def _members(conf, prefix):
    return {name[len(prefix):]: value for name, value in conf.items() if name.startswith(prefix)}


def driver(conf):
    labels = {**_members(conf, _DRIVER + "label."), "spark-role": "driver", "spark-app-selector": f"spark-{uuid.uuid4().hex}"}
    return {"metadata": {"name": conf[_DRIVER + "pod.name"], "labels": labels, "annotations": _members(conf, _DRIVER + "annotation.")},
            "spec": {"restartPolicy": "Never", "containers": [{
                "name": "spark-kubernetes-driver", "image": conf["spark.kubernetes.container.image"], "args": ["driver"],
                "ports": [{"name": "spark-ui", "containerPort": 4040}]}]}}


def main():
    conf = configuration(sys.argv[1:])
    try:
        kube.Client.of(os.environ["KUBECONFIG"]).create("pods", conf["spark.kubernetes.namespace"], driver(conf))
    except kube.ApiError as error:
        print(f"Received status: code={error.code}, message={error.status.get('message')}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
