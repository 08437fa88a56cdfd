# SPDX-License-Identifier: Apache-2.0
"""A crash of an adapter inside the host: the host ends once, with a line that names adapter, function and object; the
next start sets the object aside, and everything else works."""
from farms import ENDLESS, QUICK, Farm
from stage import Stage, until


def run(build, name):
    """Problems."""
    stage = Stage(build, [name])
    problems = ["it did not come to its end"]
    try:
        problems = _run(stage, Farm(stage, name))
    except (AssertionError, OSError) as error:
        problems = [str(error)]
    finally:
        stage.close(keep=bool(problems))
    return problems


def _run(stage, farm):
    problems = []
    client, worker = stage.client("mgmt"), stage.client("w1")
    stage.configure([farm.name], isolation="none")
    stage.watch_events()
    stage.start()
    if farm.member.follows:
        farm.make(client, "first", **ENDLESS)
        until("the first Farm runs", lambda: farm.status(client, "first").get("cluster") == "w1")
        farm.harm_by_mirror(worker, "first")
        bad = "first"
    else:
        farm.make_bad(client, "bad")
        bad = "bad"
    code = stage.wait()
    if code is None or code >= 0:
        return [f"the host ended with {code}, expected a signal"]
    for word in (farm.name, farm.member.net, f"default/{farm.full(bad)}"):
        if word not in stage.tail(3):
            problems.append(f"the last lines do not name {word}:\n{stage.tail(3)}")
    stage.start()
    note = farm.await_failure(client, bad)
    if farm.name not in note:
        problems.append(f'the Event says "{note}", expected the adapter')
    farm.make(client, "good", **QUICK)
    until(f"{farm.full('good')} is done", lambda: farm.status(client, "good").get("state") == "done")
    job = stage.ten[0]
    client.make(job.path, job.object("other", **{"world.test/duration": "20ms"}))
    until("a Job is mirrored", lambda: worker.ask("GET", f"{job.path}/other")[0] == 200)
    if stage.child.poll() is not None:
        problems.append(f"the next host ended with {stage.child.poll()}")
    elif stage.stop() != 0:
        problems.append("SIGTERM did not end the next host in order")
    return problems + farm.wrong_mirrors()
