# SPDX-License-Identifier: Apache-2.0
"""krbd and rbd-nbd for real, on Debian's kernel."""

import pytest

import volumes
from inline import Inline
from staged import Staged
from volumes import CODES, MIB, refused

SIZE, GROWN = 320 * MIB, 512 * MIB


def create(control, name, mapper, **more):
    return volumes.create(control, name, SIZE,
                          parameters=volumes.parameters(mapper=mapper), **more)


def opened_by_another(guest, staged):
    """A process that has found the device in /dev: it is not taken away from below it."""
    target = staged.targets[0]
    guest.sh(f"ls /dev/rbd0 /dev/nbd0 2>/dev/null | while read d; do [ \"$(stat -c %t:%T $d)\" = "
             f"\"$(stat -c %t:%T {target})\" ] && {{ sleep 1000 <$d >/dev/null 2>&1 & "
             "echo $! >/tmp/opener; }; done; true")
    staged.unpublish()
    with refused(CODES.FAILED_PRECONDITION, "has it open|still open somewhere"):
        staged.unstage()
    guest.sh("kill $(cat /tmp/opener)")


@pytest.mark.parametrize("fs_type", ["ext4", "xfs", None])
@pytest.mark.parametrize("mapper", ["krbd", "nbd"])
def test_written_grown_and_read_back(guests, control, mapper, fs_type):
    guest = guests[0]
    volume = create(control, "v", mapper)
    with guest.client() as client:
        with Staged(client, guest, volume, fs_type) as staged:
            target = staged.publish()
            assert f"mapped by {mapper}" in staged.stats().volume_condition.message
            write = (f"echo kept > {target}/file; sync" if fs_type
                     else f"echo kept | dd of={target} bs=4096 conv=sync oflag=direct 2>/dev/null")
            guest.sh(write)
            control.ControllerExpandVolume(volume_id=volume.volume_id,
                                           capacity_range={"required_bytes": GROWN})
            assert staged.expand(GROWN).capacity_bytes == GROWN
            assert staged.stats().usage[0].total > GROWN - 80 * MIB
            if fs_type is None:
                opened_by_another(guest, staged)
        assert guest.leftovers() == []
        with Staged(client, guest, volume, fs_type) as staged:
            target = staged.publish()
            read = f"cat {target}/file" if fs_type else f"dd if={target} bs=4 count=1 2>/dev/null"
            assert guest.sh(read).strip() == "kept"


def test_auto_takes_krbd(guests, control):
    with guests[0].client() as client:
        with Staged(client, guests[0], create(control, "v", "auto")) as staged:
            staged.publish()
            assert "mapped by krbd" in staged.stats().volume_condition.message
    assert "is mapped by krbd: the kernel has it and all of the image's" in guests[0].plugin_log()


def test_auto_takes_nbd_for_features_that_the_kernel_lacks(guests, control):
    volume = volumes.create(control, "v", SIZE, parameters=volumes.parameters(
        imageFeatures="layering,exclusive-lock,journaling"))
    with guests[0].client() as client:
        with Staged(client, guests[0], volume) as staged:
            staged.publish()
            assert "mapped by nbd" in staged.stats().volume_condition.message
    assert "krbd lacks the image's features 0x40" in guests[0].plugin_log()


def test_options_of_the_storage_class(guests, control):
    volume = volumes.create(control, "v", 64 * MIB, parameters=volumes.parameters(
        mapper="krbd", mapOptions="krbd:queue_depth=64,lock_on_read;nbd:io-timeout=60"))
    with guests[0].client() as client:
        with Staged(client, guests[0], volume):
            shown = guests[0].sh("cat /sys/bus/rbd/devices/*/config_info")
            assert "queue_depth=64" in shown and "lock_on_read" in shown, shown
            assert "io-timeout" not in shown


def test_inline_volume(cluster, guests, control):
    guest = guests[0]
    parameters = volumes.parameters(**{"csi.storage.k8s.io/pvc/namespace": "team-a"})
    volume = volumes.create(control, "v", 64 * MIB, parameters=parameters)
    with guest.client() as client:
        with Staged(client, guest, volume, "ext4") as staged:
            guest.sh(f"echo golden > {staged.publish()}/file; sync")
        snapshot = volumes.snapshot(control, "s", volume.volume_id)
        inline = Inline(client, guest, "pod", snapshotHandle=snapshot.snapshot_id, mapper="krbd")
        target = inline.publish()
        assert guest.sh(f"cat {target}/file; echo mine > {target}/file").strip() == "golden"
        stats = client.NodeGetVolumeStats(volume_id=inline.volume_id, volume_path=target)
        assert "mapped by krbd" in stats.volume_condition.message
        inline.unpublish()
    assert guest.leftovers() == []
    left = lambda: [name for name in cluster.images(volumes.POOL) if name.startswith("imprint.e")]
    assert left() == []


def test_nbd_process_is_replaced(guests, control):
    """Killed under a mounted filesystem, alone and together with the plugin: writes wait."""
    guest = guests[0]
    with guest.client() as client:
        with Staged(client, guest, create(control, "v", "nbd"), "ext4") as staged:
            target = staged.publish()
            with refused(CODES.ALREADY_EXISTS, "is there writable"):  # and it stays there
                Staged(client, guest, staged.volume, "ext4", "MULTI_NODE_READER_ONLY").stage()
            guest.sh("kill -9 $(pidof rbd-nbd)")
            guest.sh(f"echo first > {target}/file; sync")
            guest.kill_plugin()
            guest.sh("kill -9 $(pidof rbd-nbd)")
            guest.start_plugin()
            guest.sh(f"echo second > {target}/file; sync")
            assert guest.sh(f"cat {target}/file").strip() == "second"
            volumes.patiently(staged.stats)


def test_no_key_is_shown(cluster, guests, control):
    with open(f"{cluster.dir}/imprint.keyring", encoding="ascii") as file:
        key = next(line.split("= ")[1].strip() for line in file if "key = " in line)
    guest = guests[0]
    with guest.client() as client:
        with Staged(client, guest, create(control, "a", "krbd"), name="a"):
            with Staged(client, guest, create(control, "b", "nbd"), name="b"):
                shown = guest.sh("cat /proc/[0-9]*/cmdline /tmp/node.log /run/imprint-node/*.conf "
                                 "/sys/bus/rbd/devices/*/config_info; dmesg")
                assert key not in shown
