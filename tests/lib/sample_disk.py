# SPDX-License-Identifier: Apache-2.0
"""A disk of 64 MiB with 24 MiB in it, in two pieces, and the same as a compressed qcow2."""

import subprocess

from fault_server import File


def make(folder):
    """The paths of the raw file and of the qcow2."""
    raw, qcow2 = folder / "disk.raw", folder / "disk.qcow2"
    with open(raw, "wb") as file:
        file.write(File(size=16 << 20, seed=7).data)
        file.seek(40 << 20)
        file.write(File(size=8 << 20, seed=8).data)
        file.truncate(64 << 20)
    subprocess.run(["qemu-img", "convert", "-c", "-f", "raw", "-O", "qcow2", raw, qcow2], check=True)
    return raw, qcow2
