# SPDX-License-Identifier: Apache-2.0
"""Malicious workers, two at a time, beside a healthy one.

    python3 -B tests/hostile run BUILD [NAME ...]    the host against each of them
    python3 -B tests/hostile serve NAME              one of them, for use by hand: prints its kubeconfig
    python3 -B tests/hostile list
"""
import functools
import sys
import threading
import time

import api
import scenarios
import stage

JOBS = 60           # for each pair of scenarios
RATE = 20           # Jobs a second
MEMORY_MIB = 128
ROUNDS = 4          # of a pair that was too slow: others on this machine are no attackers
TERM_SECONDS = 12   # it ends itself after 10, and then may take 1 to write the last lines of the log
SLACK = 0.25        # of a second: what two cores that also run the attackers may add
SANITIZED_SLACK = 4  # with AddressSanitizer, where to read what the attackers send takes ten times as long
SANITIZED_TIMES = 4  # the memory
QUARANTINE_MIB = 256  # what is freed and still kept
QUIET = ["quiet", "quiet"]
JOB_KIB = 300       # of the largest Job in the management cluster; a status may have 256
SLOW = {"costly-status", "costly-mirror"}  # their own Jobs wait
ENDED = {"heavy-end"}  # whose Jobs must end in the management cluster, too
# What must be reported in the log, /readyz or /metrics; the others show in the state of the cluster.
REPORTED = {"million-orphans": r"orphan|held|paused", "vanishing": r"again and again|repeated|waits|waiting for",
            "wide-status": r"larger than \d+ bytes", "large-status": r"too large, so the host does not copy the status",
            "heavy-end": r"StatusTooLarge", "costly-status": r"StatusTooLarge",
            "heavy-statuses": r'wharf_worker_statuses_delayed{cluster="x\d"} 1',
            "errors": r"failed calling webhook", "hung": r"x\d.*(suspect|respond|answer|lost|unreachable)",
            "crowd": r"Kueue Workloads exceed its memory budget",
            "capacity-churn": r"wharf_worker_nodes.cluster=\"x\d\". 15000",
            **dict.fromkeys(("nodes-by-watch", "nodes-by-pages", "pods-by-watch"),
                            r"free capacity is unknown.*memory\.perCluster")}
# What the management cluster may have to store, see core/engine/status/act_status.c.
SPINNING = ("status-spin", "suspend-flip")
WRITES, WRITES_SLACK = 20, 10    # of a Job at once, and then one a second; its creation, its placement, its end
RATE_BYTES = 16 << 10            # a second, of a worker
SETTINGS = f"rateLimit: {{statusBytes: {RATE_BYTES >> 10}KiB}}\n"
IN_FLIGHT = 32 * 110000          # a heavy status in each place of the window


def serve_jobs(play, names):
    """The seconds from creation to end of those Jobs that no hostile worker has taken: w1 has them, at once or after
    the others refused them; without those that a worker of SLOW was asked for, whose answers wait behind its events."""
    made = {}
    for number in range(JOBS):
        name = f"job-{number}"
        made[name] = play.submit(name)
        time.sleep(1 / RATE)

    def waiting():
        taken = set().union(*(server.taken for server in play.hostile))
        return [name for name in made if name not in taken and name not in play.done]
    stage.until(lambda: not waiting(), "all Jobs that no hostile worker took are complete", 120)
    apart = set().union(*(server.asked if name in SLOW else server.taken for name, server in zip(names, play.hostile)))
    return [play.done[name] - at for name, at in made.items() if name not in apart]


def excess(play, server, name):
    """What a hostile worker has caused to be written beyond its budget."""
    taken = [job["metadata"]["name"] for job in server.created]
    if name in SPINNING:
        last, job = scenarios.LAST, taken[0]
        stage.until(lambda: last.items() <= play.jobs[job].get("status", {}).items(), f"{job} has its last status", 120)
        most = WRITES + WRITES_SLACK + time.monotonic() - play.began
        if play.versions[job] > most:
            return [f"{name}: {job} was written {play.versions[job]} times, at most {most:.0f} are expected"]
    elif name == "heavy-statuses":
        stage.until(lambda: server.is_over, "the worker is done", 120)
        stage.until(lambda: "rateLimit.statusBytes" in play.fetch("/api/v1/workers")[1], "/api/v1/workers has the reason")
        most = RATE_BYTES * (256 + time.monotonic() - play.began) + IN_FLIGHT
        found = sum(play.bytes[job] for job in taken)
        if found > most:
            return [f"{name}: {found} bytes were written, at most {most:.0f} are expected"]
    return []


@functools.cache
def is_sanitized(build):
    with open(f"{build}/wharf", "rb") as file:
        return b"__asan_init" in file.read()


