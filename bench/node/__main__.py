# SPDX-License-Identifier: Apache-2.0
"""`./dev bench node`: volumes on a node, by each mapper, beside the same device made by hand and bare librbd; exit
status 1 when a goal is missed.

bench/node.sh starts Ceph and makes the virtual machine's files, and tells of them by the environment: CEPH_DIR, POOL,
SCRATCH, GUEST_FILES."""

import argparse
import collections
import json
import os
import sys
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
# first: Debian has a module "ceph" too
sys.path[1:1] = [os.path.join(ROOT, "tests", "lib"), os.path.join(ROOT, "bench", "report")]

import outcome  # noqa: E402
from cases import Plan  # noqa: E402
from ceph import Cluster  # noqa: E402
from controller import Controller  # noqa: E402
from machines import Here, There  # noqa: E402
from turns import in_turn, progress  # noqa: E402

ROUNDS = 3
SECONDS, QUICK_SECONDS = 5, 2


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench node")
    parser.add_argument("--json", action="store_true", help="the outcome as JSON, with all samples")
    parser.add_argument("--quick", action="store_true", help="one short round: a look, not a measurement")
    parser.add_argument("--rounds", type=int, metavar="N", help=f"{ROUNDS} unless --quick")
    parser.add_argument("--only", metavar="TEXT", help="the cases with this in their names")
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (1 if arguments.quick else ROUNDS)
    return arguments


def measure(cases, rounds):
    samples = [collections.defaultdict(list) for _ in cases]
    for turn in range(rounds):
        start = time.monotonic()
        for case, taken in zip(cases, samples):
            for who in in_turn(list(case.ways), turn):
                progress(f"round {turn + 1}: {case.name}, {who}")
                taken[who].append(case.ways[who]())
        progress("")
        print(f"  round {turn + 1} of {rounds}: {time.monotonic() - start:.0f} s", file=sys.stderr)
    return [outcome.CaseOutcome(case, taken) for case, taken in zip(cases, samples)]


def main():
    arguments = parse_arguments()
    ceph_dir, scratch = os.environ["CEPH_DIR"], os.environ["SCRATCH"]
    outcomes = []
    machines = [Here(ceph_dir), There(os.environ["GUEST_FILES"], ceph_dir, scratch)]
    with Cluster(ceph_dir) as cluster, Controller(ceph_dir, os.path.join(scratch, "controller")) as controller, \
            controller.client() as control:
        for machine in machines:
            plans = [Plan(cluster, control, machine, mapper, QUICK_SECONDS if arguments.quick else SECONDS)
                     for mapper in machine.mappers]
            cases = [case for plan in plans for case in plan.cases() if (arguments.only or "") in case.name]
            if cases:
                with machine:
                    for plan in plans:
                        plan.warm_up()
                    outcomes += measure(cases, arguments.rounds)
    if arguments.json:
        print(json.dumps({"rows": [result.as_json() for result in outcomes]}, indent=1))
    else:
        outcome.print_outcomes(outcomes)
    return 1 if any(result.verdict == "missed" for result in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
