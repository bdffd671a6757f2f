# SPDX-License-Identifier: Apache-2.0
"""ListVolumes and ListSnapshots: complete, in pages, and steady while others come and go."""

import concurrent.futures
import threading

import pytest

import volumes
from volumes import CODES, MIB, create, parameters, refused

PLACES = [{}, {"pool": volumes.DATA_POOL}, {"namespace": volumes.NAMESPACE}]


def create_many(client, prefix, count):
    """Volumes in all places; their handles in the order of the names."""
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        return list(
            threads.map(
                lambda i: create(
                    client,
                    f"{prefix}-{i:03}",
                    MIB,
                    parameters=parameters(**PLACES[i % len(PLACES)]),
                ),
                range(count),
            )
        )


def snapshot_many(client, made):
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        return list(
            threads.map(
                lambda pair: volumes.snapshot(client, f"s-{pair[0]}", pair[1].volume_id),
                enumerate(made),
            )
        )


def delete_many(client, handles):
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda handle: client.DeleteVolume(volume_id=handle), handles))


def test_pages_hold_everything_once(client):
    made = create_many(client, "v", 25)
    snaps = snapshot_many(client, made)
    by_handle = {volume.volume_id: volume for volume in made}
    by_snapshot = {snap.snapshot_id: snap for snap in snaps}
    for page in (0, 1, 7, 24, 25, 26, 1000):
        listed = [entry.volume for entry in volumes.listed_volumes(client, page)]
        assert len(listed) == 25 and {volume.volume_id: volume for volume in listed} == by_handle
        listed = volumes.listed_snapshots(client, page)
        assert len(listed) == 25 and {snap.snapshot_id: snap for snap in listed} == by_snapshot
    answer = client.ListVolumes(max_entries=10)
    assert len(answer.entries) == 10 and answer.next_token
    answer = client.ListSnapshots(max_entries=25)
    assert len(answer.entries) == 25 and not answer.next_token


def test_bad_tokens(client):
    for token in ("x", "1:local:1", "\u00fc", "1:local:1::abc@zz", "9" * 300):
        with refused(CODES.ABORTED, "starting_token.*was not given out"):
            client.ListVolumes(starting_token=token)
        with refused(CODES.ABORTED, "starting_token.*was not given out"):
            client.ListSnapshots(starting_token=token)
    for call in (client.ListVolumes, client.ListSnapshots):
        with refused(CODES.INVALID_ARGUMENT, "max_entries is negative"):
            call(max_entries=-1)


def test_page_whose_last_volume_was_deleted(client):
    """What csi-sanity has switched off: the token outlives the volume that it was made of."""
    made = create_many(client, "v", 9)
    first = client.ListVolumes(max_entries=4)
    seen = [entry.volume.volume_id for entry in first.entries]
    delete_many(client, seen)
    added = create(client, "added", MIB)
    rest = []
    token = first.next_token
    while token:
        page = client.ListVolumes(max_entries=2, starting_token=token)
        rest += [entry.volume.volume_id for entry in page.entries]
        token = page.next_token
    expected = {volume.volume_id for volume in made} - set(seen)
    assert expected <= set(rest) <= expected | {added.volume_id}
    assert len(rest) == len(set(rest))


def test_page_whose_last_snapshot_was_deleted(client):
    volume = create(client, "v", MIB)
    other = create(client, "w", MIB)
    snaps = [volumes.snapshot(client, f"s{i}", (volume, other)[i % 2].volume_id) for i in range(8)]
    first = client.ListSnapshots(max_entries=3)
    seen = [entry.snapshot.snapshot_id for entry in first.entries]
    for handle in seen:
        client.DeleteSnapshot(snapshot_id=handle)
    rest, token = [], first.next_token
    while token:
        page = client.ListSnapshots(max_entries=2, starting_token=token)
        rest += [entry.snapshot.snapshot_id for entry in page.entries]
        token = page.next_token
    assert sorted(rest) == sorted({snap.snapshot_id for snap in snaps} - set(seen))


def test_snapshot_filters(client):
    made = create_many(client, "v", 4)
    snaps = {
        volume.volume_id: [volumes.snapshot(client, f"{i}-{k}", volume.volume_id) for k in range(3)]
        for i, volume in enumerate(made)
    }
    for handle, expected in snaps.items():
        for page in (0, 1, 2, 3):
            assert volumes.listed_snapshots(client, page, source_volume_id=handle) == expected
    one = snaps[made[0].volume_id][1]
    assert volumes.listed_snapshots(client, snapshot_id=one.snapshot_id) == [one]
    # also of a volume that was deleted meanwhile
    client.DeleteVolume(volume_id=made[0].volume_id)
    assert (
        volumes.listed_snapshots(client, 2, source_volume_id=made[0].volume_id)
        == snaps[made[0].volume_id]
    )
    assert volumes.listed_snapshots(client, snapshot_id=one.snapshot_id) == [one]
    client.DeleteSnapshot(snapshot_id=one.snapshot_id)
    assert volumes.listed_snapshots(client, snapshot_id=one.snapshot_id) == []


@pytest.mark.parametrize("page", [0, 3])
def test_steady_while_others_come_and_go(client, page):
    """Those that are there all the time are on exactly one page of every listing."""
    kept = create_many(client, "kept", 12)
    kept_ids = {volume.volume_id for volume in kept}
    snap_ids = {snap.snapshot_id for snap in snapshot_many(client, kept)}
    stop = threading.Event()

    def churn(number):
        turn = 0
        while not stop.is_set():
            turn += 1
            volume = create(client, f"churn-{number}-{turn}", MIB)
            snap = volumes.snapshot(client, f"churn-{number}-{turn}", volume.volume_id)
            client.DeleteVolume(volume_id=volume.volume_id)
            client.DeleteSnapshot(snapshot_id=snap.snapshot_id)

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        workers = [threads.submit(churn, number) for number in range(4)]
        try:
            for _ in range(12):
                listed = [entry.volume.volume_id for entry in volumes.listed_volumes(client, page)]
                assert len(listed) == len(set(listed)) and kept_ids <= set(listed)
                listed = [snap.snapshot_id for snap in volumes.listed_snapshots(client, page)]
                assert len(listed) == len(set(listed)) and snap_ids <= set(listed)
        finally:
            stop.set()
        for worker in workers:
            worker.result()


def test_deleted_volume_is_in_no_listing(client):
    volume = create(client, "v", MIB)
    snap = volumes.snapshot(client, "s", volume.volume_id)
    copy = create(client, "copy", MIB, source=snap.snapshot_id)
    client.DeleteVolume(volume_id=volume.volume_id)
    assert [entry.volume for entry in volumes.listed_volumes(client)] == [copy]
    with refused(CODES.NOT_FOUND, "it was deleted"):
        client.ControllerGetVolume(volume_id=volume.volume_id)
    client.DeleteSnapshot(snapshot_id=snap.snapshot_id)
    assert volumes.listed_snapshots(client) == []
    with refused(CODES.NOT_FOUND, "no snapshot"):
        client.GetSnapshot(snapshot_id=snap.snapshot_id)
