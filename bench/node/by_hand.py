# SPDX-License-Identifier: Apache-2.0
"""The same devices without a plugin: what a person would type, as scripts. map() leaves the device's path in $device."""

from machines import POOL, image_name, key_of, volumes_monitor


def krbd(machine, name):
    monitor, key = volumes_monitor(machine.ceph_dir), key_of(machine.ceph_dir)
    image = image_name(name)
    return (f"echo '{monitor} name=imprint,secret={key} {POOL} {image} -' >/sys/bus/rbd/add_single_major\n"
            "id=$(ls /sys/bus/rbd/devices); device=/dev/rbd$id\n",
            "echo $id >/sys/bus/rbd/remove_single_major\n")


def nbd(machine, name):
    return (f"device=$(rbd-nbd map --id imprint -c {machine.conf} {POOL}/{image_name(name)})\n",
            "rbd-nbd unmap $device\nwhile pidof rbd-nbd >/dev/null; do sleep 0.01; done\n")


def fuse(machine, name):
    place = f"{machine.work}/by-hand"
    image = (f"driver=rbd,node-name=image,pool={POOL},image={image_name(name)},conf={machine.conf},user=imprint,"
             "discard=unmap")
    return (f"touch {place}\n"
            f"qemu-storage-daemon --blockdev {image} --pidfile {place}.pid "
            f"--export type=fuse,id=file,node-name=image,mountpoint={place},writable=on --daemonize\n"
            f"device=$(losetup --find --show --direct-io=on {place})\n",
            f"losetup -d $device\nwhile losetup -j {place} | grep -q .; do sleep 0.01; done\n"
            f"kill $(cat {place}.pid)\nwhile kill -0 $(cat {place}.pid 2>/dev/null) 2>/dev/null; do sleep 0.01; done\n"
            f"rm -f {place}\n")


MAPPERS = {"krbd": krbd, "nbd": nbd, "fuse": fuse}
