# SPDX-License-Identifier: Apache-2.0
"""Several Ceph clusters from one configuration file, which is read again when it changes."""

import json
import os
import shutil
import subprocess
import time

import pytest

import ceph
import volumes
from ceph import Cluster
from controller import Controller
from volumes import CODES, MIB, create, parameters, refused

OTHER_POOL = "elsewhere"


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """A second Ceph, with a pool of another name."""
    folder = tmp_path_factory.mktemp("second") / "ceph"
    run = {"check": True, "stdin": subprocess.DEVNULL}
    subprocess.run([ceph.CEPH_SH, "ceph_up", folder], **run)
    try:
        subprocess.run([ceph.CEPH_SH, "ceph_pool", folder, OTHER_POOL], **run)
        with Cluster(folder) as connected:
            yield connected
    finally:
        subprocess.run([ceph.CEPH_SH, "ceph_down", folder], **run)


def entry(cluster, cluster_id, **changed):
    """A cluster's part of the configuration; None takes a field out."""
    fields = {
        "clusterID": cluster_id,
        "confFile": cluster.conf,
        "user": "imprint",
        "keyring": os.path.join(cluster.dir, "imprint.keyring"),
        **changed,
    }
    return {key: value for key, value in fields.items() if value is not None}


class Configured:
    """A controller of its own, whose configuration a test may change."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.path = os.path.join(self.folder, "clusters.json")

    def write(self, *entries):
        self.write_text(json.dumps({"clusters": entries}))

    def write_text(self, text):
        """As Kubernetes changes a ConfigMap's file: another one takes its place."""
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(self.path + ".new", self.path)

    def start(self):
        return Controller(self.folder, os.path.join(self.folder, "run"))


@pytest.fixture
def configured(cluster, other, tmp_path):
    yield Configured(tmp_path)
    volumes.assert_nothing_left(cluster)
    volumes.assert_nothing_left(other, [OTHER_POOL])


def place(cluster_id, pool=volumes.POOL):
    return parameters(clusterID=cluster_id, pool=pool)


