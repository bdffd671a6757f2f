# SPDX-License-Identifier: Apache-2.0
"""The two machines that volumes are brought to: this one, where only FUSE serves, and a virtual one, whose kernel has
rbd and nbd. Each can run a command, and stage a volume by its plugin."""

import os
import subprocess

import volumes
from guest import Guest
from node import Node
from staged import Staged


class Here:
    """This machine."""
    mappers = ("fuse",)

    def __init__(self, ceph_dir):
        self.ceph_dir = ceph_dir
        # No kubelet looks for it, and in the scratch folder of a scratch folder its socket's path is too long.
        self.node = Node(ceph_dir, arguments=["--registration-dir="])
        self.conf = os.path.join(ceph_dir, "ceph.conf")
        self.work = self.node.workdir

    def __enter__(self):
        self.node.__enter__()
        self.client = self.node.client()
        return self

    def __exit__(self, *details):
        self.client.close()
        return self.node.__exit__(*details)

    def sh(self, script):
        done = subprocess.run(["/bin/bash", "-euc", script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout


class There:
    """The virtual machine."""
    mappers = ("krbd", "nbd")
    work = "/tmp"
    conf = "/etc/imprint/ceph.conf"

    def __init__(self, files, ceph_dir, folder):
        self.ceph_dir = ceph_dir
        self.node = Guest(files, ceph_dir, 1, folder)

    def __enter__(self):
        self.node.start()
        self.client = self.node.client()
        monitor = volumes_monitor(self.ceph_dir)
        self.node.put(self.conf, f"[global]\nmon host = v1:{monitor}\nkeyring = /etc/imprint/keyring\n"
                                 "admin socket =\nlog file = /dev/null\nrun dir = /tmp\n")
        self.node.sh("mkdir -p /var/run/ceph")
        return self

    def __exit__(self, *_):
        self.client.close()
        self.node.power_cut()

    def sh(self, script):
        return self.node.sh(f"set -e\n{script}", timeout_s=300)


def volumes_monitor(ceph_dir):
    with open(os.path.join(ceph_dir, "ceph.conf"), encoding="ascii") as file:
        line = next(line for line in file if line.startswith("mon host"))
    return line.split("v1:")[1].rstrip("]\n ")


def key_of(ceph_dir):
    with open(os.path.join(ceph_dir, "imprint.keyring"), encoding="ascii") as file:
        return next(line.split("= ")[1].strip() for line in file if "key = " in line)


def staged(machine, volume, fs_type=None):
    return Staged(machine.client, machine.node, volume, fs_type)


def image_name(volume_name):
    return f"imprint.v.{volume_name}"


POOL = volumes.POOL
