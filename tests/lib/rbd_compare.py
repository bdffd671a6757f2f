# SPDX-License-Identifier: Apache-2.0
"""An RBD image beside the file that it should be."""

import os

STEP = 4 << 20


def same_as_file(cluster, pool, name, path):
    """Whether an image begins with what is in the file, and has only zeros behind it."""
    with cluster.image(pool, name, read_only=True) as image, open(path, "rb") as file:
        size = image.size()
        if size < os.path.getsize(path):
            return False
        for offset in range(0, size, STEP):
            length = min(STEP, size - offset)
            if image.read(offset, length) != file.read(length).ljust(length, b"\0"):
                return False
    return True


def data_bytes(cluster, pool, name):
    """How much of it is allocated, in whole objects."""
    extents = []
    with cluster.image(pool, name, read_only=True) as image:
        image.diff_iterate(0, image.size(), None, lambda offset, length, exists: extents.append(length))
    return sum(extents)
