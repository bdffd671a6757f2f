# SPDX-License-Identifier: Apache-2.0
"""The same request again gets the same answer; another one under the same name is told what
differs; of many at once one wins."""

import concurrent.futures

import grpc
import pytest
import rbd

import volumes
from volumes import CODES, MIB, capability, create, parameters, refused, volume_request

SIZE = 16 * MIB
THREADS = 32


def at_once(call, count=THREADS):
    """Starts `count` calls together; a list of answers and errors."""

    def attempt(number):
        try:
            return call(number)
        except grpc.RpcError as error:
            return error

    with concurrent.futures.ThreadPoolExecutor(count) as threads:
        return list(threads.map(attempt, range(count)))


def answers_of(outcomes, allowed=(CODES.ABORTED,)):
    """The good answers; every error must be one of `allowed`."""
    for outcome in outcomes:
        if isinstance(outcome, grpc.RpcError):
            assert outcome.code() in allowed, f"{outcome.code().name}: {outcome.details()}"
    return [outcome for outcome in outcomes if not isinstance(outcome, grpc.RpcError)]


@pytest.fixture
def sources(client):
    volume = create(client, "origin", SIZE)
    snap = volumes.snapshot(client, "origin-snapshot", volume.volume_id)
    return {"blank": None, "volume": volume.volume_id, "snapshot": snap.snapshot_id}


@pytest.mark.parametrize("mode", ["cow", "clone"])
@pytest.mark.parametrize("kind", ["blank", "volume", "snapshot"])
def test_same_answer_byte_for_byte(controller, client, sources, kind, mode):
    request = volume_request(
        "again", SIZE, source=sources[kind], parameters=parameters(copyMode=mode, mapper="krbd")
    )
    first = client.CreateVolume(**request).SerializeToString(deterministic=True)
    for _ in range(3):
        again = client.CreateVolume(**request).SerializeToString(deterministic=True)
        assert again == first
    assert len(volumes.listed_volumes(client)) == 2


def test_snapshot_same_answer_byte_for_byte(client, sources):
    request = {"name": "again", "source_volume_id": sources["volume"]}
    first = client.CreateSnapshot(**request).SerializeToString(deterministic=True)
    for _ in range(3):
        assert client.CreateSnapshot(**request).SerializeToString(deterministic=True) == first
    assert len(volumes.listed_snapshots(client)) == 2


