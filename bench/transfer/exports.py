# SPDX-License-Identifier: Apache-2.0
"""The cases of `./dev bench export`."""

import dataclasses
import os
import subprocess

from cases import Case, Way
from runs import measure, measure_floor

OURS, QEMU, RBD = "ours", "qemu-img", "rbd export"
PEERS = (QEMU, RBD)
IMAGE = "source"
QEMU_OPTIONS = ("-m", "16", "-W")  # its fastest


class Exports:
    """Commands that bring one RBD image into a file, which is removed behind each."""

    def __init__(self, place, images):
        self.place = place
        self.images = images

    def prepare(self):
        """The image, as `rbd import` makes it."""
        subprocess.run(["rbd", "-c", self.place.conf, "import", "--no-progress", self.images.raw,
                        f"{self.place.pool}/{IMAGE}"], check=True)

    def out_of(self, command, file, check=None):
        try:
            sample, _ = measure(command)
            if check:
                check(file)
            return dataclasses.replace(sample, bytes_out=os.stat(file).st_blocks * 512)
        finally:
            os.unlink(file)

    def ours(self, options, check=None):
        file = self.place.scratch("ours.img")
        command = [self.place.imprint, "export", f"{self.place.pool}/{IMAGE}", file, f"--conf={self.place.conf}", *options]
        return lambda: self.out_of(command, file, check)

    def qemu(self, *options):
        file = self.place.scratch("qemu.img")
        source = f"rbd:{self.place.pool}/{IMAGE}:conf={self.place.conf}"
        command = ["qemu-img", "convert", *QEMU_OPTIONS, "-f", "raw", *options, source, file]
        return Way(QEMU, lambda: self.out_of(command, file))

    def rbd(self):
        file = self.place.scratch("rbd.img")
        command = ["rbd", "-c", self.place.conf, "export", "--no-progress", f"{self.place.pool}/{IMAGE}", file]
        return Way(RBD, lambda: self.out_of(command, file))

    def read_floor(self):
        command = [self.place.floor, "read", self.place.conf, self.images.raw, self.place.pool, IMAGE]
        return Way("bare rbd_aio_read", lambda: measure_floor(command))

    def check_same(self, file):
        subprocess.run(["qemu-img", "compare", "-F", "raw", file, self.images.raw], check=True,
                       stdout=subprocess.DEVNULL)

    def case(self, name, options, peers, **more):
        return Case(name, Way(OURS, self.ours(options)), tuple(peers), (self.read_floor(),),
                    check=self.ours(options, self.check_same), **more)

    def cases(self):
        def zipped(kind):
            return self.qemu("-c", "-O", "qcow2", "-o", f"compression_type={kind}")

        return (
            self.case("zlib qcow2", ("--compress=zlib",), (zipped("zlib"),), at_least={QEMU: 2}),
            self.case("zstd qcow2", ("--compress=zstd",), (zipped("zstd"),)),
            self.case("plain qcow2", ("--compress=none",), (self.qemu("-O", "qcow2"),)),
            self.case("raw", ("--format=raw",), (self.qemu("-O", "raw"), self.rbd())),
        )
