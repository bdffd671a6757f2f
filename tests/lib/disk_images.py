# SPDX-License-Identifier: Apache-2.0
"""Image files of every kind that qemu-img makes, and what they are wrapped in.

    path = make("cluster 512", disk, tmp_path / "image")      one of KINDS
    path = wrap("tar.gz", path)                                one of WRAPPERS
"""

import gzip
import os
import shutil
import subprocess
import tarfile

from images import MIB, qemu_img, qemu_io

SIZES = ["512", "1k", "2k", "4k", "8k", "16k", "32k", "64k", "128k", "256k", "512k", "1M", "2M"]


def converted(options="", *flags):

    def make_it(disk, path):
        words = ["-o", options] if options else []
        qemu_img("convert", *flags, "-f", "raw", "-O", "qcow2", *words, disk, path)

    return make_it


def written(options, *commands, size=24 * MIB):
    """Made empty, and written to in some order."""

    def make_it(_, path):
        words = ["-o", options] if options else []
        qemu_img("create", "-f", "qcow2", *words, path, size)
        for command in commands:
            if isinstance(command, tuple):
                qemu_img(*(path if word is None else word for word in command))
            else:
                qemu_io(path, command)

    return make_it


def dirty(_, path):
    """By a writer with lazy refcounts that was killed."""
    qemu_img("create", "-f", "qcow2", "-o", "lazy_refcounts=on", path, 24 * MIB)
    subprocess.run(["qemu-io", "-c", "write -P 3 5M 9M", "-c", "flush", "-c", "sigraise 9", str(path)],
                   check=False, capture_output=True)
    with open(path, "rb") as file:
        file.seek(79)
        assert file.read(1) == b"\1", "the file is not dirty"


def raw(disk, path):
    subprocess.run(["cp", "--sparse=always", str(disk), str(path)], check=True)


KINDS = {
    "raw": raw,
    "v2": converted("compat=0.10"),
    "v2 zlib": converted("compat=0.10", "-c"),
    "v3": converted("compat=1.1"),
    **{f"cluster {size}": converted(f"cluster_size={size}") for size in SIZES},
    **{f"zlib {size}": converted(f"cluster_size={size}", "-c") for size in SIZES},
    **{f"zstd {size}": converted(f"cluster_size={size},compression_type=zstd", "-c")
       for size in SIZES},
    "zlib out of order": converted("", "-c", "-m", "16", "-W"),
    "extended l2": converted("extended_l2=on"),
    "extended l2 16k": converted("extended_l2=on,cluster_size=16k"),
    "extended l2 2M": converted("extended_l2=on,cluster_size=2M"),
    "extended l2 zstd": converted("extended_l2=on,compression_type=zstd", "-c"),
    "extended l2 written": written("extended_l2=on", "write -P 1 0 70k", "write -P 2 1M 2k",
                                   "write -z 4k 8k", "discard 1M 1M", "write -P 3 22M 2M"),
    "preallocated metadata": converted("preallocation=metadata"),
    "preallocated falloc": converted("preallocation=falloc"),
    "preallocated full": converted("preallocation=full"),
    "lazy refcounts": converted("lazy_refcounts=on"),
    "refcounts of 1 bit": converted("refcount_bits=1"),
    "refcounts of 64 bits": converted("refcount_bits=64"),
    "internal snapshots": written("", "write -P 1 1M 3M", ("snapshot", "-c", "one", None),
                                  "write -P 2 2M 5M", ("snapshot", "-c", "two", None),
                                  "write -P 3 3M 1M", "discard 6M 1M"),
    "dirty": dirty,
    "written backwards": written("", "write -P 1 20M 3M", "write -P 2 10M 3M", "write -P 3 0 3M",
                                 "write -z 1M 1M", "write -c -P 4 6M 128k"),
    "resized": written("cluster_size=512", "write -P 1 900k 70k", ("resize", None, "40M"),
                       "write -P 7 39M 700k", size=MIB),
    "empty": written("", size=24 * MIB),
}


def make(kind, disk, path):
    KINDS[kind](disk, path)
    return path


def qemus_reading(path, kind, expected):
    """What qemu-img reads of it, as a raw file."""
    if kind == "dirty":  # which it would repair first, in the file
        shutil.copyfile(path, f"{expected}.copy")
        path = f"{expected}.copy"
    qemu_img("convert", "-f", "raw" if kind == "raw" else "qcow2", "-O", "raw", path, expected)
    return expected


def _packed(command):

    def pack(path, target):
        with open(target, "wb") as out:
            subprocess.run([*command, str(path)], stdout=out, check=True)

    return pack


def _gzip(path, target):
    with open(path, "rb") as file, gzip.open(target, "wb", compresslevel=1) as out:
        shutil.copyfileobj(file, out, MIB)


def _tar(mode):

    def pack(path, target):
        with tarfile.open(target, mode) as archive:
            archive.add(path, arcname="disk/image.img")

    return pack


def _tar_zst(path, target):
    _tar("w")(path, f"{path}.tar")
    subprocess.run(["zstd", "-q", "--rm", f"{path}.tar", "-o", str(target)], check=True)


WRAPPERS = {
    "gz": _gzip,
    "xz": _packed(["xz", "-1", "-c"]),
    "zst": _packed(["zstd", "-q", "-c"]),
    "tar": _tar("w"),
    "tar.gz": _tar("w:gz"),
    "tar.xz": _tar("w:xz"),
    "tar.zst": _tar_zst,
}


def wrap(wrapper, path):
    """The wrapped file beside it, in place of it; "" wraps nothing."""
    if not wrapper:
        return path
    target = f"{path}.{wrapper}"
    WRAPPERS[wrapper](path, target)
    os.unlink(path)
    return target
