# SPDX-License-Identifier: Apache-2.0
"""Turns the stories of fixtures into what can be played with real servers and a real clock."""
import copy

from compare import text_of, time_of

ENDS = ("Succeeded", "Failed")


def playable(steps, began, names=None):
    """The story as it can be played with real servers. `names` are further replacements of names.

    Its times are moved, so that its first end is now: a mirror is kept for a time after its end. And what is changed
    while a worker is lost is changed just before: a mirror that is gone is made again at once.
    """
    steps = copy.deepcopy(steps)
    for number in range(len(steps) - 1):
        step, after = steps[number:number + 2]
        if step.get("lost") and not step.get("waits") and "patch" in after:
            lost = {"lost": True, **{key: after.pop(key) for key in ("workload", "phase") if key in after}}
            steps[number:number + 2] = [after, {**lost, "waits": True}]
    for step, after in zip(steps, steps[1:]):
        # A workload that is resumed without a mirror gets one at once, and its status is the mirror's.
        step["passing"] = "status" in after
    ends = [step for step in steps if step.get("phase") in ENDS and "status" in step]
    latest = max((time_of(text) for text in _texts(ends[:1] or steps) if time_of(text)), default=began)
    for step in steps:
        for key in {"status", "workload"} & set(step):
            step[key] = _moved(step[key], int(began - latest), names or {})
    return steps


def _texts(value):
    if isinstance(value, str):
        return [value]
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for member in members for text in _texts(member)]


def _moved(value, seconds, names):
    if isinstance(value, dict):
        return {key: _moved(member, seconds, names) for key, member in value.items()}
    if isinstance(value, list):
        return [_moved(item, seconds, names) for item in value]
    then = time_of(value)
    if isinstance(value, str) and not then:
        for name, other in names.items():
            value = value.replace(name, other)
    return text_of(then + seconds) if then else value
