# SPDX-License-Identifier: Apache-2.0
"""Makes docs/page.png: the page beside a host with some work. python3 -B tests/page/picture.py BUILD_FOLDER"""
import os
import random
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import browser  # noqa: E402
from stage import Stage  # noqa: E402

JOBS = ["train-resnet", "train-bert", "tune-llm", "simulate-flow", "render", "etl-daily", "genome-align"]


def work(stage):
    draw = random.Random(7)
    for i in range(120):
        stage.create_job(f"{JOBS[i % len(JOBS)]}-{i:03}", suspend=draw.random() < 0.1)
        time.sleep(draw.random() / 20)


def main():
    stage = Stage(sys.argv[1])
    view = browser.Browser(1200, 820)
    try:
        view.open(f"http://{stage.address}/")
        view.wait("$('live').textContent === 'live'")
        work(stage)
        stage.sandbox("cut", "w3")
        view.wait("model.workers.some((w) => w.state === 'Unreachable')", 60)
        for i in range(20):
            stage.create_job(f"late-{i:02}")
        time.sleep(2.2)
        view.screenshot("docs/page.png")
    finally:
        view.close()
        stage.close()


main()
