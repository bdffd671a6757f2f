# SPDX-License-Identifier: Apache-2.0
"""`./dev bench csi`: our controller, a peer and bare librbd side by side; exit status 1 when a goal is missed.

bench/csi.sh starts Ceph and the drivers and tells of them by the environment: CEPH_DIR, CLUSTER_ID, POOL and
CONTROLLER_PID; FLOOR_POOL; when the peer runs, PEER_DIR, PEER_POOL and PEER_PID."""

import argparse
import json
import os
import subprocess
import sys
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "tests", "lib"), os.path.join(ROOT, "bench", "report")]

import table  # noqa: E402
from ceph import Cluster  # noqa: E402
from goals import FLOOR, OURS, PEER, judge  # noqa: E402
from plan import make_plan  # noqa: E402
from rounds import Rounds  # noqa: E402
from subject import Floor, Peer, Subject, status_mib  # noqa: E402

PROGRAMS = os.path.join(ROOT, "build", "release", "bench")
CEPH_DIR = os.environ["CEPH_DIR"]
AT_REST_S = 3


def floor_command(pool, *arguments):
    return [f"{PROGRAMS}/floor", f"--conf={CEPH_DIR}/ceph.conf", f"--pool={pool}", *arguments]


def csi_command(socket, pid, *arguments):
    return [f"{PROGRAMS}/csi_load", f"--endpoint=unix://{socket}", f"--pid={pid}", *arguments]


def as_driver(pool):
    """A command of the floor with the rights that the driver has."""
    return floor_command(pool, "--user=imprint", f"--keyring={CEPH_DIR}/imprint.keyring")


def our_subject():
    parameters = f"{CEPH_DIR}/parameters.json"
    with open(parameters, "w", encoding="utf-8") as file:
        json.dump({"clusterID": os.environ["CLUSTER_ID"], "pool": os.environ["POOL"]}, file)
    pid = int(os.environ["CONTROLLER_PID"])
    command = csi_command(f"{CEPH_DIR}/csi.sock", pid, f"--parameters={parameters}")
    return Subject(OURS, os.environ["POOL"], command, pid)


def peer_subject():
    folder, pool, pid = os.environ["PEER_DIR"], os.environ["PEER_POOL"], int(os.environ["PEER_PID"])
    command = csi_command(f"{folder}/cephcsi.sock", pid, f"--parameters={folder}/cephcsi-sc.json",
                          f"--snapshot-parameters={folder}/cephcsi-vsc.json",
                          f"--secrets={folder}/cephcsi-secrets.json")
    return Peer(PEER, pool, command, pid)


def bare_client_mib():
    """The memory of a process that has done no more than connect and open an image."""
    with subprocess.Popen([*as_driver(os.environ["FLOOR_POOL"]), "--prefix=idle", "--idle"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        client.stdout.readline()
        time.sleep(AT_REST_S)
        memory = status_mib(client.pid)
        client.stdin.close()
    return memory


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench csi")
    parser.add_argument("--json", action="store_true", help="the outcome as JSON, with all figures")
    parser.add_argument("--quick", action="store_true", help="one short round: a look, not a measurement")
    parser.add_argument("--rounds", type=int, metavar="N", help="3 unless --quick")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    subjects = [our_subject(), Floor(FLOOR, os.environ["FLOOR_POOL"], as_driver(os.environ["FLOOR_POOL"]))]
    if "PEER_PID" in os.environ:
        subjects.append(peer_subject())
    with Cluster(CEPH_DIR) as cluster:
        rounds = Rounds(cluster, make_plan(arguments.quick, arguments.rounds), subjects)
        bare_mib = bare_client_mib()
        rounds.run()
    rows = judge(rounds, bare_mib)
    if arguments.json:
        print(json.dumps(table.as_json(rows, rounds, bare_mib), indent=1))
    else:
        table.print_rows(rows, has_peer=len(subjects) > 2)
        table.print_figures(rounds)
    return 1 if any(row.verdict == "missed" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
