# SPDX-License-Identifier: Apache-2.0
"""No space: the calls that need some say so at once, those that give some back go on working, and
what was refused works as soon as there is space again."""

import pytest

import volumes
from controller import Controller
from tenancy import Tenancy, mon_command
from volumes import CODES, MIB, delete, patiently, refused

SIZE = 8 * MIB
DEADLINE_S = 20


@pytest.fixture
def place(cluster, tmp_path):
    """Pools of its own: what is full must not be in the way of others."""
    made = Tenancy(cluster, "full", tmp_path)
    yield made
    set_quota(made, 0)


@pytest.fixture
def client(place):
    with Controller(place.dir, place.dir) as controller:
        with controller.client(DEADLINE_S) as connected:
            yield connected


def set_quota(place, objects):
    mon_command(
        place.cluster,
        "osd pool set-quota",
        pool=place.pool,
        field="max_objects",
        val=str(objects),
    )


def is_full(place):
    return any(
        pool["pool_name"] == place.pool and "full" in pool["flags_names"].split(",")
        for pool in place.cluster.osd_map()["pools"]
    )


def create(client, place, name, **more):
    return volumes.create(client, name, SIZE, parameters=place.parameters(), **more)


def test_pool_without_space(place, client):
    origin = create(client, place, "origin").volume_id
    data = volumes.write(place.cluster, origin, "origin")
    snap = volumes.snapshot(client, "s", origin).snapshot_id
    doomed = create(client, place, "doomed").volume_id
    set_quota(place, 1)
    assert volumes.wait_until(lambda: is_full(place), timeout_s=60)

    full = (CODES.RESOURCE_EXHAUSTED, "quota|full")
    with refused(*full):
        create(client, place, "blank")
    with refused(*full):
        create(client, place, "clone", source=origin)
    with refused(*full):
        create(client, place, "restored", source=snap)
    with refused(*full):
        volumes.snapshot(client, "another", origin)
    # what is there is there, and can be deleted
    assert create(client, place, "origin").volume_id == origin
    assert len(volumes.listed_volumes(client)) == 2
    delete(client, doomed)
    delete(client, snap)
    assert len(volumes.listed_volumes(client)) == 1 and not volumes.listed_snapshots(client)
    assert volumes.wait_until(lambda: volumes.image_id_of(doomed) not in str(place.leftovers()))

    set_quota(place, 0)
    assert volumes.wait_until(lambda: not is_full(place), timeout_s=60)
    for name, source in (("blank", None), ("clone", origin)):
        made = patiently(lambda: create(client, place, name, source=source))
        contents = volumes.contents(place.cluster, made.volume_id)
        assert contents[:MIB] == (data if source else bytes(MIB))
    patiently(lambda: volumes.snapshot(client, "another", origin))
    volumes.delete_all(client)
    place.assert_nothing_left()
