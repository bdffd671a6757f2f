# SPDX-License-Identifier: Apache-2.0
"""The disk that is transferred, in all its forms: 10 GiB, an ext4 with about 1.6 GiB of this machine's /usr in it.

    python3 images.py FOLDER

makes what is missing in FOLDER and leaves the rest as it is. A file appears under its name when it is complete."""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys

DISK_BYTES = 10 << 30
FILES_BYTES = int(1.6 * (1 << 30))
FILE_MAX_BYTES = 64 << 20  # a single large file would say little
WIDE_PIECES, WIDE_PIECE_BYTES = 256, 4 << 20  # 1 GiB of data
WIDE_SIZES = {"narrow.qcow2": 10 << 30, "wide.qcow2": 10 << 40}
REPOSITORY = "bench/disk"  # of the container image
SPACE_BYTES = 16 << 30  # while all are made


def run(*command):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


class Images:
    """The files of a folder by their names, without ending: raw, plain, zlib, zstd, raw_gz, narrow, wide."""

    def __init__(self, folder):
        self.folder = str(folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    raw = property(lambda self: self.path("disk.raw"))

    def blob(self, digest):
        return self.path(f"v2/{REPOSITORY}/blobs/{digest}")

    def layer(self):
        """The path of the container image's one layer."""
        with open(self.path(f"v2/{REPOSITORY}/manifests/latest"), encoding="utf-8") as manifest:
            return self.blob(json.load(manifest)["layers"][0]["digest"])

    @contextlib.contextmanager
    def making(self, name):
        """A path to write to, which gets its name at the end; None when it is there already."""
        if os.path.exists(self.path(name)):
            yield None
            return
        print(f"make {name}", flush=True)
        part = self.path(name) + ".part"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        yield part
        os.rename(part, self.path(name))


def choose_files(root):
    """Paths of files, by chance that is the same every time, until there are enough bytes."""
    found = [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names]
    total = 0
    for path in sorted(found, key=lambda path: hashlib.sha256(path.encode(errors="replace")).digest()):
        if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) > FILE_MAX_BYTES:
            continue
        total += os.path.getsize(path)
        yield path
        if total >= FILES_BYTES:
            return
    raise SystemExit(f"{root} has only {total >> 20} MiB of files, {FILES_BYTES >> 20} are needed")


def make_raw(images):
    with images.making("disk.raw") as part:
        if not part:
            return
        files = images.path("files")
        shutil.rmtree(files, ignore_errors=True)
        for path in choose_files("/usr"):
            copy = files + path
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copyfile(path, copy)
        with open(part, "wb") as disk:
            disk.truncate(DISK_BYTES)
        run("mke2fs", "-q", "-t", "ext4", "-d", files, part)
        shutil.rmtree(files)


def make_qcow2(images):
    for name, options in (("plain", ()), ("zlib", ("-c", "-o", "compression_type=zlib")),
                          ("zstd", ("-c", "-o", "compression_type=zstd"))):
        with images.making(f"{name}.qcow2") as part:
            if part:
                run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", *options, images.raw, part)


def make_gzip(images):
    with images.making("disk.raw.gz") as part:
        if part:
            with open(part, "wb") as packed:
                subprocess.run(["gzip", "-c", images.raw], stdout=packed, check=True)


def sha256_of(path):
    with open(path, "rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def put_blob(images, path):
    """Moves a file to where a registry has it; what a manifest says of it."""
    digest, size = sha256_of(path), os.path.getsize(path)
    os.rename(path, images.blob(digest))
    return {"digest": digest, "size": size}


def make_layer(images, part):
    """The plain qcow2 in a layer, packed; returns the digest of what is in it."""
    folder = images.path("layer")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(f"{folder}/disk")
    os.link(images.path("plain.qcow2"), f"{folder}/disk/disk.qcow2")
    with open(part, "wb") as packed:
        subprocess.run(f"tar -C {folder} -c --owner=107 --group=107 disk/disk.qcow2 | gzip -c", shell=True,
                       stdout=packed, check=True)
    shutil.rmtree(folder)
    unpacked = subprocess.run(f"gzip -dc {part} | sha256sum", shell=True, check=True, capture_output=True, text=True)
    return "sha256:" + unpacked.stdout.split()[0]


def make_container(images):
    """A container disk, as a registry serves it: the blobs, and last the manifest."""
    os.makedirs(images.path(f"v2/{REPOSITORY}/blobs"), exist_ok=True)
    os.makedirs(images.path(f"v2/{REPOSITORY}/manifests"), exist_ok=True)
    with images.making(f"v2/{REPOSITORY}/manifests/latest") as part:
        if not part:
            return
        layer, config = images.path("layer.part"), images.path("config.part")
        diff_id = make_layer(images, layer)
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"architecture": "amd64", "os": "linux", "config": {},
                       "rootfs": {"type": "layers", "diff_ids": [diff_id]}}, file)
        manifest = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **put_blob(images, config)},
            "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", **put_blob(images, layer)}],
        }
        with open(part, "w", encoding="utf-8") as file:
            json.dump(manifest, file)


def pieces(images):
    """Pieces of the disk that are no zeros."""
    zeros = bytes(WIDE_PIECE_BYTES)
    with open(images.raw, "rb") as disk:
        for _ in range(WIDE_PIECES):
            piece = zeros
            while piece == zeros:
                piece = disk.read(WIDE_PIECE_BYTES)
                if not piece:
                    raise SystemExit(f"{images.raw} has less than {WIDE_PIECES * WIDE_PIECE_BYTES >> 20} MiB in it")
            yield piece


def make_wide(images):
    """The same pieces of data, evenly far from each other, on disks of different size."""
    for name, size in WIDE_SIZES.items():
        with images.making(name) as part:
            if not part:
                continue
            sparse = images.path("sparse.part")
            with open(sparse, "wb") as disk:
                disk.truncate(size)
                for i, piece in enumerate(pieces(images)):
                    disk.seek(i * (size // WIDE_PIECES))
                    disk.write(piece)
            run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", "-c", sparse, part)
            os.unlink(sparse)


def main():
    images = Images(sys.argv[1])
    os.makedirs(images.folder, exist_ok=True)
    with open(images.path(".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(images.path("complete")) and shutil.disk_usage(images.folder).free < SPACE_BYTES:
            raise SystemExit(f"{images.folder} needs {SPACE_BYTES >> 30} GiB of room")
        for make in (make_raw, make_qcow2, make_gzip, make_container, make_wide):
            make(images)
        with open(images.path("complete"), "w", encoding="ascii"):
            pass


if __name__ == "__main__":
    main()
