# SPDX-License-Identifier: Apache-2.0
"""Two machines and one volume: refused, shared, and taken over after a power cut."""

import subprocess

import pytest

import volumes
from staged import Staged
from volumes import CODES, MIB, refused


@pytest.mark.parametrize("mapper", ["krbd", "nbd"])
def test_second_node_is_refused(guests, control, mapper):
    volume = volumes.create(control, "v", 64 * MIB, parameters=volumes.parameters(mapper=mapper))
    with guests[0].client() as here, guests[1].client() as there:
        with Staged(here, guests[0], volume, "ext4"):
            with refused(CODES.FAILED_PRECONDITION, "the Ceph client at 10.99.0.11:.* has it open"):
                Staged(there, guests[1], volume, "ext4").stage()
        with Staged(there, guests[1], volume, "ext4"):
            pass


def test_block_volume_on_both(guests, control):
    """As in a live migration: each sees what the other wrote."""
    volume = volumes.create(control, "v", 64 * MIB, parameters=volumes.parameters(mapper="krbd"))
    mode = "MULTI_NODE_MULTI_WRITER"
    with guests[0].client() as here, guests[1].client() as there:
        with Staged(here, guests[0], volume, mode=mode) as first:
            with Staged(there, guests[1], volume, mode=mode) as second:
                paths = [first.publish(), second.publish()]
                for writer, word in ((0, "aaaa"), (1, "bbbb"), (0, "cccc")):
                    guests[writer].sh(f"echo {word} | dd of={paths[writer]} bs=4096 conv=sync "
                                      "oflag=direct 2>/dev/null")
                    for reader in (0, 1):
                        read = guests[reader].sh(f"dd if={paths[reader]} bs=4096 count=1 "
                                                 "iflag=direct 2>/dev/null | head -c 4")
                        assert read == word


def test_readers_on_both(guests, control):
    """ReadOnlyMany: each has the device read-only."""
    volume = volumes.create(control, "v", 64 * MIB, parameters=volumes.parameters(mapper="krbd"))
    with guests[0].client() as here, guests[1].client() as there:
        with Staged(here, guests[0], volume, "ext4") as staged:
            guests[0].sh(f"echo kept > {staged.publish()}/file; sync")
        mode = "MULTI_NODE_READER_ONLY"
        with Staged(here, guests[0], volume, "ext4", mode=mode) as first:
            with Staged(there, guests[1], volume, "ext4", mode=mode) as second:
                for guest, staged in ((guests[0], first), (guests[1], second)):
                    target = staged.publish()
                    assert guest.sh(f"cat {target}/file; cat /sys/block/rbd*/ro") == "kept\n1\n"
                    assert "refused" in guest.sh(f"touch {target}/other || echo refused")


def test_a_node_that_was_let_go_of(cluster, guests, control):
    """The cluster turns its client away: staging says so while the device is in use, and makes a new
    one when it is not."""
    guest = guests[0]
    volume = volumes.create(control, "v", 64 * MIB, parameters=volumes.parameters(mapper="krbd"))
    with guest.client() as client:
        staged = Staged(client, guest, volume).stage()
        target = staged.publish()
        address = guest.sh("cat /sys/bus/rbd/devices/*/client_addr").strip()
        subprocess.run(["ceph", "osd", "blocklist", "add", address], check=True)
        with refused(CODES.FAILED_PRECONDITION, "the cluster turns away", "still in use at"):
            staged.stage()
        staged.unpublish()
        volumes.patiently(staged.stage)
        assert guest.sh("cat /sys/bus/rbd/devices/*/client_addr").strip() != address
        guest.sh(f"echo kept | dd of={staged.publish()} bs=4096 conv=sync oflag=direct")
        assert target == staged.targets[0]
        staged.leave()


def test_taken_over_while_nobody_served_it(cluster, guests, control):
    """The plugin and its rbd-nbd die, and the cluster lets go of them; another machine has the volume
    when the plugin is back. Nothing serves the old device then, not even when the other is gone."""
    volume = volumes.create(control, "v", 64 * MIB, parameters=volumes.parameters(mapper="nbd"))
    write = lambda guest, staged: guest.sh(f"echo x | dd of={staged.publish()} bs=4096 conv=sync "
                                           "oflag=direct 2>/dev/null")
    with guests[0].client() as here, guests[1].client() as there:
        staged = Staged(here, guests[0], volume).stage()
        write(guests[0], staged)
        guests[0].kill_plugin()
        guests[0].sh("kill -9 $(pidof rbd-nbd)")
        with cluster.volume(volume.volume_id, read_only=True) as image:
            for watcher in image.watchers_list():
                subprocess.run(["ceph", "osd", "blocklist", "add", watcher["addr"]], check=True)
        survivor = Staged(there, guests[1], volume)
        volumes.patiently(survivor.stage, 120, volumes.PASSING | {CODES.FAILED_PRECONDITION})
        write(guests[1], survivor)
        guests[0].start_plugin()
        condition = lambda: volumes.patiently(staged.stats).volume_condition
        assert volumes.wait_until(lambda: "another node has had" in condition().message, 30)
        assert condition().abnormal
        survivor.leave()
        with refused(CODES.FAILED_PRECONDITION, "still in use at"):
            staged.stage()
        assert guests[0].sh("pidof rbd-nbd || echo none").strip() == "none"
        volumes.patiently(staged.leave)


def test_power_cut(guests, control):
    """The other machine is refused until Ceph has let go of the dead one; what was synced is there."""
    volume = volumes.create(control, "v", 64 * MIB, parameters=volumes.parameters(mapper="krbd"))
    with guests[0].client() as here:
        staged = Staged(here, guests[0], volume, "ext4").stage()
        guests[0].sh(f"echo kept > {staged.publish()}/file; sync")
    guests[0].power_cut()
    with guests[1].client() as there:
        survivor = Staged(there, guests[1], volume, "ext4")
        with refused(CODES.FAILED_PRECONDITION, "10.99.0.11:.* has it open"):
            survivor.stage()
        volumes.patiently(survivor.stage, 120, volumes.PASSING | {CODES.FAILED_PRECONDITION})
        assert guests[1].sh(f"cat {survivor.publish()}/file").strip() == "kept"
        survivor.leave()
    guests[0].start()
