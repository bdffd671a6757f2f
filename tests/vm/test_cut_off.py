# SPDX-License-Identifier: Apache-2.0
"""A machine that does not reach the cluster any more, or looks for it at the wrong place: every call
is answered in time and says so, and all goes on when the cluster is back. krbd on one machine and
nbd on the other, at the same time."""

import concurrent.futures
import re
import time

import pytest

import csi
import volumes
from guest import CSI_PORT
from staged import Staged
from volumes import CODES, MIB, refused

MAPPERS = ("krbd", "nbd")
PATIENCE_S = 10  # of a caller
# The cluster is silent; or an earlier call, which waits for it, has the volume.
SAID = "storage cluster has not finished|is busy with Node|Connection timed out|cannot reach"


def side_by_side(guests, test):
    with concurrent.futures.ThreadPoolExecutor() as threads:
        for outcome in [threads.submit(test, guest, mapper)
                        for guest, mapper in zip(guests, MAPPERS)]:
            outcome.result()


def create(control, name, mapper):
    return volumes.create(control, name, 64 * MIB, parameters=volumes.parameters(mapper=mapper))


def told_in_time(call):
    """Refused within the caller's patience, in words that tell of the cluster."""
    began = time.monotonic()
    with pytest.raises(Exception) as failure:
        call()
    assert time.monotonic() - began < PATIENCE_S + 5
    assert failure.value.code() in volumes.PASSING, failure.value
    assert any(word in failure.value.details() for word in SAID.split("|")), failure.value.details()


def test_the_cluster_is_silent(guests, control):
    """Under a mounted filesystem with unwritten data; a second volume is to come."""

    def test(guest, mapper):
        there, other = create(control, f"{mapper}-1", mapper), create(control, f"{mapper}-2", mapper)
        with guest.client() as patient, csi.Client(f"{guest.address}:{CSI_PORT}",
                                                   deadline_s=PATIENCE_S) as client:
            staged = Staged(patient, guest, there, "ext4").stage()
            target = staged.publish()
            guest.sh(f"echo early >{target}/file; sync")
            coming = Staged(client, guest, other, name="other")
            control.ControllerExpandVolume(volume_id=there.volume_id,
                                           capacity_range={"required_bytes": 96 * MIB})
            assert not staged.stats().volume_condition.abnormal
            staged.client = client
            guest.cut_off()
            try:
                guest.sh(f"echo late >{target}/file; sync >/dev/null 2>&1 & "
                         f"dd if=$(grep ' {target} ' /proc/mounts | cut -d' ' -f1) of=/dev/null "
                         "bs=4096 count=1 iflag=direct >/dev/null 2>&1 & :")
                with concurrent.futures.ThreadPoolExecutor() as threads:
                    told = [threads.submit(told_in_time, call)
                            for call in (coming.stage, lambda: staged.expand(96 * MIB))]
                    hangs = lambda: staged.stats().volume_condition.abnormal
                    assert volumes.wait_until(hangs, 90, 2), staged.stats()
                    for outcome in told:
                        outcome.result()
                assert re.search("no I/O of its device .* was finished for [0-9]+ s",
                                 staged.stats().volume_condition.message)
                told_in_time(staged.leave)
            finally:
                guest.rejoin()
            staged.client = coming.client = patient
            volumes.patiently(coming.stage, 120)
            coming.unstage()
            volumes.patiently(lambda: staged.leave() if staged.targets else staged.unstage(), 120)
            with staged:
                assert guest.sh(f"cat {staged.publish()}/file").strip() == "late"

    side_by_side(guests, test)


def test_monitors_that_have_moved(guests, control):
    """Nobody listens where the configuration says. What is staged can be used and unstaged."""

    def test(guest, mapper):
        volume = create(control, mapper, mapper)
        right = guest.sh("cat /etc/imprint/clusters.json")
        with guest.client() as client:
            staged = Staged(client, guest, volume, "ext4").stage()
            target = staged.publish()
        try:
            guest.kill_plugin()
            guest.put("/etc/imprint/clusters.json", re.sub(r"(10[.]99[.]0[.]1):\d+", r"\1:1", right))
            guest.start_plugin()
            with guest.client() as client:
                staged.client = client
                assert not staged.stats().volume_condition.abnormal
                began = time.monotonic()
                with refused(CODES.UNAVAILABLE, "cluster '.*': connect as 'client.imprint'"):
                    staged.stage()
                assert time.monotonic() - began < 30
                guest.sh(f"echo kept >{target}/file; sync")
                staged.leave()
                assert guest.leftovers() == []
        finally:
            guest.kill_plugin()
            guest.put("/etc/imprint/clusters.json", right)
            guest.start_plugin()
        with guest.client() as client:
            with Staged(client, guest, volume, "ext4") as again:
                assert guest.sh(f"cat {again.publish()}/file").strip() == "kept"

    side_by_side(guests, test)
