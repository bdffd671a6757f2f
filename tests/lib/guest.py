# SPDX-License-Identifier: Apache-2.0
"""A virtual machine that runs imprint-node, on Debian's kernel, without KVM.

    with Guest(files, ceph_dir, number=1) as guest, guest.client() as client:
        client.NodeStageVolume(...)
        guest.sh("cat /var/lib/kubelet/...")

Its CSI socket and a shell are reached over TCP, in the private network of the group: the bridge br0,
10.99.0.254 on our side, 10.99.0.1 on that of Ceph. Killing it is a power cut."""

import json
import os
import socket
import subprocess
import time

import csi
import process
import volumes

CSI_PORT, SHELL_PORT = 9000, 9001
KUBELET = "/var/lib/kubelet"
CEPH = "10.99.0.1"


class Guest:
    def __init__(self, files, ceph_dir, number, workdir):
        self.files, self.ceph_dir, self.number = str(files), str(ceph_dir), number
        self.address = f"10.99.0.{10 + number}"
        self.tap = f"tap{number}"
        self.log = os.path.join(str(workdir), f"guest-{number}.log")
        self.process = self.pid_file = None
        self.program, self.environment = "imprint-node", {}

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                ["qemu-system-x86_64", "-accel", "tcg", "-m", "1024", "-smp", "1", "-nographic",
                 "-no-reboot", "-kernel", f"{self.files}/vmlinuz", "-initrd",
                 f"{self.files}/initrd", "-append",
                 f"console=ttyS0 quiet panic=-1 guest_ip={self.address}",
                 "-netdev", f"tap,id=n,ifname={self.tap},script=no,downscript=no",
                 "-device", f"virtio-net-pci,netdev=n,mac=52:54:00:00:00:{self.number:02x}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.pid_file = process.record(f"guest.{self.process.pid}", self.process.pid)
        volumes.wait_until(lambda: self._answers() or self.process.poll() is not None, 400, 0.5)
        assert self.process.poll() is None and self._answers(), self.log_text()[-2000:]
        self._configure()
        self.start_plugin()
        return self

    def _answers(self):
        with socket.socket() as probe:
            probe.settimeout(2)
            return probe.connect_ex((self.address, SHELL_PORT)) == 0

    def sh(self, script, timeout_s=120):
        """Runs a script in the guest; what it wrote. It fails when the script does."""
        with socket.create_connection((self.address, SHELL_PORT), timeout_s) as shell:
            shell.sendall(f"({script}\n) 2>&1 </dev/null\necho \"__END__ $?\"\nexit\n".encode())
            answer = b"".join(iter(lambda: shell.recv(65536), b"")).decode(errors="replace")
        text, _, status = answer.rpartition("__END__ ")
        assert status.strip() == "0", f"{script}\n{answer}"
        return text

    def put(self, path, text):
        self.sh(f"cat > {path} <<'__FILE__'\n{text}\n__FILE__\nchmod 600 {path}")

    def _configure(self):
        with open(f"{self.ceph_dir}/imprint.keyring", encoding="ascii") as file:
            self.put("/etc/imprint/keyring", file.read())
        with open(f"{self.ceph_dir}/ceph.conf", encoding="ascii") as file:
            monitors = next(line for line in file if line.startswith("mon host"))
        v1 = monitors.split("v1:")[1].rstrip("]\n ")
        self.put("/etc/imprint/clusters.json", json.dumps({"clusters": [{
            "clusterID": volumes.CLUSTER_ID, "monitors": [v1], "user": "imprint",
            "keyring": "/etc/imprint/keyring"}]}))

    def start_plugin(self):
        environment = " ".join(f"{name}={value}" for name, value in self.environment.items())
        self.sh(f"rm -f /csi/csi.sock; {environment} setsid {self.program} --registration-dir= "
                f"--log-level=debug --node-name=guest-{self.number} >>/tmp/node.log 2>&1 "
                "</dev/null & echo $! >/tmp/node.pid")
        self.sh("for i in $(seq 300); do [ -S /csi/csi.sock ] && exit 0; sleep 0.1; done; "
                "cat /tmp/node.log; exit 1")
        self.sh(f"[ -e /tmp/relay ] || {{ touch /tmp/relay; setsid socat TCP-LISTEN:{CSI_PORT},"
                "fork,reuseaddr UNIX-CONNECT:/csi/csi.sock >/dev/null 2>&1 </dev/null & }")
        with self.client() as client:
            client.wait_ready(60)

    def kill_plugin(self):
        self.sh("kill -9 $(cat /tmp/node.pid); rm -f /csi/csi.sock")

    def plugin_runs(self):
        return self.sh("grep -qs '^State:[[:space:]]*[RSDTtI]' /proc/$(cat /tmp/node.pid)/status "
                       "&& echo yes || echo no").strip() == "yes"

    def cut_off(self):
        """What it sends to the cluster gets lost; we go on reaching it, from another address."""
        self.sh(f"arp -s {CEPH} 02:00:00:00:00:99")

    def rejoin(self):
        self.sh(f"arp -d {CEPH}")

    def client(self):
        return csi.Client(f"{self.address}:{CSI_PORT}", deadline_s=180)

    def staging(self, name):
        path = f"{KUBELET}/staging/{name}/globalmount"
        self.sh(f"mkdir -p {path}")
        return path

    def target(self, name):
        self.sh(f"mkdir -p {KUBELET}/pods/{name}")
        return f"{KUBELET}/pods/{name}/mount"

    def leftovers(self):
        """Mounts of kubelet's folder, mapped devices and what is left of them."""
        return self.sh(f"grep ' {KUBELET}/' /proc/self/mountinfo; ls /sys/bus/rbd/devices; "
                       "for n in /sys/block/nbd*; do [ ! -e $n/pid ] || echo $n; done; "
                       "cat /sys/block/loop*/loop/backing_file 2>/dev/null; pidof rbd-nbd; "
                       "cd /run/imprint-node; ls | grep -v -e '^ceph$' -e '[.]conf$'; true").split()

    def plugin_log(self):
        return self.sh("cat /tmp/node.log")

    def log_text(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def power_cut(self):
        if self.process:
            self.process.kill()
            self.process.wait(30)
            process.forget(self.pid_file)
            self.process = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.power_cut()