def test_two_clusters(cluster, other, configured):
    configured.write(entry(cluster, "a"), entry(other, "b"))
    with configured.start() as controller, controller.client() as client:
        here = create(client, "here", MIB, parameters=place("a"))
        there = create(client, "there", MIB, parameters=place("b", OTHER_POOL))
        assert cluster.images(volumes.POOL) == ["imprint.v.here"]
        assert other.images(OTHER_POOL) == ["imprint.v.there"]
        assert here.volume_id.startswith("1:a:") and there.volume_id.startswith("1:b:")
        listed = {item.volume.volume_id for item in volumes.listed_volumes(client, 1)}
        assert listed == {here.volume_id, there.volume_id}

        snaps = [
            volumes.snapshot(client, f"s{i}", volume.volume_id)
            for i, volume in enumerate((here, there))
        ]
        listed = {snap.snapshot_id for snap in volumes.listed_snapshots(client, 1)}
        assert listed == {snap.snapshot_id for snap in snaps}
        create(client, "copy", MIB, parameters=place("b", OTHER_POOL), source=snaps[1].snapshot_id)

        with refused(CODES.INVALID_ARGUMENT, "source lies in cluster 'a', .* in 'b'"):
            create(client, "cross", MIB, parameters=place("b", OTHER_POOL), source=here.volume_id)
        with refused(CODES.INVALID_ARGUMENT, "clusterID is needed: .* 2 clusters"):
            create(client, "which", MIB, parameters=parameters(clusterID=None))
        with refused(CODES.INVALID_ARGUMENT, "cluster 'b' has no pool 'imprint'"):
            create(client, "which", MIB, parameters=place("b"))
        one = client.GetCapacity(parameters=place("a")).available_capacity
        assert volumes.wait_until(lambda: client.GetCapacity().available_capacity > one * 3 // 2)
        volumes.delete_all(client)
        volumes.assert_nothing_left(cluster)  # while there is still a purger
        volumes.assert_nothing_left(other, [OTHER_POOL])


def test_configuration_is_read_again(cluster, other, configured):
    configured.write(entry(cluster, "a"))
    with configured.start() as controller, controller.client() as client:
        create(client, "here", MIB, parameters=place("a"))
        with refused(CODES.INVALID_ARGUMENT, "no cluster 'b' in the configuration"):
            create(client, "there", MIB, parameters=place("b", OTHER_POOL))

        configured.write(entry(cluster, "a"), entry(other, "b"))  # a new one appears
        create(client, "there", MIB, parameters=place("b", OTHER_POOL))

        for bad in (
            "{",
            "",
            "[]",
            '{"clusters": []}',
            '{"clusters": [{"clusterID": "a"}]}',
            json.dumps({"clusters": [entry(cluster, "a"), entry(cluster, "a")]}),
            json.dumps({"clusters": [entry(cluster, "a", typo="x")]}),
            "\0" * 100,
            "x" * 2000000,
        ):
            configured.write_text(bad)  # what was read before stays in force
            assert len(volumes.listed_volumes(client)) == 2
            create(client, "there", MIB, parameters=place("b", OTHER_POOL))
        log = controller.log_text()
        assert log.count("configuration is bad, what was read before stays in force") == 9
        os.unlink(configured.path)
        assert len(volumes.listed_volumes(client)) == 2

        configured.write(entry(other, "b"))  # one goes: its volumes are not gone
        assert len(volumes.listed_volumes(client)) == 1
        handle = f"1:a:{cluster.rados.pool_lookup(volumes.POOL)}::abc"
        with refused(CODES.FAILED_PRECONDITION, "no cluster 'a'"):
            client.DeleteVolume(volume_id=handle)

        configured.write(entry(cluster, "a"), entry(other, "b"))
        volumes.delete_all(client)
        volumes.assert_nothing_left(cluster)  # while there is still a purger
        volumes.assert_nothing_left(other, [OTHER_POOL])


def test_cluster_moves_to_another_user(cluster, configured):
    """A changed entry is connected anew, with what it says now."""
    configured.write(entry(cluster, "a"))
    with configured.start() as controller, controller.client() as client:
        create(client, "one", MIB, parameters=place("a"))
        configured.write(
            entry(cluster, "a", user="admin", keyring=os.path.join(cluster.dir, "keyring"))
        )
        create(client, "two", MIB, parameters=place("a"))
        volumes.delete_all(client)
        volumes.assert_nothing_left(cluster)


def test_monitors_and_key_file(cluster, configured):
    """Without any ceph.conf: addresses and a file with the bare key."""
    monitors = [
        f"{address}" for address in cluster.rados.conf_get("mon_host").strip("[]").split(",")
    ]
    with open(os.path.join(cluster.dir, "imprint.keyring"), encoding="ascii") as keyring:
        key = next(line.split("=", 1)[1].strip() for line in keyring if "key =" in line)
    key_file = os.path.join(configured.folder, "key")
    with open(key_file, "w", encoding="ascii") as file:
        file.write(key)
    plain = [address.removeprefix("v2:").removeprefix("v1:") for address in monitors[:1]]
    configured.write({"clusterID": "a", "monitors": plain, "user": "imprint", "keyFile": key_file})
    with configured.start() as controller, controller.client() as client:
        create(client, "one", MIB, parameters=place("a"))
        volumes.delete_all(client)
        volumes.assert_nothing_left(cluster)
        assert key not in controller.log_text()


@pytest.mark.parametrize("what", ["wrong key", "no key", "unknown user", "nobody listens"])
def test_cluster_that_does_not_let_us_in(cluster, configured, what):
    """The others go on, and the message says what is wrong, without the key."""
    keyring = os.path.join(configured.folder, "keyring")
    wrong = "AQBrb29sAAAAABAAd3Jvbmcga2V5IQAAAAAAAA=="
    with open(keyring, "w", encoding="ascii") as file:
        file.write(f"[client.imprint]\n\tkey = {wrong}\n[client.nobody]\n\tkey = {wrong}\n")
    bad = {
        "wrong key": entry(cluster, "bad", keyring=keyring),
        "no key": entry(cluster, "bad", keyring="/nonexistent/keyring"),
        "unknown user": entry(cluster, "bad", keyring=keyring, user="nobody"),
        "nobody listens": entry(cluster, "bad", confFile=None, monitors=["127.0.0.1:1"]),
    }[what]
    configured.write(entry(cluster, "a"), bad)
    with configured.start() as controller, controller.client() as client:
        create(client, "one", MIB, parameters=place("a"))
        start = time.monotonic()
        with refused(CODES.UNAVAILABLE, "cluster 'bad'"):
            create(client, "two", MIB, parameters=place("bad"))
        assert time.monotonic() - start < 20
        create(client, "three", MIB, parameters=place("a"))
        configured.write(entry(cluster, "a"))
        volumes.delete_all(client)
        volumes.assert_nothing_left(cluster)
        assert wrong not in controller.log_text()


def test_bad_configuration_at_start(cluster, configured):
    for text, said in (
        ("{", "not valid JSON"),
        ("{}", "wants an object with a list 'clusters'"),
        ('{"clusters": [{"clusterID": "a b", "confFile": "x"}]}', "clusters\\[0\\].clusterID"),
    ):
        configured.write_text(text)
        with pytest.raises(RuntimeError, match=said):
            configured.start().start()
    shutil.rmtree(os.path.join(configured.folder, "run"), ignore_errors=True)
