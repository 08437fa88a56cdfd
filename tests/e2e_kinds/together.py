# SPDX-License-Identifier: Apache-2.0
"""Tests of all kinds at once."""
import inspect

import brought
import goes_on
from life import Life
from wait import until


def _running(scene, case):
    """A life of each kind that runs."""
    found = []
    for kind in scene.kinds:
        life = Life(scene, kind, case, f"{kind.plural}-{case}")
        life.submit(pods="hold")
        found.append(life)
    for life in found:
        life.until("running")
    return found


def _each(lives, action):
    wrong = []
    for life in lives:
        try:
            action(life)
        except AssertionError as error:
            wrong.append(f"\n  {life.kind.plural}: {error}")
    assert not wrong, "".join(wrong)


def a_host_that_is_killed_and_started_again_goes_on_with_every_kind(scene):
    running = _running(scene, "restart")
    before = {life: life.mirrors() for life in running}
    scene.host.kill()
    scene.release_all(life.namespace for life in running[::2])   # these end meanwhile
    scene.host.start()
    _each(running, lambda life: life.end())
    for life in running:
        uids = {mirror["metadata"]["uid"] for mirror in before[life].values()}
        assert uids == life.uids_of_mirrors(), f"{life.kind.plural}: another mirror was made"
    _each(running, lambda life: life.close())


def every_kind_is_placed_again_when_its_worker_is_lost(scene):
    scene.use(workerLostTimeout="10s")
    running = _running(scene, "lost")
    first = {life: life.placed_in() for life in running}
    lost = max(set(first.values()), key=list(first.values()).count)
    scene.relays[lost].cut()
    moved = [life for life in running if first[life] == lost]
    try:
        _each(moved, lambda life: until(lambda: life.placed_in() != lost, f"{life.kind.plural} to be placed elsewhere"))
    finally:
        scene.relays[lost].mend()
    _each(moved, lambda life: until(lambda: lost not in life.mirrors(), f"the old mirror in {lost} to be deleted"))
    _each(running, lambda life: life.until("running"))
    _each(running, lambda life: life.end())
    _each(running, lambda life: life.close())
    scene.use()


TESTS = [(name.replace("_", " "), function) for module in (globals(), vars(brought), vars(goes_on)) for name, function in list(module.items())
         if inspect.isfunction(function) and function.__module__ == module["__name__"] and not name.startswith("_")]
