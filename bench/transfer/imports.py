# SPDX-License-Identifier: Apache-2.0
"""The cases of `./dev bench import`."""

import os
import subprocess

from cases import Case, Way
from images import REPOSITORY
from runs import evict, measure, measure_cdi, measure_floor

OURS, QEMU, RBD, CDI, NARROW = "ours", "qemu-img", "rbd import", "CDI", "10 GiB"
PEERS = (QEMU, RBD, CDI, NARROW)
FLOOR_AT_MOST = 1.5
QEMU_OPTIONS = ("-m", "16", "-W")  # its fastest


class Imports:
    """Commands on one cluster and one folder of images. Every run has a new RBD image, which is removed behind it,
    and finds its source on disk, not in the page cache."""

    def __init__(self, place, images, server):
        self.place = place
        self.images = images
        self.server = server

    def into(self, name, source, function):
        evict(source)
        try:
            return function()
        finally:
            self.place.remove(name)

    def ours(self, source, url, check=None):
        command = [self.place.imprint, "import", url, f"{self.place.pool}/ours", f"--conf={self.place.conf}",
                   "--allow-local-addresses", "--insecure-registry"]

        def run():
            sample, _ = measure(command)
            if check:
                check("ours")
            return sample

        return lambda: self.into("ours", source, run)

    def qemu(self, source):
        target = f"rbd:{self.place.pool}/qemu:conf={self.place.conf}"
        command = ["qemu-img", "convert", *QEMU_OPTIONS, "-O", "raw", source, target]
        return Way(QEMU, lambda: self.into("qemu", source, lambda: measure(command)[0]))

    def rbd(self, source):
        command = ["rbd", "-c", self.place.conf, "import", "--no-progress", source, f"{self.place.pool}/rbd"]
        return Way(RBD, lambda: self.into("rbd", source, lambda: measure(command)[0]))

    def cdi(self, source):
        def run():
            evict(source)
            return measure_cdi([f"{self.place.peers}/cdi-import.sh", source], {"WORK": self.place.scratch("cdi")})

        return (Way(CDI, run),) if self.place.has_cdi else ()

    def write_floor(self):
        command = [self.place.floor, "write", self.place.conf, self.images.raw, self.place.pool, "floor"]

        def run():
            try:
                return measure_floor(command)
            finally:
                self.place.remove("floor")

        return Way("bare rbd_aio_write", run)

    def inflate_floor(self, source):
        return Way("bare inflate", lambda: measure_floor([self.place.floor, "inflate", source]))

    def fetch_floor(self, source, url):
        def run():
            evict(source)
            return measure(["curl", "-sSf", "-o", "/dev/null", url])[0]

        return Way("bare fetch", run)

    def check_same(self, name):
        """The RBD image holds what the disk holds."""
        image = f"rbd:{self.place.pool}/{name}:conf={self.place.conf}"
        subprocess.run(["qemu-img", "compare", "-f", "raw", "-F", "raw", self.images.raw, image], check=True,
                       stdout=subprocess.DEVNULL)

    def file_case(self, name, file, **more):
        """A file of the folder, by HTTP."""
        source, url = self.images.path(file), self.server.url(file)
        return self.case(name, source, url, **more)

    def case(self, name, source, url, peers=(), floors=(), **more):
        return Case(name, Way(OURS, self.ours(source, url)), tuple(peers), (self.write_floor(), *floors),
                    floor_at_most=FLOOR_AT_MOST, check=self.ours(source, url, self.check_same), **more)

    def wide_case(self):
        """The same data, spread over a thousand times the disk."""
        def way(who, name):
            return Way(who, self.ours(self.images.path(name), self.server.url(name)))

        return Case("10 TiB virtual, 1 GiB of data", way(OURS, "wide.qcow2"), (way(NARROW, "narrow.qcow2"),),
                    at_most={NARROW: 1.2})

    def cases(self):
        def path(name):
            return self.images.path(name)

        layer = os.path.realpath(self.images.layer())
        return (
            self.file_case("zlib qcow2", "zlib.qcow2", peers=(self.qemu(path("zlib.qcow2")), *self.cdi(path("zlib.qcow2"))),
                           at_least={QEMU: 4, CDI: 2.5}),
            self.file_case("zstd qcow2", "zstd.qcow2", peers=(self.qemu(path("zstd.qcow2")),)),
            self.case("plain qcow2, local file", path("plain.qcow2"), path("plain.qcow2"),
                      peers=(self.qemu(path("plain.qcow2")),), at_least={QEMU: 1.5}),
            self.file_case("plain qcow2 by HTTP", "plain.qcow2", peers=(self.qemu(path("plain.qcow2")),),
                           at_least={QEMU: 1.5}),
            self.case("raw, local file", self.images.raw, self.images.raw, peers=(self.rbd(self.images.raw),),
                      at_least={RBD: 4}),
            self.file_case("raw, 10 GiB by HTTP", "disk.raw",
                           floors=(self.fetch_floor(self.images.raw, self.server.url("disk.raw")),)),
            self.file_case("raw.gz", "disk.raw.gz", floors=(self.inflate_floor(path("disk.raw.gz")),)),
            self.case("container layer, gzip", layer, self.server.reference(REPOSITORY),
                      floors=(self.inflate_floor(layer),)),
            self.wide_case(),
        )
