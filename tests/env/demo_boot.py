# SPDX-License-Identifier: Apache-2.0
"""The small bootable disk of `./dev demo` ($BOOT_DISK), and virtual machines that boot from copies of it."""

import os
import re
import subprocess

from demo_screen import quote
from images import qemu_img

DISK = os.environ["BOOT_DISK"]
MARKER = os.environ["BOOT_MARKER"]
BOOT_TIMEOUT_S = 300


def packed():
    """The disk as a compressed qcow2."""
    path = DISK + ".qcow2"
    if not os.path.exists(path):
        qemu_img("convert", "-c", "-f", "raw", "-O", "qcow2", DISK, path)
    return path


def drive(cluster, volume):
    """As QEMU names it."""
    with cluster.volume(volume, read_only=True) as image:
        name = image.get_name()
    return f"rbd:{os.environ['POOL']}/{name}:conf={cluster.conf}"


def boot(cluster, volume, serial):
    """How often the disk was booted from; what the machine says on its serial line, of its marker's, is shown."""
    console = subprocess.run(
        ["qemu-system-x86_64", "-accel", "tcg", "-m", "256", "-nodefaults", "-display", "none",
         "-no-reboot", "-serial", "stdio", "-drive",
         f"file={drive(cluster, volume)},format=raw,if=none,id=disk,cache=writeback",
         "-device", f"virtio-blk-pci,drive=disk,serial={serial}"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=True,
        timeout=BOOT_TIMEOUT_S).stdout
    said = re.search(rf"{MARKER}: boot (\d+), .*, disk {serial}", console)
    assert said, f"it did not boot; the console:\n{console}"
    quote(said[0])
    return int(said[1])
