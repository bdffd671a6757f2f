# SPDX-License-Identifier: Apache-2.0
"""Container images made by hand, with everything that skopeo and buildah do not make on demand:
layers with any entries and any compression, indexes, OCI layouts to push from."""

import gzip
import hashlib
import io
import json
import os
import random
import subprocess
import tarfile

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
SUFFIX = {"none": "", "gzip": "+gzip", "zstd": "+zstd", "zstd frames": "+zstd", "xz": "+xz"}
FRAME = 2 << 20


def make_disk(seed, size):
    """Bytes that compress to about a half."""
    source = random.Random(seed)
    pieces = []
    while size > 0:
        is_random = source.random() < 0.5
        piece = source.randbytes(4096) if is_random else bytes([source.randrange(256)]) * 4096
        pieces.append(piece[:size])
        size -= len(pieces[-1])
    return b"".join(pieces)


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def tar(*entries, format=tarfile.PAX_FORMAT):
    """An archive. An entry is (path, bytes) for a file, (path, None) for a directory, (path, "->x")
    for a symbolic link, (path, "=>x") for a hard link."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as archive:
        for path, content in entries:
            entry = tarfile.TarInfo(path)
            entry.uid = entry.gid = 107
            if content is None:
                entry.type = tarfile.DIRTYPE
            elif isinstance(content, str):
                entry.type = tarfile.SYMTYPE if content.startswith("->") else tarfile.LNKTYPE
                entry.linkname = content[2:]
            else:
                entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content) if isinstance(content, bytes) else None)
    return out.getvalue()


def compress(data, kind):
    if kind == "gzip":
        return gzip.compress(data, compresslevel=1, mtime=0)
    if kind == "zstd":
        return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE,
                              check=True).stdout
    if kind == "xz":
        return subprocess.run(["xz", "-1", "-c", "--block-size=500KiB"], input=data,
                              stdout=subprocess.PIPE, check=True).stdout
    if kind == "zstd frames":
        return b"".join(compress(data[at:at + FRAME], "zstd") for at in range(0, len(data), FRAME))
    return data


def descriptor(media_type, data, **more):
    return {"mediaType": media_type, "digest": digest(data), "size": len(data), **more}


class Image:
    """An image of archives, the lowest layer first; `blobs` holds everything by digest. `said`: the
    compression that the layers' type tells, where that is another one."""

    def __init__(self, *archives, compression="gzip", architecture="amd64", env=(), said=None):
        self.blobs = {}
        layers = [compress(archive, compression) for archive in archives]
        config = json.dumps({
            "architecture": architecture,
            "os": "linux",
            "config": {"Env": list(env)},
            "rootfs": {"type": "layers", "diff_ids": [digest(archive) for archive in archives]},
            "history": [{"created_by": "a test"} for _ in archives],
        }).encode()
        self.manifest = json.dumps({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": descriptor(CONFIG, config),
            "layers": [descriptor(LAYER + SUFFIX[said or compression], layer) for layer in layers],
        }).encode()
        self.architecture = architecture
        self.layers = layers
        self.config = config
        for blob in (*layers, config, self.manifest):
            self.blobs[digest(blob)] = blob

    @property
    def digest(self):
        return digest(self.manifest)


def index(*images, variant=None):
    """An index of images by platform, as bytes. What is for no platform at all (attestations, as docker
    pushes them) is an image for "unknown"."""
    def os_of(image):
        return "unknown" if image.architecture == "unknown" else "linux"

    return json.dumps({
        "schemaVersion": 2,
        "mediaType": INDEX,
        "manifests": [
            descriptor(MANIFEST, image.manifest,
                       platform={"os": os_of(image), "architecture": image.architecture,
                                 **({"variant": variant} if variant else {})})
            for image in images
        ],
    }).encode()


def layout(folder, *images, name="latest", combined=None):
    """Writes an OCI layout, for `skopeo copy oci:FOLDER:NAME …`. `combined` is an index of the images
    that stands for all of them."""
    blobs = os.path.join(folder, "blobs", "sha256")
    os.makedirs(blobs, exist_ok=True)
    top = []
    for image in images:
        for key, blob in image.blobs.items():
            with open(os.path.join(blobs, key.partition(":")[2]), "wb") as file:
                file.write(blob)
        top.append(descriptor(MANIFEST, image.manifest))
    if combined:
        with open(os.path.join(blobs, digest(combined).partition(":")[2]), "wb") as file:
            file.write(combined)
        top = [descriptor(INDEX, combined)]
    for entry in top:
        entry["annotations"] = {"org.opencontainers.image.ref.name": name}
    with open(os.path.join(folder, "oci-layout"), "w", encoding="ascii") as file:
        file.write('{"imageLayoutVersion": "1.0.0"}')
    with open(os.path.join(folder, "index.json"), "w", encoding="ascii") as file:
        json.dump({"schemaVersion": 2, "manifests": top}, file)
    return str(folder)


def archive(path, folder):
    """An archive of a layout."""
    with tarfile.open(path, "w") as out:
        for name in ("oci-layout", "index.json", "blobs"):
            out.add(os.path.join(folder, name), name)
    return str(path)
