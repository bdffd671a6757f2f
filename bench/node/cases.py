# SPDX-License-Identifier: Apache-2.0
"""What is measured, and what is to be reached.

Staging: from the call until the first byte has been read from a disk, or a file written to a filesystem that was made
on the way; the floor is the same by hand, without checks or records. Rates: fio on a device that the plugin has
published; the floor is fio on the same device made by hand, and beside it stands librbd, fio's own rbd engine, without
any device. A plugin that only makes the device must not be felt in a rate: that is the goal."""

import contextlib
import json
import os
import time

import by_hand
import volumes
from machines import POOL, image_name, staged
from volumes import MIB

SIZE = 128 * MIB
DEPTH = 16
# name, how fio calls it, bytes a request
RATES = (("4k random read", "randread", 4096), ("4k random write", "randwrite", 4096),
         ("1M read", "read", MIB), ("1M write", "write", MIB))

STAGE_AT_MOST = 2.0    # times the floor
RATE_AT_LEAST = 0.8    # of the device made by hand
FUSE_AT_LEAST = 0.25   # of librbd: each request goes through the loop device, FUSE and a second process


class Case:
    """unit: "ms", where less is better, or "MiB/s", where more is."""

    def __init__(self, name, unit, ways, at_most=None, at_least=None, librbd_at_least=None):
        self.name, self.unit, self.ways = name, unit, ways
        self.at_most, self.at_least, self.librbd_at_least = at_most, at_least, librbd_at_least


class Plan:

    def __init__(self, cluster, control, machine, mapper, seconds):
        self.cluster, self.control, self.machine, self.mapper = cluster, control, machine, mapper
        self.seconds = seconds
        self.count = 0
        self.filled = None

    def create(self):
        self.count += 1
        name = f"bench-{self.mapper}-{self.count}"
        return name, volumes.create(self.control, name, SIZE, parameters=volumes.parameters(mapper=self.mapper))

    @contextlib.contextmanager
    def volume(self):
        name, made = self.create()
        try:
            yield name, made
        finally:
            volumes.patiently(lambda: self.control.DeleteVolume(volume_id=made.volume_id),
                              passing=volumes.PASSING | {volumes.CODES.FAILED_PRECONDITION})

    def filled_volume(self):
        """One for all rates, which take turns on it. What was never written would be read from nowhere, too fast."""
        if not self.filled:
            self.filled = self.create()
            with self.cluster.volume(self.filled[1].volume_id) as image:
                for at in range(0, SIZE, 4 * MIB):
                    image.write(os.urandom(4 * MIB), at)
        return self.filled

    def warm_up(self):
        """A plugin that has been running for a while is connected to the cluster."""
        self.stage_ours(None)

    # ---- staging

    def stage_ours(self, fs_type):
        with self.volume() as (_, made):
            volume = staged(self.machine, made, fs_type)
            target = self.machine.node.target("pod")
            start = time.monotonic()
            volume.stage()
            volume.publish()
            self.machine.sh(f"echo usable >{target}/file" if fs_type else
                            f"dd if={target} of=/dev/null bs=4096 count=1 2>/dev/null")
            took = time.monotonic() - start
            volume.leave()
        return took * 1000

    def stage_by_hand(self, fs_type):
        with self.volume() as (name, _):
            attach, detach = by_hand.MAPPERS[self.mapper](self.machine, name)
            place = f"{self.machine.work}/mounted"
            use = (f"mkfs.{fs_type} -q $device && mkdir -p {place} && mount -t {fs_type} $device {place} && "
                   f"echo usable >{place}/file\n" if fs_type else
                   "dd if=$device of=/dev/null bs=4096 count=1 2>/dev/null\n")
            clock = "cut -d' ' -f1 /proc/uptime\n"
            said = self.machine.sh(clock + attach + use + clock + (f"umount {place}\n" if fs_type else "") + detach)
        first, last = [float(line) for line in said.split() if line.replace(".", "", 1).isdigit()][:2]
        return (last - first) * 1000

    # ---- rates

    def fio(self, kind, size, engine, before="", behind=""):
        words = (f"fio --name=rate --rw={kind} --bs={size} --iodepth={DEPTH} --runtime={self.seconds} --time_based "
                 f"--size={SIZE} --direct=1 --output-format=json --randrepeat=1 {engine} 2>/dev/null")
        said = self.machine.sh(before + words + "\n" + behind)
        job = json.loads(said[said.index("{"):said.rindex("}") + 1])["jobs"][0]
        return job["write" if "write" in kind else "read"]["bw_bytes"] / MIB

    def rate_ours(self, kind, size):
        _, made = self.filled_volume()
        with staged(self.machine, made) as volume:
            return self.fio(kind, size, f"--ioengine=libaio --filename={volume.publish()}")

    def rate_by_hand(self, kind, size):
        name, _ = self.filled_volume()
        attach, detach = by_hand.MAPPERS[self.mapper](self.machine, name)
        return self.fio(kind, size, "--ioengine=libaio --filename=$device", attach, detach)

    def rate_librbd(self, kind, size):
        name, _ = self.filled_volume()
        engine = f"--ioengine=rbd --clientname=imprint --pool={POOL} --rbdname={image_name(name)}"
        return self.fio(kind, size, engine, f"export CEPH_CONF={self.machine.conf}\n")

    def cases(self):
        for fs_type in (None, "ext4"):
            yield Case(f"{self.mapper}: stage {fs_type or 'disk'}", "ms", {
                "ours": lambda fs_type=fs_type: self.stage_ours(fs_type),
                "by hand": lambda fs_type=fs_type: self.stage_by_hand(fs_type)}, at_most=STAGE_AT_MOST)
        for name, kind, size in RATES:
            yield Case(f"{self.mapper}: {name}", "MiB/s", {
                "ours": lambda kind=kind, size=size: self.rate_ours(kind, size),
                "by hand": lambda kind=kind, size=size: self.rate_by_hand(kind, size),
                "librbd": lambda kind=kind, size=size: self.rate_librbd(kind, size)},
                       at_least=RATE_AT_LEAST,
                       librbd_at_least=FUSE_AT_LEAST if self.mapper == "fuse" else None)
