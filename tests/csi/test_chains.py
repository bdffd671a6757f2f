# SPDX-License-Identifier: Apache-2.0
"""Long chains of clones: cut in the background above a soft limit, refused for a while above the
hard one."""

import rbd

import volumes
from volumes import CODES, MIB, create, refused

SIZE = 8 * MIB
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


def test_soft_limit(cluster, client):
    """Each volume of a chain of 17 has the first one's data; none is left standing on many."""
    last = create(client, "v00", SIZE)
    data = volumes.write(cluster, last.volume_id, "first")
    chain = [last]
    for number in range(1, 18):
        last = volumes.patiently(
            lambda: create(client, f"v{number:02}", SIZE, source=last.volume_id), 60
        )
        chain.append(last)
    for volume in chain:
        assert volumes.contents(cluster, volume.volume_id)[:MIB] == data
    assert volumes.wait_until(
        lambda: max(depth_of(cluster, volume.volume_id) for volume in chain) <= DEPTH_SOFT
    )


def make_chain_by_hand(cluster, origin, length):
    """A chain that this driver has not seen growing; handles, the first is `origin`."""
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


def test_hard_limit(cluster, client):
    """Refused with the reason while the source is being flattened; then it works."""
    origin = create(client, "origin", SIZE)
    data = volumes.write(cluster, origin.volume_id, "first")
    handles = make_chain_by_hand(cluster, origin.volume_id, DEPTH_HARD)
    assert depth_of(cluster, handles[-1]) == DEPTH_HARD
    with refused(CODES.ABORTED, "chain of 15 clones.*being flattened, call again"):
        create(client, "deep", SIZE, source=handles[-1])
    deep = volumes.patiently(lambda: create(client, "deep", SIZE, source=handles[-1]))
    assert volumes.contents(cluster, deep.volume_id)[:MIB] == data
    assert depth_of(cluster, deep.volume_id) == 1
    # its snapshots, too, may be cloned from
    snap = volumes.snapshot(client, "s", handles[-1])
    restored = create(client, "restored", SIZE, source=snap.snapshot_id)
    assert volumes.contents(cluster, restored.volume_id)[:MIB] == data


def test_delete_while_it_is_flattened(cluster, client):
    origin = create(client, "origin", 64 * MIB)
    with cluster.volume(origin.volume_id) as image:
        image.write(volumes.bytes_of("full", 64 * MIB), 0)
    handles = make_chain_by_hand(cluster, origin.volume_id, DEPTH_HARD)
    with refused(CODES.ABORTED, "being flattened"):
        create(client, "deep", 64 * MIB, source=handles[-1])
    for handle in handles:
        volumes.patiently(lambda: client.DeleteVolume(volume_id=handle))
    volumes.assert_nothing_left(cluster)
