# SPDX-License-Identifier: Apache-2.0
"""What pods see of their volumes."""

import kubectl
import pods
from pods import claimed


def files(name, size="64Mi", **more):
    """A claim with a filesystem."""
    return kubectl.claim(name, size, volumeMode="Filesystem", **more)


def disk(name, size="32Mi"):
    return kubectl.claim(name, size, volumeMode="Block")


def test_what_pods_write_is_there_for_the_next(node):
    kubectl.apply(files("files"), disk("disk"))
    pods.start(pods.pod("writes", claimed("files")),
               pods.pod("writes-disk", claimed("disk"), is_block=True))
    assert "/data ext4" in pods.sh("writes", "grep /data /proc/mounts")
    pods.sh("writes", "echo hello >/data/file")
    pods.sh("writes-disk", "yes imprint | dd of=/dev/data bs=64k count=16 iflag=fullblock; sync")
    digest = pods.sh("writes-disk", "dd if=/dev/data bs=64k count=16 | sha256sum")
    pods.delete("writes", "writes-disk")
    kubectl.until(lambda: node.leftovers() == [], "unstaged")
    pods.start(pods.pod("reads", claimed("files")),
               pods.pod("reads-disk", claimed("disk"), is_block=True))
    assert pods.sh("reads", "cat /data/file") == "hello\n"
    assert pods.sh("reads-disk", "dd if=/dev/data bs=64k count=16 | sha256sum") == digest


def snapshot(name, claim):
    """Takes one; its handle."""
    kubectl.apply({
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshot",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"volumeSnapshotClassName": "rbd",
                 "source": {"persistentVolumeClaimName": claim}},
    })
    ready = lambda: (kubectl.get("volumesnapshot", name).get("status") or {}).get("readyToUse")
    kubectl.until(ready, "the snapshot is ready")
    content = kubectl.get("volumesnapshot", name)["status"]["boundVolumeSnapshotContentName"]
    return kubectl.get("volumesnapshotcontent", content)["status"]["snapshotHandle"]


def filled(name):
    """A claim with a file in it, in use by a pod."""
    kubectl.apply(files(name))
    pods.start(pods.pod(f"uses-{name}", claimed(name)))
    pods.sh(f"uses-{name}", "echo first >/data/file; sync")


def test_a_restored_snapshot_and_a_clone(node):
    filled("source")
    snapshot("taken", "source")
    pods.sh("uses-source", "echo second >/data/file; sync")
    from_snapshot = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot",
                     "name": "taken"}
    from_claim = {"kind": "PersistentVolumeClaim", "name": "source"}
    kubectl.apply(files("restored", dataSource=from_snapshot),
                  files("cloned", "96Mi", dataSource=from_claim))
    pods.start(pods.pod("old", claimed("restored")), pods.pod("new", claimed("cloned")))
    assert pods.sh("old", "cat /data/file") == "first\n"
    assert pods.sh("new", "cat /data/file") == "second\n"
    assert int(pods.sh("new", "df -k /data | tail -1").split()[1]) > 80 * 1024  # it has grown
    pods.sh("old", "echo third >/data/file; sync")
    assert pods.sh("uses-source", "cat /data/file") == "second\n"


def test_inline_volumes_in_ten_pods(node, cluster):
    filled("golden")
    handle = snapshot("golden", "golden")
    names = [f"web-{i}" for i in range(10)]
    pods.start(*(pods.pod(name, pods.inline(snapshotHandle=handle), script=(
        f"cat /data/file >/data/got && echo {name} >/data/file && {pods.FOREVER}"))
                 for name in names))
    for name in names:
        assert pods.sh(name, "cat /data/got /data/file") == f"first\n{name}\n"
    assert pods.sh("uses-golden", "cat /data/file") == "first\n"
    # an image of another namespace
    kubectl.apply(pods.pod("thief", pods.inline(snapshotHandle=handle), namespace="other"))
    kubectl.until(lambda: any("not for pods of namespace" in event
                              for event in kubectl.events("thief", "other")), "it is refused")
    kubectl.delete("pod", "thief", namespace="other")
    pods.delete(*names)
    left = lambda: [name for name in cluster.images("imprint") if name.startswith("imprint.e")]
    kubectl.until(lambda: not left(), f"the clones are gone, or {left()}")


def test_a_claim_grows_under_its_pod(node):
    kubectl.apply(files("grows", "320Mi", storage_class="rbd-xfs"))
    pods.start(pods.pod("uses", claimed("grows")))
    kubectl.run("patch", "pvc", "grows", "-p",
                '{"spec": {"resources": {"requests": {"storage": "448Mi"}}}}')
    size = lambda: int(pods.sh("uses", "df -k /data | tail -1").split()[1])
    kubectl.until(lambda: size() > 360 * 1024, "the filesystem grows")
    kubectl.until(lambda: kubectl.get("pvc", "grows")["status"]["capacity"]["storage"] == "448Mi",
                  "the claim says so")


def knows(name):
    """Whether kubelet lets one into the pod."""
    try:
        return pods.sh(name, "echo yes") == "yes\n"
    except kubectl.Refused:
        return False


COUNTS = "i=0; while :; do i=$((i + 1)); echo $i >{0}; sync {0}; sleep 0.1; done"


def test_the_plugin_and_kubelet_end_under_running_pods(node):
    """Their I/O goes on; afterwards new pods come and these go."""
    kubectl.apply(files("files"), disk("disk"), files("late"))
    pods.start(pods.pod("writes", claimed("files"), script=COUNTS.format("/data/count")),
               pods.pod("writes-disk", claimed("disk"), is_block=True, script=pods.FOREVER))

    def count():
        return int(pods.sh("writes", "cat /data/count") or 0)

    def goes_on(what):
        before = count()
        kubectl.until(lambda: count() > before, f"writing goes on {what}")
        pods.sh("writes-disk", "date >/dev/data; sync")

    kubectl.until(lambda: count() > 0, "it writes")
    node.kill()
    goes_on("without the plugin")
    kubectl.apply(pods.pod("later", claimed("late")))
    node.start()
    goes_on("with a new plugin")
    pods.await_running("later")  # what was asked for meanwhile
    node.restart_kubelet()
    kubectl.until(lambda: knows("writes") and knows("writes-disk"), "kubelet knows its pods again")
    goes_on("with a new kubelet")
    pods.delete("writes")
    pods.start(pods.pod("reads", claimed("files")))
    assert int(pods.sh("reads", "cat /data/count")) > 0


def test_pods_and_claims_that_go_together_leave_nothing(node, nothing_left):
    kubectl.apply(*((disk if i % 2 else files)(f"claim-{i}") for i in range(4)))
    pods.start(*(pods.pod(f"pod-{i}", claimed(f"claim-{i}"), is_block=bool(i % 2))
                 for i in range(4)))
    kubectl.run("delete", "pod,pvc", "--all", "-n", "default", "--wait=false")
    nothing_left()