DIFFERENT = {
    "larger": (dict(size=2 * SIZE), "it has 16 MiB, capacity_range.required_bytes asks for 32 MiB"),
    "smaller": (dict(size=MIB, limit=SIZE // 2), "it has 16 MiB, .*limit_bytes allows 8 MiB"),
    "parameter": (
        dict(parameters=parameters(objectSize="1Mi")),
        "parameter 'objectSize' was 'none', now '1Mi'",
    ),
    "parameter left out": (
        dict(parameters=parameters(clusterID=None)),
        "parameter 'clusterID' was 'local', now 'none'",
    ),
    "copy mode": (
        dict(parameters=parameters(copyMode="clone")),
        "parameter 'copyMode' was 'none', now 'clone'",
    ),
    "mapper": (
        dict(parameters=parameters(mapper="nbd")),
        "parameter 'mapper' was 'none', now 'nbd'",
    ),
    "pool": (
        dict(parameters=parameters(pool=volumes.DATA_POOL)),
        "exists in 'imprint', .*'pool'.*ask for 'imprint-data'",
    ),
    "namespace": (
        dict(parameters=parameters(namespace=volumes.NAMESPACE)),
        "exists in 'imprint', .*'namespace' ask for 'imprint/tenant'",
    ),
    "volume": (dict(source="volume"), "content source was 'none', now '1:local:"),
    "snapshot": (dict(source="snapshot"), "content source was 'none', now '1:local:.*@"),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_difference_is_named(client, sources, what):
    changed, said = DIFFERENT[what]
    changed = {"size": SIZE, **changed}
    if "source" in changed:
        changed["source"] = sources[changed["source"]]
    first = create(client, "taken", SIZE)
    with refused(CODES.ALREADY_EXISTS, "create volume 'taken'", said):
        create(client, "taken", **changed)
    assert create(client, "taken", SIZE) == first


def test_difference_of_sources_is_named(client, sources):
    other = create(client, "other", SIZE)
    create(client, "taken", SIZE, source=sources["volume"])
    with refused(
        CODES.ALREADY_EXISTS,
        f"content source was '{sources['volume']}', " f"now '{other.volume_id}'",
    ):
        create(client, "taken", SIZE, source=other.volume_id)
    with refused(CODES.ALREADY_EXISTS, f"content source was '{sources['volume']}', now 'none'"):
        create(client, "taken", SIZE)


@pytest.mark.parametrize("mode", ["cow", "clone"])
@pytest.mark.parametrize("kind", ["volume", "snapshot"])
def test_source_that_was_deleted(cluster, client, sources, kind, mode):
    """The first answer was lost, and the source is gone when it is asked for again."""
    request = dict(source=sources[kind], parameters=parameters(copyMode=mode))
    first = create(client, "again", SIZE, **request)
    volumes.delete(client, sources[kind])
    assert create(client, "again", SIZE, **request) == first
    with refused(CODES.ALREADY_EXISTS, "16 MiB"):
        create(client, "again", 2 * SIZE, **request)
    with refused(CODES.ALREADY_EXISTS, "copyMode"):
        create(client, "again", SIZE, source=sources[kind],
               parameters=parameters(copyMode="clone" if mode == "cow" else "cow"))
    with refused(CODES.NOT_FOUND, sources[kind]):
        create(client, "another", SIZE, **request)


def test_remains_of_a_copy_whose_source_was_deleted(cluster, client, sources):
    """A call died amid its work, and never succeeds: then what it made goes, too."""
    with cluster.ioctx(volumes.POOL) as ioctx:
        rbd.RBD().create(ioctx, "imprint.v.half-made", SIZE, old_format=False)
    client.DeleteSnapshot(snapshot_id=sources["snapshot"])
    with refused(CODES.NOT_FOUND, sources["snapshot"]):
        create(client, "half-made", SIZE, source=sources["snapshot"])
    assert "imprint.v.half-made" not in cluster.images(volumes.POOL)


def test_snapshot_whose_volume_was_deleted(client, sources):
    first = volumes.snapshot(client, "again", sources["volume"])
    client.DeleteVolume(volume_id=sources["volume"])
    assert volumes.snapshot(client, "again", sources["volume"]) == first
    with refused(CODES.NOT_FOUND, sources["volume"]):
        volumes.snapshot(client, "another", sources["volume"])
    client.DeleteSnapshot(snapshot_id=first.snapshot_id)
    with refused(CODES.NOT_FOUND, sources["volume"]):
        volumes.snapshot(client, "again", sources["volume"])


def test_what_is_no_difference(client, sources):
    """A range that the volume fits, another capability, other labels: the same volume."""
    first = create(client, "same", SIZE)
    for changed in (
        dict(size=0),
        dict(size=SIZE // 2),
        dict(size=0, limit=SIZE),
        dict(size=1, limit=4 * SIZE),
    ):
        assert create(client, "same", **changed) == first
    assert create(client, "same", SIZE, volume_capabilities=[capability(fs_type="xfs")]) == first


def test_snapshot_of_another_volume(client, sources):
    other = create(client, "other", SIZE)
    with refused(
        CODES.ALREADY_EXISTS,
        f"its source was volume '{sources['volume']}', " f"now '{other.volume_id}'",
    ):
        volumes.snapshot(client, "origin-snapshot", other.volume_id)


def test_snapshot_of_a_volume_elsewhere(client, sources):
    """One name, one snapshot, whatever pool the volume lies in."""
    other = create(client, "other", SIZE, parameters=parameters(pool=volumes.DATA_POOL))
    tenant = create(client, "tenant", SIZE, parameters=parameters(namespace=volumes.NAMESPACE))
    for volume in (other, tenant):
        with refused(CODES.ALREADY_EXISTS, "exists"):
            volumes.snapshot(client, "origin-snapshot", volume.volume_id)
    assert len(volumes.listed_snapshots(client)) == 1


@pytest.mark.parametrize("mode", ["cow", "clone"])
@pytest.mark.parametrize("kind", ["blank", "volume", "snapshot"])
def test_same_name_at_once(cluster, client, sources, kind, mode):
    """One image, and everyone who was not told to come back has it."""
    request = volume_request(
        "raced", SIZE, source=sources[kind], parameters=parameters(copyMode=mode)
    )
    answers = answers_of(at_once(lambda _: client.CreateVolume(**request).volume))
    answers.append(volumes.patiently(lambda: client.CreateVolume(**request).volume))
    assert len({answer.volume_id for answer in answers}) == 1
    assert sorted(cluster.images(volumes.POOL)) == ["imprint.v.origin", "imprint.v.raced"]


def test_same_name_in_different_places_at_once(cluster, client):
    places = [
        parameters(),
        parameters(pool=volumes.DATA_POOL),
        parameters(namespace=volumes.NAMESPACE),
    ]

    def attempt(number):
        return create(client, "raced", SIZE, parameters=places[number % 3])

    answers = answers_of(at_once(attempt), (CODES.ABORTED, CODES.ALREADY_EXISTS))
    assert len({answer.volume_id for answer in answers}) == 1
    assert len(volumes.listed_volumes(client)) == 1


def test_same_snapshot_at_once(client, sources):
    other = create(client, "other", SIZE)
    origins = [sources["volume"], other.volume_id]
    answers = answers_of(
        at_once(lambda number: volumes.snapshot(client, "raced", origins[number % 2])),
        (CODES.ABORTED, CODES.ALREADY_EXISTS),
    )
    assert len({answer.snapshot_id for answer in answers}) == 1
    assert len(volumes.listed_snapshots(client)) == 2


def test_delete_at_once(client):
    volume = create(client, "doomed", SIZE)
    snap = volumes.snapshot(client, "doomed", volume.volume_id)
    answers_of(at_once(lambda _: client.DeleteVolume(volume_id=volume.volume_id)))
    answers_of(at_once(lambda _: client.DeleteSnapshot(snapshot_id=snap.snapshot_id)))
    assert volumes.listed_volumes(client) == [] and volumes.listed_snapshots(client) == []


def test_create_and_delete_at_once(client):
    """Never a volume that is handed out and yet was deleted before that."""
    for number in range(4):
        name = f"flicker-{number}"
        first = create(client, name, SIZE)

        def attempt(which):
            if which % 2:
                client.DeleteVolume(volume_id=first.volume_id)
                return None
            return create(client, name, SIZE)

        answers_of(at_once(attempt, 8))
        last = volumes.patiently(lambda: create(client, name, SIZE))
        assert client.ControllerGetVolume(volume_id=last.volume_id).volume == last


def test_expand_at_once(cluster, client):
    volume = create(client, "growing", SIZE)
    sizes = answers_of(
        at_once(
            lambda number: client.ControllerExpandVolume(
                volume_id=volume.volume_id, capacity_range={"required_bytes": SIZE + number * MIB}
            ).capacity_bytes
        )
    )
    assert volumes.size_of(cluster, volume.volume_id) == max(sizes)
