# SPDX-License-Identifier: Apache-2.0
"""SIGTERM with calls in flight: each is finished or refused in so many words, the process ends with
status 0 within the grace time, and what was refused can be repeated."""

import concurrent.futures
import itertools
import signal
import time

import grpc
import pytest

import volumes
from controller import Controller
from volumes import CODES, MIB, create, delete, parameters, patiently, snapshot

SIZE = 8 * MIB
CALLERS = 16
GRACE_S = 4
LATE_S = 4  # for the rest of stopping, on a busy machine
# what a caller may be told whose call was not finished
REFUSALS = {CODES.UNAVAILABLE, CODES.CANCELLED}


@pytest.fixture
def controller(cluster, tmp_path):
    made = Controller(cluster.dir, tmp_path, arguments=["--grace-seconds", str(GRACE_S)]).start()
    yield made
    made.kill()


class Callers:
    """Go on calling until they are refused. `made` holds what they were told is there, `refused`
    the calls that did not succeed."""

    def __init__(self, client, origin):
        self.client = client
        self.origin = origin
        self.made, self.refused, self.errors = [], [], []
        self.threads = concurrent.futures.ThreadPoolExecutor(CALLERS)
        self.running = [self.threads.submit(self.run, number) for number in range(CALLERS)]

    def run(self, number):
        for turn in itertools.count():
            for kind in ("blank", "clone", "snapshot"):
                name = f"{kind}-{number}-{turn}"
                try:
                    self.made.append((name, self.call(self.client, kind, name)))
                except grpc.RpcError as error:
                    self.refused.append((kind, name))
                    self.errors.append(error)
                    return

    def call(self, client, kind, name):
        if kind == "snapshot":
            return snapshot(client, name, self.origin)
        return create(client, name, SIZE, source=self.origin if kind == "clone" else None)

    def wait(self):
        self.threads.shutdown()
        for run in self.running:
            run.result()
        for error in self.errors:
            assert error.code() in REFUSALS and error.details(), error


def stop(controller, number=signal.SIGTERM):
    """How long it took."""
    begin = time.monotonic()
    controller.signal(number)
    assert controller.wait(timeout_s=GRACE_S + LATE_S) == 0, controller.log_tail()
    return time.monotonic() - begin


def check_all_is_there(client, callers):
    """What was answered is there, and what was refused can be had."""
    for kind, name in callers.refused:
        callers.made.append((name, patiently(lambda: callers.call(client, kind, name))))
    listed = {entry.volume.volume_id: entry.volume for entry in volumes.listed_volumes(client)}
    listed.update({snap.snapshot_id: snap for snap in volumes.listed_snapshots(client)})
    del listed[callers.origin]
    told = {getattr(a, "snapshot_id", "") or a.volume_id: a for _, a in callers.made}
    assert listed == told


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_calls_in_flight_are_finished(cluster, controller, number):
    with controller.client() as client:
        callers = Callers(client, create(client, "origin", SIZE).volume_id)
        volumes.wait_until(lambda: len(callers.made) > 2 * CALLERS)
        stop(controller, number)
        callers.wait()
    controller.start()
    with controller.client() as client:
        check_all_is_there(client, callers)
        volumes.delete_all(client)
        volumes.assert_nothing_left(cluster)


def test_calls_that_hang_in_ceph_are_answered(cluster, controller):
    with controller.client() as client:
        callers = Callers(client, create(client, "origin", SIZE).volume_id)
        volumes.wait_until(lambda: len(callers.made) > 2 * CALLERS)
        cluster.osd_pause()
        try:
            time.sleep(0.5)
            took = stop(controller)
            callers.wait()
        finally:
            cluster.osd_resume()
        assert took > GRACE_S / 2  # they had their time
        assert any("the driver is stopping" in error.details() for error in callers.errors)
    controller.start()
    with controller.client() as client:
        check_all_is_there(client, callers)
        volumes.delete_all(client)
        volumes.assert_nothing_left(cluster)


def test_a_copy_under_way_is_given_up_and_gone_on_with(cluster, controller):
    """Some seconds of copying: it ends where it is, and the next process goes on from there."""
    request = {"size": 512 * MIB, "parameters": parameters(copyMode="clone")}
    with controller.client() as client, concurrent.futures.ThreadPoolExecutor(1) as threads:
        origin = create(client, "origin", 512 * MIB).volume_id
        data = volumes.write(cluster, origin, "origin", 64 * MIB)
        copying = threads.submit(create, client, "copy", source=origin, **request)

        def has_begun():
            with cluster.ioctx(volumes.POOL) as ioctx:
                return any("rbd_id.imprint.v.copy" == item.key for item in ioctx.list_objects())

        assert volumes.wait_until(has_begun, pause_s=0.01)
        stop(controller)
        error = copying.exception()
        assert error is None or error.code() in REFUSALS, error
    controller.start()
    with controller.client() as client:
        copy = patiently(lambda: create(client, "copy", source=origin, **request))
        with cluster.volume(copy.volume_id, read_only=True) as image:
            assert image.overlap() == 0 and image.read(0, len(data)) == data
        delete(client, origin)
        volumes.delete_all(client)
        volumes.assert_nothing_left(cluster)


def test_with_nothing_to_do_it_stops_at_once(controller):
    with controller.client() as client:
        client.ListVolumes()
        assert stop(controller) < GRACE_S / 2
