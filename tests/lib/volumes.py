# SPDX-License-Identifier: Apache-2.0
"""What the tests say in CSI again and again: requests with the usual fields, refusals, patience."""

import concurrent.futures
import contextlib
import os
import re
import time

import grpc
import rados

import ceph

MIB = 1 << 20
GIB = 1 << 30

CODES = grpc.StatusCode

# What a sidecar calls again for: the work goes on, or another one has it.
PASSING = frozenset({CODES.ABORTED, CODES.UNAVAILABLE, CODES.DEADLINE_EXCEEDED})

CLUSTER_ID = os.environ.get("CLUSTER_ID", "local")
POOL = os.environ.get("POOL", "imprint")
DATA_POOL = os.environ.get("DATA_POOL", "imprint-data")
NAMESPACE = os.environ.get("NAMESPACE", "tenant")
POOLS = (POOL, DATA_POOL)


def capability(mode="SINGLE_NODE_WRITER", fs_type=None):
    """Block, or mount when a filesystem is named ("" is the driver's own choice)."""
    access = {"block": {}} if fs_type is None else {"mount": {"fs_type": fs_type}}
    return {**access, "access_mode": {"mode": mode}}


def parameters(**more):
    """A StorageClass in the usual pool, changed by `more`; None takes a parameter out."""
    given = {"clusterID": CLUSTER_ID, "pool": POOL, **more}
    return {name: value for name, value in given.items() if value is not None}


def volume_request(name, size=64 * MIB, limit=0, source=None, **changed):
    """The fields of a CreateVolumeRequest. `changed` replaces whole fields."""
    fields = {"name": name, "volume_capabilities": [capability()], "parameters": parameters()}
    if size or limit:
        fields["capacity_range"] = {"required_bytes": size or 0, "limit_bytes": limit}
    if source:
        key = "snapshot" if "@" in source else "volume"
        fields["volume_content_source"] = {key: {f"{key}_id": source}}
    fields.update(changed)
    return fields


def create(client, name, size=64 * MIB, **more):
    return client.CreateVolume(**volume_request(name, size, **more)).volume


def snapshot(client, name, volume_id):
    return client.CreateSnapshot(name=name, source_volume_id=volume_id).snapshot


def snapshot_or_code(client, name, volume_id):
    """The snapshot, or the code of the refusal."""
    try:
        return snapshot(client, name, volume_id)
    except grpc.RpcError as error:
        return error.code()


def image_id_of(handle):
    return handle.split("@")[0].rpartition(":")[2]


@contextlib.contextmanager
def refused(code, *patterns):
    """The block must fail with this code and a message, of one line, that matches every pattern."""
    try:
        yield
    except grpc.RpcError as error:
        said = f"{error.code().name}: {error.details()}"
        assert error.code() == code, f"not {code.name} but {said}"
        for pattern in patterns:
            assert re.search(pattern, error.details()), f"{pattern!r} is not in {said}"
        assert error.details() and "\n" not in error.details(), said
    else:
        raise AssertionError(f"was not refused with {code.name}")


def patiently(call, timeout_s=60, passing=PASSING, pause_s=0.02):
    """Calls as a sidecar does: again and again while the answer is one of `passing`."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return call()
        except grpc.RpcError as error:
            if error.code() not in passing or time.monotonic() > deadline:
                raise
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 0.5)


def wait_until(condition, timeout_s=30, pause_s=0.05):
    """Waits for condition() to be true; its last value."""
    deadline = time.monotonic() + timeout_s
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(pause_s)
    return value


def listed_volumes(client, page=0):
    """Every volume entry, page by page."""
    return listed(client.ListVolumes, page)


def listed_snapshots(client, page=0, **filters):
    return [entry.snapshot for entry in listed(client.ListSnapshots, page, **filters)]


def listed(call, page, **filters):
    token, entries = "", []
    while True:
        answer = call(max_entries=page, starting_token=token, **filters)
        entries += answer.entries
        token = answer.next_token
        if not token:
            return entries


def delete_all(client):
    """Deletes whatever the driver lists."""
    handles = [entry.volume.volume_id for entry in listed_volumes(client)]
    handles += [snap.snapshot_id for snap in listed_snapshots(client)]
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda handle: patiently(lambda: delete(client, handle)), handles))


def delete(client, handle):
    """Deletes a volume or a snapshot."""
    if "@" in handle:
        client.DeleteSnapshot(snapshot_id=handle)
    else:
        client.DeleteVolume(volume_id=handle)


# A purger that was killed may keep the trash locked for two minutes; the next one looks every half.
PURGED_S = 180


def assert_nothing_left(cluster, pools=POOLS, timeout_s=PURGED_S):
    """Waits for what is removed in the background. What is left then is a failure, and is scrubbed
    off, so that the tests behind do not suffer for it."""
    found = []
    for pool in pools:
        if not wait_until(lambda: not cluster.leftovers(pool), timeout_s):
            found += cluster.leftovers(pool)
            scrub(cluster, pool)
    assert not found, "left behind:\n" + "\n".join(found)


def scrub(cluster, pool):
    """Makes a pool as good as new by force: past librbd, which would refuse much of it."""
    with cluster.ioctx(pool, rados.LIBRADOS_ALL_NSPACES) as ioctx:
        objects = [(item.nspace, item.key) for item in ioctx.list_objects()]
    for namespace, name in objects:
        with cluster.ioctx(pool, namespace) as ioctx:
            if name in ceph.INDEXES:
                keys = [key for key in cluster.omap_keys(pool, name, namespace) if key != "state"]
                with rados.WriteOpCtx() as operation:
                    ioctx.remove_omap_keys(operation, tuple(keys))
                    ioctx.operate_write_op(operation, name)
            elif name not in ceph.STANDING:
                with contextlib.suppress(rados.ObjectNotFound):
                    ioctx.remove_object(name)


def write(cluster, handle, seed, length=MIB, offset=0):
    """Fills a part of a volume with bytes that follow from the seed; returns them."""
    data = bytes_of(seed, length)
    with cluster.volume(handle) as image:
        image.write(data, offset)
    return data


def bytes_of(seed, length):
    block = (f"{seed}-" * 64).encode()
    return (block * (length // len(block) + 1))[:length]


def contents(cluster, handle):
    """All bytes of a volume."""
    with cluster.volume(handle, read_only=True) as image:
        return image.read(0, image.size())


def size_of(cluster, handle):
    with cluster.volume(handle, read_only=True) as image:
        return image.size()
