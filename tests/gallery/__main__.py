# SPDX-License-Identifier: Apache-2.0
"""Bad adapters in processes of their own, beside ten kinds under load; and inside the host, whose next start works.

    python3 -B tests/gallery run BUILD [NAME ...]
    python3 -B tests/gallery list
"""
import sys

import net
import play
from members import ALL

ROUNDS = 4    # of a group that was too slow: others on this machine are no adapters


def run_together(build, names):
    """{name: problems}, those of no single adapter, the names of those that were too slow, and of those not tried."""
    game = play.Play(build, names)
    failed = True
    try:
        try:
            game.run()
            for line in game.measure():
                print(f"        {line}", flush=True)
        except (AssertionError, OSError) as error:
            game.common.append(str(error))
        failed = bool(game.common or game.late or any(game.problems.values()))
        return game.problems, game.common, game.late, game.skipped
    finally:
        game.close(failed)


def run(build, names):
    names = names or list(ALL)
    problems, common, late, skipped = run_together(build, names)
    for _ in range(ROUNDS - 1):
        if common or not late:
            break
        again, common, late, _ = run_together(build, sorted(late, key=names.index))
        for name, found in again.items():
            problems[name] += found
    for name in late:
        problems[name].append("others were slower while it did harm, or it was not back in time")
    for name in names:
        if ALL[name].net:
            problems[f"{name}, in the host"] = net.run(build, name)
    problems["all"] = common
    failed = 0
    for name, found in problems.items():
        failed += bool(found)
        for problem in found:
            print(f"FAILED  {name}: {problem}", flush=True)
    print(f"{len(problems) - failed - len(skipped)} passed, {failed} failed, {len(skipped)} skipped")
    return 1 if failed else 0


def main():
    command, *rest = sys.argv[1:] or ["help"]
    unknown = [name for name in rest[1:] if name not in ALL]
    if command == "list":
        print("\n".join(ALL))
    elif command == "run" and rest and not unknown:
        return run(rest[0], rest[1:])
    else:
        print(f"no such adapter: {unknown[0]}" if unknown else __doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
