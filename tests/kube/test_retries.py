# SPDX-License-Identifier: Apache-2.0
"""What fails is tried again after pauses that double. They are counted where the requests arrive."""

import datetime
import json
import time

import pytest

import golden
import kubectl
from fault_server import FaultServer

VMIM = "virtualmachineimage"
ANNOTATION = f"imprint.{kubectl.GROUP}/retry"
# Of two requests less than that apart the second belongs to the same attempt.
ATTEMPT_S = 0.7


class BusyServer(FaultServer):
    """Refuses everything for a reason that may pass, and that clients do not try again by
    themselves; is_ready ends that, and hands over to the other server."""

    def __init__(self, good):
        self.times = []
        self.is_ready = False
        self.good = good
        super().__init__(self.refuse)

    def refuse(self, request, reply):
        if self.is_ready:
            self.good.handler(request, reply)
            return
        self.times.append(time.monotonic())
        reply.answer(418, {}, b"not now")

    def pauses(self):
        """Between attempts."""
        pairs = zip(self.times, self.times[1:])
        return [after - before for before, after in pairs if after - before > ATTEMPT_S]


@pytest.fixture
def busy(server):
    with BusyServer(server) as running:
        yield running


def attempts(kind, name, field="attempts"):
    return (kubectl.get(kind, name) or {}).get("status", {}).get(field, 0)


def retry_now(kind, name):
    kubectl.run("annotate", kind, name, "--overwrite", f"{ANNOTATION}={time.time()}")


def seconds_to_go(kind, name):
    at = datetime.datetime.fromisoformat(kubectl.get(kind, name)["status"]["retryAt"])
    return (at - datetime.datetime.now(datetime.timezone.utc)).total_seconds()


def assert_no_attempt_for(busy, seconds):
    before = len(busy.times)
    time.sleep(seconds)
    assert len(busy.times) == before, "the pause was cut short"


def test_pauses_are_kept_and_double(busy):
    kubectl.apply(kubectl.image("busy", {"http": busy.url("/disk.qcow2")}, retry={"limit": 3}))
    kubectl.until(lambda: attempts(VMIM, "busy") == 2, "the second failure")
    status = kubectl.get(VMIM, "busy")["status"]
    assert status["state"] == "Creating"
    assert status["retryAt"] in kubectl.message(VMIM, "busy")
    assert "418" in kubectl.message(VMIM, "busy")
    kubectl.until(lambda: kubectl.state(VMIM, "busy") == "Error", "given up")
    pauses = busy.pauses()
    print(f"pauses {pauses}")
    # to the second, of which the first may be over already
    assert len(pauses) == 3
    assert all(pause > wanted - 1 for pause, wanted in zip(pauses, (2, 4, 8)))
    assert "retryAt" not in kubectl.get(VMIM, "busy")["status"]
    told = [event for event in kubectl.events("busy") if "Retried" in event and busy.url("") in event]
    assert len(told) == 1, "what is the same is counted"
    assert "418" in kubectl.message(VMIM, "busy")


def test_one_that_was_given_up_is_tried_again_on_request(busy, disk, bytes_of):
    kubectl.apply(kubectl.image("busy", {"http": busy.url("/disk.qcow2")}, retry={"limit": 0}))
    kubectl.until(lambda: kubectl.state(VMIM, "busy") == "Error", "given up")
    assert_no_attempt_for(busy, 2)
    retry_now(VMIM, "busy")
    kubectl.until(lambda: busy.pauses(), "another attempt", 10)
    kubectl.until(lambda: kubectl.state(VMIM, "busy") == "Error", "given up again")
    busy.is_ready = True
    retry_now(VMIM, "busy")
    kubectl.until(lambda: kubectl.state(VMIM, "busy") == "Available", "available")
    assert bytes_of(kubectl.await_bound("busy-image-pvc"), 64 << 20) == disk["raw"]


def test_pauses_hold_behind_a_restart_and_for_two_populators(busy, populator, second_populator,
                                                             server, disk, bytes_of):
    kubectl.apply(kubectl.image("busy", {"http": busy.url("/disk.qcow2")}, retry={"limit": 9}))
    kubectl.until(lambda: attempts(VMIM, "busy") == 3, "the third failure")
    populator.kill()
    populator.start()
    rest = seconds_to_go(VMIM, "busy") - 1
    assert rest > 2
    assert_no_attempt_for(busy, rest)
    kubectl.until(lambda: attempts(VMIM, "busy") == 4, "the fourth failure")
    # who does not want to wait asks for it
    assert seconds_to_go(VMIM, "busy") > 10
    before = len(busy.times)
    retry_now(VMIM, "busy")
    kubectl.until(lambda: len(busy.times) > before, "an attempt on request", 9)
    kubectl.until(lambda: attempts(VMIM, "busy") == 5, "the fifth failure")
    # or changes the spec
    assert seconds_to_go(VMIM, "busy") > 20
    kubectl.run("patch", VMIM, "busy", "--type=merge", "-p",
                json.dumps({"spec": {"source": {"http": server.url("/disk.qcow2")}}}))
    kubectl.await_state(VMIM, "busy", "Available", timeout_s=18)
    assert bytes_of(kubectl.await_bound("busy-image-pvc"), 64 << 20) == disk["raw"]


def test_a_data_volume_keeps_pauses_too(busy, populator, disk, bytes_of):
    kubectl.apply(golden.volume("busy", {"http": {"url": busy.url("/disk.qcow2")}}))
    kubectl.until(lambda: attempts("datavolume", "busy", "restartCount") == 3, "the third failure")
    populator.kill()
    populator.start()
    pauses = busy.pauses()
    assert all(pause > wanted - 1 for pause, wanted in zip(pauses, (2, 4))), pauses
    rest = seconds_to_go("datavolume", "busy") - 1
    assert rest > 2
    assert_no_attempt_for(busy, rest)
    busy.is_ready = True
    retry_now("datavolume", "busy")
    kubectl.until(lambda: kubectl.get("datavolume", "busy")["status"].get("phase") == "Succeeded",
                  "succeeded")
    assert bytes_of(kubectl.await_bound("busy"), 64 << 20) == disk["raw"]


def test_an_export_keeps_pauses_too(busy, server, s3):
    kubectl.apply(kubectl.image("base", {"http": server.url("/disk.qcow2")}),
                  kubectl.claim("copy", "64Mi", **kubectl.from_image("base")))
    kubectl.await_bound("copy")
    store = {"bucketName": "b", "objectName": "o", "endpoint": busy.url(""), "secretRef": "store"}
    kubectl.apply({
        "apiVersion": f"{kubectl.GROUP}/v1alpha1",
        "kind": "VirtualMachineVolumeExport",
        "metadata": {"name": "busy"},
        "spec": {"pvcName": "copy", "objectStore": store},
    })
    kubectl.until(lambda: attempts("virtualmachinevolumeexport", "busy") == 2, "the second failure")
    pauses = busy.pauses()
    assert pauses and pauses[0] > 1, pauses
    assert_no_attempt_for(busy, seconds_to_go("virtualmachinevolumeexport", "busy") - 1)
    retry_now("virtualmachinevolumeexport", "busy")
