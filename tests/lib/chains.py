# SPDX-License-Identifier: Apache-2.0
"""Chains of clones that the driver has not seen growing, short of its limits or above them."""

import rbd

import volumes

DEPTH_SOFT = 8
DEPTH_HARD = 15


def depth_of(cluster, handle):
    """How many ancestors a volume has. All lie in the same pool, some of them in its trash."""
    depth = 0
    while True:
        try:
            with cluster.volume(handle, read_only=True) as image:
                parent_id = image.parent_id()
        except rbd.ImageNotFound:
            return depth
        depth += 1
        handle = f"{handle.rpartition(':')[0]}:{parent_id}"


def is_flat(cluster, handle):
    """Whether a volume stands alone, and nobody has anything left to do about it."""
    with cluster.volume(handle, read_only=True) as image:
        return image.overlap() == 0 and "imprint.flattening" not in dict(image.metadata_list())


def lock_owner(cluster, handle):
    """The client that has the volume's exclusive lock, as who copies it has."""
    with cluster.volume(handle, read_only=True) as image:
        lockers = image.list_lockers()
    return lockers["lockers"][0][0] if lockers else None


def make(cluster, origin, length):
    """Handles, the first is `origin`."""
    cluster.rados.conf_set("rbd_default_clone_format", "2")
    handles = [origin]
    pool_id = origin.split(":")[2]
    with cluster.ioctx(volumes.POOL) as ioctx:
        for number in range(length):
            name = f"imprint.v.hand-{number:02}"
            with cluster.volume(handles[-1]) as parent:
                parent.create_snap("by-hand")
                parent_name = parent.get_name()
            rbd.RBD().clone(ioctx, parent_name, "by-hand", ioctx, name)
            with rbd.Image(ioctx, name) as image:
                image_id = image.id()
                for key, value in (
                    ("imprint.ready", image_id),
                    ("imprint.name", f"hand-{number:02}"),
                ):
                    image.metadata_set(key, value)
            with cluster.volume(handles[-1]) as parent:
                parent.remove_snap("by-hand")
            handles.append(f"1:{volumes.CLUSTER_ID}:{pool_id}::{image_id}")
    return handles


SLOW_BYTES = 8 << 20


def make_slow(cluster, client, length):
    """A chain whose clones, of SLOW_BYTES, are flattened slowly: full, of small objects, copied one by
    one. Its handles, and what each of them reads."""
    given = volumes.parameters(objectSize="16Ki")
    origin = volumes.create(client, "origin", SLOW_BYTES, parameters=given).volume_id
    data = volumes.bytes_of("full", SLOW_BYTES)
    with cluster.volume(origin) as image:
        image.write(data, 0)
    handles = make(cluster, origin, length)
    with cluster.volume(handles[-1]) as image:  # its clones have it, too
        image.metadata_set("conf_rbd_concurrent_management_ops", "1")
    return handles, data
