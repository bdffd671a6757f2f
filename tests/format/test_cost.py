# SPDX-License-Identifier: Apache-2.0
"""Memory and time follow what a file holds, not what it says."""

import os
import struct

import pytest

from images import GIB, KIB, MIB, TIB, qemu_img, qemu_io, read

CLUSTER = 64 * KIB
TABLE = CLUSTER // 8


def own_memory(said, image):
    """Of the process, without the pages of the file that it has mapped."""
    return said["max_rss_kb"] * KIB - min(os.path.getsize(image), os.stat(image).st_blocks * 512)


def scattered(path, size):
    """A file in which every cluster of the disk is allocated, each far from its neighbours; the
    data itself is holes, so that the file takes little."""
    clusters = size // CLUSTER
    tables = clusters // TABLE
    front = 4 + tables
    l1 = [CLUSTER * (4 + i) | 1 << 63 for i in range(tables)]
    assert len(l1) * 8 <= CLUSTER
    step = 1000003  # shares no factor with the number of clusters
    with open(path, "wb") as file:
        file.write(struct.pack(">IIQIIQIIQQIIQ", 0x514649FB, 3, 0, 0, 16, size, 0, tables,
                               3 * CLUSTER, CLUSTER, 1, 0, 0))
        file.write(struct.pack(">QQQII", 0, 0, 0, 4, 112))
        file.seek(3 * CLUSTER)
        file.write(struct.pack(f">{tables}Q", *l1))
        for table in range(tables):
            file.seek(CLUSTER * (4 + table))
            file.write(struct.pack(f">{TABLE}Q", *(
                CLUSTER * (front + (table * TABLE + i) * step % clusters) | 1 << 63
                for i in range(TABLE))))
        file.truncate((front + clusters) * CLUSTER)
    return path


def test_a_map_of_100_gib_takes_little_memory(tmp_path):
    """1.6 million clusters in no order: no two of them can be put together."""
    image = scattered(tmp_path / "image", 100 * GIB)
    empty = tmp_path / "empty"
    qemu_img("create", "-f", "qcow2", empty, "1M")
    idle = read(["map"], empty, tmp_path / "out", "--passes", "0")["max_rss_kb"] * KIB
    said = read(["map"], image, tmp_path / "out", "--passes", "0")
    assert said["allocated"] == 100 * GIB
    if os.environ.get("PRESET") != "asan":  # which keeps what is freed
        assert own_memory(said, image) - idle < 40 * MIB


def test_ten_tebibytes_with_little_in_them(tmp_path):
    """Costs what the same data costs on a small disk."""
    costs = {}
    for size in (20 * GIB, 10 * TIB):
        image = tmp_path / f"image-{size}"
        qemu_img("create", "-f", "qcow2", image, size)
        step = size // 64
        for part in range(0, 64, 8):
            qemu_io(image, *(f"write -P 1 {(part + i) * step} 1M" for i in range(8)))
        said = read(["map"], image, tmp_path / "out", "--passes", "0")
        assert said["allocated"] == 64 * MIB
        costs[size] = said
        streamed = read(["stream"], image, tmp_path / "out")
        assert streamed["made"] == 64 * MIB
        assert os.stat(tmp_path / "out").st_blocks * 512 < 80 * MIB
    small, large = costs.values()
    assert large["max_rss_kb"] < small["max_rss_kb"] + 10 * KIB
    assert large["milliseconds"] < small["milliseconds"] + 2000


@pytest.mark.parametrize("size, cluster", [(2 * TIB, 512), (64 * TIB * 1024, CLUSTER)])
def test_tables_that_are_only_claimed(tmp_path, size, cluster):
    """A header that asks for large tables in a small file."""
    path = tmp_path / "image"
    bits = cluster.bit_length() - 1
    entries = size // (cluster * cluster // 8)
    with open(path, "wb") as file:
        file.write(struct.pack(">IIQIIQIIQQIIQ", 0x514649FB, 3, 0, 0, bits, size, 0,
                               min(entries, 2**32 - 1), 3 * cluster, cluster, 1, 0, 0))
        file.write(struct.pack(">QQQII", 0, 0, 0, 4, 112))
        file.truncate(16 * cluster)
    for reader in (["map"], ["stream"]):
        with pytest.raises(Exception, match="L1 table is too large|outside|ends"):
            read(reader, path, tmp_path / "out")