def is_slow(build, p99, usual):
    """Whether Jobs take longer than what attackers may add; `usual` is the p99 without them."""
    return p99 > 2 * usual + (SANITIZED_SLACK if is_sanitized(build) else SLACK)


def memory_max(build):
    return SANITIZED_TIMES * MEMORY_MIB + QUARANTINE_MIB if is_sanitized(build) else MEMORY_MIB


def is_reported(play, name):
    if name not in REPORTED:
        return True
    texts = "\n".join((play.fetch("/readyz")[1], play.fetch("/metrics")[1]))
    return play.logged(REPORTED[name]) or stage.re.search(REPORTED[name], texts, stage.re.IGNORECASE) is not None


def run_pair(build, names):
    """Problems with one pair, the p99, and how long SIGTERM took."""
    play = stage.Stage(build, [scenarios.ALL.get(name) for name in names],
                       SETTINGS if "heavy-statuses" in names else "")
    problems, p99, term = [], 0.0, 0.0
    try:
        play.start()
        play.submit("first")  # a host that has just started waits a moment for workers that it has not reached
        stage.until(lambda: "first" in play.placed, "the first Job is placed", 120)
        latencies = serve_jobs(play, names)
        assert latencies, "the hostile workers accepted every Job"
        p99 = stage.percentile(latencies, 0.99)
        for name in names:
            stage.until(lambda name=name: is_reported(play, name), f"{name} is reported", 120)
        for name, server in zip(names, play.hostile):
            if name in ENDED:
                stage.until(lambda server=server: server.taken - {None} and server.taken - {None} <= set(play.done),
                            f"the Jobs of {name} end", 30)
        for server, name in zip(play.hostile, names):
            problems += excess(play, server, name)
        if play.fetch("/healthz")[0] != 200:
            problems.append("/healthz is not 200")
    except (AssertionError, OSError) as error:
        problems.append(str(error))
    finally:
        term = play.terminate()
    if play.largest > JOB_KIB * 1024:
        problems.append(f"a Job of {play.largest // 1024} KiB in the management cluster")
    if play.peak > memory_max(build):
        problems.append(f"it took {play.peak} MiB")
    if play.child.returncode < 0:
        problems.append(f"after SIGTERM it had to be killed (exit code {play.child.returncode})")
    print(f"        {', '.join(names)}: {len(play.done)} of {JOBS + 1} Jobs, in w1 p99 {p99:.2f} s, {play.peak} MiB, "
          f"SIGTERM {term:.1f} s", flush=True)
    if problems:
        print(f"        log: {play.folder}/wharf.log")
    play.close(keep=bool(problems))
    return problems, p99, term


def what_is_late(build, p99, usual, term):
    found = [f"p99 is {p99:.2f} s, usual {usual:.2f} s"] if is_slow(build, p99, usual) else []
    return found + ([f"SIGTERM took {term:.1f} s"] if term > TERM_SECONDS else [])


def problems_with(build, pair, usual):
    """Problems with one pair, and the usual p99: where something took too long, both are done again."""
    for last in [False] * (ROUNDS - 1) + [True]:
        found, p99, term = run_pair(build, pair)
        late = [] if found else what_is_late(build, p99, usual, term)
        if not late or last:
            return found + late, usual
        found, usual, _ = run_pair(build, QUIET)
        if found:
            return [f"without attackers: {problem}" for problem in found], usual


def run(build, names):
    names = names or list(scenarios.ALL)
    problems, usual, _ = run_pair(build, QUIET)
    passed = failed = 0
    for first in range(0, len(names), 2):
        pair = (names[first:first + 2] * 2)[:2]
        found = [f"without attackers: {problem}" for problem in problems]
        if not found:
            found, usual = problems_with(build, pair, usual)
        for problem in found:
            print(f"FAILED  {', '.join(pair)}: {problem}", flush=True)
        passed, failed = passed + (not found), failed + bool(found)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


def main():
    command, *rest = sys.argv[1:] or ["help"]
    unknown = [name for name in rest[1 if command == "run" else 0:] if name not in scenarios.ALL]
    if command == "list":
        for name, scenario in scenarios.ALL.items():
            print(f"{name:16} {scenario.__doc__.splitlines()[0]}")
    elif command == "serve" and len(rest) == 1 and not unknown:
        print(api.Server(scenarios.ALL[rest[0]]).kubeconfig(rest[0]), flush=True)
        threading.Event().wait()
    elif command == "run" and rest and not unknown:
        return run(rest[0], rest[1:])
    else:
        print(f"no such scenario: {unknown[0]}" if unknown else __doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
