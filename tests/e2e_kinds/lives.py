# SPDX-License-Identifier: Apache-2.0
"""The lives that each kind goes through: `life` is one workload, in a namespace of its own."""
from kind import patch_at

_CHOSEN = {"cloud.example/pool": "spot"}


def success(life):
    life.submit()
    life.until_end()


def failure(life):
    life.submit(pods="fail")
    life.until("failed")


def retry(life):
    life.submit(pods=life.kind.retried + "-once", patch=life.kind.retry)
    life.until("succeeded")


def evicted(life):
    life.submit(pods="evict-once", patch=life.kind.retry)
    life.until("succeeded")


def suspend_and_resume(life):
    life.submit(pods="hold")
    life.until("running")
    life.change_suspend(True)
    life.until("suspended")
    life.change_suspend(False)
    life.until("running")
    life.end()


def created_suspended(life):
    pointer, suspended, _ = life.kind.suspend
    life.submit(patch=patch_at(pointer, suspended))
    life.until("suspended")
    life.change_suspend(False)
    life.until_end()


def steered(life):
    """As Kueue does: while it is suspended again, its pods are told where to run."""
    life.submit(pods="hold")
    life.until("running")
    life.change_suspend(True)
    spec = life.until("suspended")["spec"]
    for template in life.kind.templates(spec):
        template.setdefault("spec", {})["nodeSelector"] = _CHOSEN
    life.change({"spec": spec})
    life.change_suspend(False)
    life.until("running")
    pods = [pod for pod in life.children("pods") if not pod["metadata"].get("deletionTimestamp")]
    wrong = [pod["metadata"]["name"] for pod in pods if not _CHOSEN.items() <= pod["spec"].get("nodeSelector", {}).items()]
    assert pods and not wrong, f"without the node selector: {', '.join(wrong)}"
    life.end()


def deletion_while_running(life):
    life.submit(pods="hold")
    life.until("running")
    life.delete()


def time_to_live(life):
    life.submit(patch=life.kind.ttl)
    life.until("succeeded")


def scale(life):
    patch, scaled = life.kind.scale
    life.submit(pods="hold")
    life.until("running")
    life.change(patch)
    life.until_status("scaled", scaled)
    life.end()


def relabelled(life):
    """For controllers that write the labels and annotations of a running object, sometimes old ones: then the host carries the
    change once more."""
    life.submit(pods="hold")
    life.until("running")
    for number in range(5):
        wanted = {f"example.com/{each}": str(number) for each in ("team", "stage")}
        life.change({"metadata": {"labels": wanted, "annotations": wanted}})
        life.changes += 1
        life.until_carried(f"change {number} to be carried", lambda mirror, wanted=wanted: all(
            wanted.items() <= mirror["metadata"][each].items() for each in ("labels", "annotations")))
    life.end()


# A case with the attribute of its Kind that it needs.
CASES = {
    "success": (success, None), "failure": (failure, None), "retry": (retry, "retry"), "eviction": (evicted, "retry"),
    "suspend-resume": (suspend_and_resume, "suspend"), "created-suspended": (created_suspended, "suspend"),
    "steered": (steered, "templates"),
    "deletion": (deletion_while_running, None), "ttl": (time_to_live, "ttl"), "scale": (scale, "scale"),
}


def of(kind):
    """[(case, function)]"""
    common = {case: function for case, (function, needs) in CASES.items()
              if case not in kind.skip and (needs is None or getattr(kind, needs) is not None)
              and not (kind.never_ends and case in ("failure", "retry", "eviction", "ttl"))}
    return list({**common, **kind.cases}.items())
