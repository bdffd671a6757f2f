# SPDX-License-Identifier: Apache-2.0
"""How fast deleting gives space back: volumes that hold data are deleted, and the trash is watched until it is
empty. The clock runs from the first delete."""

import os
import time

import rbd

WRITTEN_BYTES = 8 << 20  # two objects of an image
IN_FLIGHT = 16
WAIT_S = 60
PEER_WAIT_S = 15  # one that frees an image a second need not be waited for


def fill(cluster, pool, names):
    data = os.urandom(WRITTEN_BYTES)
    with cluster.ioctx(pool) as ioctx:
        for name in names:
            with rbd.Image(ioctx, name) as image:
                image.write(data, 0)


def wait_usage(cluster, pool, is_right, timeout_s):
    """The bytes in the pool once they are right, or when the time is over; the manager counts every second."""
    deadline = time.monotonic() + timeout_s
    while not is_right(used := cluster.usage(pool)["num_bytes"]) and time.monotonic() < deadline:
        time.sleep(0.1)
    return used


def wait_trash(cluster, pool, timeout_s):
    """How many images are left in the trash when it is empty or the time is over."""
    deadline = time.monotonic() + timeout_s
    while (left := len(cluster.trash(pool))) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def measure(cluster, subject, count):
    """Images a second, and the bytes of the pool before and after."""
    before = set(cluster.images(subject.pool))
    subject.run("create", IN_FLIGHT, count)
    empty_bytes = cluster.usage(subject.pool)["num_bytes"]
    fill(cluster, subject.pool, set(cluster.images(subject.pool)) - before)
    full_bytes = wait_usage(cluster, subject.pool, lambda used: used >= empty_bytes + count * WRITTEN_BYTES, 30)
    start = time.monotonic()
    deleted = subject.run("delete", IN_FLIGHT, count)["succeeded"]
    subject.free()
    left = wait_trash(cluster, subject.pool, PEER_WAIT_S if subject.is_peer else WAIT_S)
    seconds = time.monotonic() - start
    freed = deleted - left
    enough = full_bytes - freed * WRITTEN_BYTES * 0.9
    return {"per_second": freed / seconds, "images": freed, "seconds": seconds, "bytes_before": full_bytes,
            "bytes_after": wait_usage(cluster, subject.pool, lambda used: used <= enough, 30)}
