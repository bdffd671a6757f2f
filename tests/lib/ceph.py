# SPDX-License-Identifier: Apache-2.0
"""The private Ceph as tests look at it: as administrator, past the driver."""

import contextlib
import json
import os
import subprocess
import time

import rados
import rbd

CEPH_SH = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "env", "ceph.sh"))

# Objects that RBD and the manager keep in a pool whether or not an image exists.
STANDING = {
    "rbd_directory", "rbd_info", "rbd_trash", "rbd_children", "rbd_mirroring", "rbd_namespace",
    "rbd_task", "rbd_trash_purge_schedule", "rbd_mirror_snapshot_schedule",
}

# Standing objects whose omap names images: a key in one of them is something left over.
INDEXES = ("rbd_directory", "rbd_trash", "rbd_children")


class Cluster:
    """A connection as client.admin to the cluster in `dir`."""

    def __init__(self, dir):
        self.dir = str(dir)
        self.conf = os.path.join(self.dir, "ceph.conf")
        self.rados = rados.Rados(conffile=self.conf, name="client.admin")
        self.rados.connect(timeout=30)

    def close(self):
        self.rados.shutdown()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @contextlib.contextmanager
    def ioctx(self, pool, namespace=""):
        with self.rados.open_ioctx(pool) as ioctx:
            ioctx.set_namespace(namespace)
            yield ioctx

    @contextlib.contextmanager
    def image(self, pool, name, namespace="", read_only=False):
        with self.ioctx(pool, namespace) as ioctx:
            with rbd.Image(ioctx, name, read_only=read_only) as image:
                yield image

    @contextlib.contextmanager
    def volume(self, handle, read_only=False):
        """The image behind a CSI volume id, "1:CLUSTER:POOL ID:NAMESPACE:IMAGE ID"."""
        _, _, pool_id, namespace, image_id = handle.split(":")
        with self.rados.open_ioctx2(int(pool_id)) as ioctx:
            ioctx.set_namespace(namespace)
            with rbd.Image(ioctx, image_id=image_id, read_only=read_only) as image:
                yield image

    def namespaces(self, pool):
        """All RBD namespaces of a pool, the default one ("") first."""
        with self.ioctx(pool) as ioctx:
            return ["", *rbd.RBD().namespace_list(ioctx)]

    def images(self, pool, namespace=""):
        with self.ioctx(pool, namespace) as ioctx:
            return rbd.RBD().list(ioctx)

    def remove_image(self, pool, name, namespace=""):
        """With its snapshots, and the checkpoint of an import; fine when there is none."""
        with self.ioctx(pool, namespace) as ioctx, contextlib.suppress(rbd.ImageNotFound):
            with rbd.Image(ioctx, name) as image:
                with contextlib.suppress(rados.ObjectNotFound):
                    ioctx.remove_object(f"imprint.checkpoint.{image.id()}")
                for snap in list(image.list_snaps()):
                    if image.is_protected_snap(snap["name"]):
                        image.unprotect_snap(snap["name"])
                    image.remove_snap(snap["name"])
            rbd.RBD().remove(ioctx, name)

    def put_image(self, pool, name, path):
        """What `rbd import` makes of a raw file."""
        self.rbd("import", "--no-progress", path, f"{pool}/{name}")

    def get_image(self, pool, name, path):
        """The image, or image@snapshot, as a raw file by `rbd export`."""
        self.rbd("export", "--no-progress", f"{pool}/{name}", path)
        return path

    def add_user(self, name, **rights):
        """client.NAME, with a keyring NAME.keyring in the cluster's folder."""
        words = [word for pair in rights.items() for word in pair]
        subprocess.run(["ceph", "-c", self.conf, "auth", "get-or-create", f"client.{name}", *words, "-o",
                        os.path.join(self.dir, f"{name}.keyring")], check=True, capture_output=True)

    def rbd(self, *arguments):
        return subprocess.run(["rbd", "-c", self.conf, *map(str, arguments)], check=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout

    def trash(self, pool, namespace=""):
        with self.ioctx(pool, namespace) as ioctx:
            return list(rbd.RBD().trash_list(ioctx))

    def snapshots(self, pool, name, namespace=""):
        with self.image(pool, name, namespace, read_only=True) as image:
            return list(image.list_snaps())

    def leftovers(self, pool, standing=()):
        """What is in a pool that no empty pool has, a line each, all namespaces: images, their
        snapshots, trash, index entries, objects. `standing` names further objects that may stay."""
        found = []
        for namespace in self.namespaces(pool):
            place = f"{pool}/{namespace}" if namespace else pool
            for name in self.images(pool, namespace):
                found.append(f"image {place}/{name}")
                with contextlib.suppress(rbd.ImageNotFound):
                    found += [f"snapshot {place}/{name}@{snap['name']}"
                              for snap in self.snapshots(pool, name, namespace)]
            found += [f"trash {place}/{entry['id']} {entry['name']}"
                      for entry in self.trash(pool, namespace)]
            for index in INDEXES:
                found += [f"key {place}/{index} {key}"
                          for key in self.omap_keys(pool, index, namespace)
                          if key != "state"]  # of a namespace's directory: it is in use
        with self.ioctx(pool, rados.LIBRADOS_ALL_NSPACES) as ioctx:
            found += [f"object {pool}/{item.nspace}/{item.key}" for item in ioctx.list_objects()
                      if item.key not in STANDING and item.key not in standing]
        return sorted(found)

    def wait_empty(self, pool, timeout_s=60, standing=()):
        """Waits for deletions that go on in the background; what is left when the time is over."""
        deadline = time.monotonic() + timeout_s
        while (found := self.leftovers(pool, standing)) and time.monotonic() < deadline:
            time.sleep(0.2)
        return found

    def omap_keys(self, pool, name, namespace=""):
        keys = []
        with self.ioctx(pool, namespace) as ioctx:
            while True:
                with rados.ReadOpCtx() as operation:
                    batch, _ = ioctx.get_omap_keys(operation, keys[-1] if keys else "", 1000)
                    try:
                        ioctx.operate_read_op(operation, name)
                    except rados.ObjectNotFound:
                        return keys
                    batch = [key for key, _ in batch]
                if not batch:
                    return keys
                keys += batch

    def usage(self, pool):
        """The pool's line of `rados df`: num_bytes, num_objects, num_object_clones …; at most a second
        old."""
        with self.ioctx(pool) as ioctx:
            return ioctx.get_stats()

    def osd_map(self):
        command = json.dumps({"prefix": "osd dump", "format": "json"})
        return json.loads(self.rados.mon_command(command, b"")[1])

    def blocklist(self, address):
        """Throws a client out."""
        command = json.dumps({"prefix": "osd blocklist", "blocklistop": "add", "addr": address, "expire": 120.0})
        status, _, words = self.rados.mon_command(command, b"")
        assert status == 0, words

    def osd_addresses(self):
        """Where the OSD map says that clients reach the OSD: hosts and ports."""
        osd = self.osd_map()["osds"][0]
        texts = [entry["addr"] for entry in osd["public_addrs"]["addrvec"]]
        return [(host, int(port)) for host, port in (text.rsplit(":", 1) for text in texts)]

    # Faults of the daemons, by the functions of tests/env/ceph.sh.

    def osd_pause(self):
        """Stops answering, connections stay open."""
        self._ceph_sh("osd_pause")

    def osd_resume(self):
        self._ceph_sh("osd_resume")

    def osd_settle(self):
        """Behind a pause of more than a few seconds: until all objects can be read again."""
        self._ceph_sh("osd_settle")

    def osd_stop(self):
        """Ends the process, connections break."""
        self._ceph_sh("osd_stop")

    def osd_start(self):
        self._ceph_sh("osd_start")

    def mon_pause(self):
        self._ceph_sh("mon_pause")

    def mon_resume(self):
        self._ceph_sh("mon_resume")

    def _ceph_sh(self, function):
        subprocess.run([CEPH_SH, function, self.dir], check=True, stdin=subprocess.DEVNULL)
