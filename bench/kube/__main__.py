# SPDX-License-Identifier: Apache-2.0
"""`./dev bench kube`: from a claim to Bound by the populator, beside the provisioner and the floor, and the populator's
memory; exit status 1 when a goal is missed.

bench/kube.sh starts Ceph, the controller and a control plane with the chart, and tells of them by the environment:
CEPH_DIR, CLUSTER_ID, POOL, CONTROLLER_PID, KUBE_DIR, KUBECONFIG, IMPRINT_KUBECONFIG."""

import argparse
import collections
import contextlib
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
# first: Debian has a module "ceph" too
sys.path[1:1] = [os.path.join(ROOT, *folder) for folder in (("tests", "lib"), ("bench", "report"),
                                                            ("bench", "compare"))]

import chart_pod  # noqa: E402
import claims  # noqa: E402
import memory  # noqa: E402
import outcome  # noqa: E402
import sample_disk  # noqa: E402
from ceph import Cluster  # noqa: E402
from fault_server import FaultServer  # noqa: E402
from freed import wait_trash  # noqa: E402
from image_server import ImageFile  # noqa: E402
from kube_api import Api  # noqa: E402
from subject import Subject, status_mib  # noqa: E402
from turns import in_turn, progress  # noqa: E402

PROGRAMS = os.path.join(ROOT, "build", "release", "bench")
CEPH_DIR, POOL = os.environ["CEPH_DIR"], os.environ["POOL"]
ROUNDS = 3
ONE_BY_ONE, QUICK_ONE_BY_ONE = 12, 4  # claims of a round
AT_ONCE = 50


class Volumes:
    """The floor's volumes: bare calls on the controller's socket."""

    def __init__(self):
        parameters = f"{CEPH_DIR}/parameters.json"
        with open(parameters, "w", encoding="utf-8") as file:
            json.dump({"clusterID": os.environ["CLUSTER_ID"], "pool": POOL}, file)
        pid = os.environ["CONTROLLER_PID"]
        self.subject = Subject("volume", POOL, [f"{PROGRAMS}/csi_load", f"--endpoint=unix://{CEPH_DIR}/csi.sock",
                                                f"--pid={pid}", f"--parameters={parameters}", "--size=64Mi"])

    def __enter__(self):
        self.subject.open("bare")
        self.subject.run("create", 1, 1)
        self.subject.run("snapshot", 1, 1)
        return self

    def __exit__(self, *_):
        for phase in ("delete-snapshots", "delete"):
            self.subject.run(phase, 1, 0)
        self.subject.close()

    def run(self, at_once, count):
        """p50 and p99 in milliseconds, which are those of the two as well."""
        said = self.subject.run("restore-same", at_once, count)
        assert said["failed"] == 0, said
        self.subject.run("delete-children", 16, 0)
        return said["p50_ms"], said["p99_ms"]


def bare_client_mib():
    """The memory of a process that has done no more than connect and open an image."""
    with subprocess.Popen([f"{PROGRAMS}/floor", f"--conf={CEPH_DIR}/ceph.conf", f"--pool={POOL}", "--user=imprint",
                           f"--keyring={CEPH_DIR}/imprint.keyring", "--prefix=idle", "--idle"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        client.stdout.readline()
        time.sleep(memory.AT_REST_S)
        used = status_mib(client.pid)[0]
        client.stdin.close()
    return used


class Measurement:
    """Collects samples[at_once][way], a list of rounds: the times of its claims."""

    def __init__(self, cluster, ways, volumes, one_by_one):
        self.cluster, self.ways, self.volumes, self.one_by_one = cluster, ways, volumes, one_by_one
        self.samples = {1: collections.defaultdict(list), AT_ONCE: collections.defaultdict(list)}

    def run(self, rounds):
        for way in self.ways.values():  # connections, and what is made once
            way.run(1)
        for turn in range(rounds):
            start = time.monotonic()
            for at_once in self.samples:
                for name in in_turn([*self.ways, "volume"], turn):
                    progress(f"round {turn + 1}: {at_once} at once, {name}")
                    self.samples[at_once][name].append(self.measure(name, at_once))
                    wait_trash(self.cluster, POOL, 60)  # what is freed must not meet the next one's turn
            progress("")
            print(f"  round {turn + 1} of {rounds}: {time.monotonic() - start:.0f} s", file=sys.stderr)

    def measure(self, name, at_once):
        if name == "volume":
            return self.volumes.run(at_once, at_once if at_once > 1 else self.one_by_one)
        if at_once > 1:
            return self.ways[name].run(at_once)
        return [time for _ in range(self.one_by_one) for time in self.ways[name].run(1)]


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench kube")
    parser.add_argument("--json", action="store_true", help="the outcome as JSON, with all samples")
    parser.add_argument("--quick", action="store_true", help="one short round: a look, not a measurement")
    parser.add_argument("--rounds", type=int, metavar="N", help=f"{ROUNDS} unless --quick")
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (1 if arguments.quick else ROUNDS)
    return arguments


def image_server(folder):
    """Serves one image under every name; while it is_held, nobody gets anything."""
    _, packed = sample_disk.make(pathlib.Path(folder))
    file = ImageFile(packed)

    def handle(request, reply):
        while server.is_held and not server.stopped.wait(0.1):
            pass
        file.serve(request, reply)

    server = FaultServer(handle)
    server.is_held = False
    return server


def main():
    arguments = parse_arguments()
    csi_socket = f"{CEPH_DIR}/csi.sock"
    with tempfile.TemporaryDirectory() as folder, Cluster(CEPH_DIR) as cluster, image_server(folder) as server, \
            contextlib.ExitStack() as running:
        for daemon in (*chart_pod.sidecars(csi_socket, folder, ("csi-provisioner", "csi-snapshotter")),
                       chart_pod.snapshot_controller(folder)):
            running.enter_context(daemon)
        populator = running.enter_context(
            chart_pod.Populator(csi_socket, f"{CEPH_DIR}/clusters.json", folder, "bench", log_level="info"))
        rest_mib = memory.at_rest(populator.wait_ready())
        queued_mib = memory.queued(populator, server)
        claims.prepare(server.url("/golden.qcow2"))
        volumes = running.enter_context(Volumes())
        measurement = Measurement(cluster, claims.ways(Api()), volumes,
                                  QUICK_ONE_BY_ONE if arguments.quick else ONE_BY_ONE)
        measurement.run(arguments.rounds)
        memories = bare_client_mib(), rest_mib, queued_mib, memory.at_rest(populator)
    rows = outcome.rows_of(measurement.samples, *memories)
    if arguments.json:
        print(json.dumps({"rows": [dataclasses.asdict(row) for row in rows], "samples": measurement.samples},
                         indent=1))
    else:
        outcome.print_rows(rows)
    return 1 if any(row.verdict == "missed" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
