# SPDX-License-Identifier: Apache-2.0
"""`./dev bench import` and `./dev bench export`: a disk into RBD and out of it, beside other programs and the bare
calls; exit status 1 when a goal is missed.

bench/import.sh and bench/export.sh start Ceph and make the images, and tell of them by the environment: CEPH_DIR,
POOL, IMAGES, SCRATCH, PEERS."""

import argparse
import collections
import json
import os
import sys
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path += [os.path.join(ROOT, "tests", "lib"), os.path.join(ROOT, "bench", "report")]

import exports  # noqa: E402
import imports  # noqa: E402
import outcome  # noqa: E402
from images import Images  # noqa: E402
from place import Place  # noqa: E402
from server import Server  # noqa: E402
from turns import in_turn, progress  # noqa: E402

ROUNDS = 3


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench")
    parser.add_argument("what", choices=("import", "export"))
    parser.add_argument("--json", action="store_true", help="the outcome as JSON, with all samples")
    parser.add_argument("--quick", action="store_true", help="one round: a look, not a measurement")
    parser.add_argument("--rounds", type=int, metavar="N", help=f"{ROUNDS} unless --quick")
    parser.add_argument("--only", metavar="TEXT", help="the cases with this in their names")
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (1 if arguments.quick else ROUNDS)
    return arguments


def take_samples(cases, rounds):
    """A dict a case: who did it, and a list of samples, one a round."""
    samples = [collections.defaultdict(list) for _ in cases]
    for number in range(rounds):
        start = time.monotonic()
        for i, case in enumerate(cases):
            for way in in_turn(case.ways(), number):
                progress(f"round {number + 1}: {case.name}, {way.who}")
                samples[i][way.who].append(way.run())
        progress("")
        print(f"  round {number + 1} of {rounds}: {time.monotonic() - start:.0f} s", file=sys.stderr)
    return samples


def check(cases):
    """A quick wrong answer is none; this is not timed."""
    start = time.monotonic()
    for case in cases:
        if case.check:
            progress(f"check: {case.name}")
            case.check()
    progress("")
    print(f"  all are the same, byte for byte: {time.monotonic() - start:.0f} s", file=sys.stderr)


def compare(cases, arguments):
    cases = [case for case in cases if (arguments.only or "") in case.name]
    check(cases)
    return [outcome.CaseOutcome(case, samples)
            for case, samples in zip(cases, take_samples(cases, arguments.rounds))]


def main():
    arguments = parse_arguments()
    place, images = Place(), Images(os.environ["IMAGES"])
    if arguments.what == "import":
        peers = imports.PEERS
        with Server(place.scratch("nginx"), images.folder) as server:
            outcomes = compare(imports.Imports(place, images, server).cases(), arguments)
    else:
        peers = exports.PEERS
        plan = exports.Exports(place, images)
        plan.prepare()
        outcomes = compare(plan.cases(), arguments)
    if arguments.json:
        print(json.dumps({"rows": [result.as_json() for result in outcomes]}, indent=1))
    else:
        outcome.print_outcomes(outcomes, peers)
    return 1 if any(result.verdict == "missed" for result in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
