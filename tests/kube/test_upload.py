# SPDX-License-Identifier: Apache-2.0
"""Images that are sent to the populator, by good clients and by others."""

import contextlib
import gzip
import hashlib
import json
import lzma
import os
import signal
import socket
import subprocess
import time
import zlib

import pytest

import kubectl
import process
from upload_client import Client

VMIM = "virtualmachineimage"
MB = 1 << 20


def await_equal(name, disk, bytes_of):
    kubectl.await_state(VMIM, name, "Available")
    assert bytes_of(kubectl.await_bound(f"{name}-image-pvc"), 64 * MB) == disk["raw"]


def sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("form", ["qcow2", "raw"])
def test_an_image_is_uploaded_in_one_go(client, sent, disk, bytes_of, form):
    data = disk[form]
    status, head, answer = client.put(sent, data, X_Checksum=sha256(data), Prefer="wait=60")
    assert (status, answer["state"]) == (201, "Available"), answer
    assert head["Upload-Offset"] == str(len(data))
    await_equal(sent, disk, bytes_of)
    image = kubectl.get(VMIM, sent)
    assert image["status"]["format"] == form and image["status"]["source"] == "upload"
    status, _, answer = client.put(sent, data[:MB])
    assert status == 409 and "Available" in answer["message"]


def test_as_the_manual_says(populator, tokens, sent, disk, bytes_of, tmp_path):
    """curl, as in docs/upload.md."""
    file = tmp_path / "disk.qcow2"
    file.write_bytes(disk["qcow2"])
    done = subprocess.run([
        "curl", "--fail-with-body", "--silent", "--show-error", "--cacert",
        populator.authority.bundle, "--header", f"Authorization: Bearer {tokens['editor']}",
        "--header", f"X-Checksum: {sha256(disk['qcow2'])}", "--upload-file", str(file),
        f"https://{populator.upload}/v1/namespaces/default/images/{sent}"
    ], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["offset"] == len(disk["qcow2"])
    await_equal(sent, disk, bytes_of)


def test_pieces_go_on_where_it_was_left(client, sent, disk, bytes_of):
    data = disk["qcow2"]
    middle = 5 * MB + 123
    status, head, answer = client.piece(sent, data, 0, middle - 1)
    assert (status, head["Upload-Offset"], answer["offset"]) == (200, str(middle), middle)
    assert kubectl.get(VMIM, sent)["status"]["upload"]["offset"] == middle
    assert kubectl.get(VMIM, sent)["status"]["progress"].endswith("%")
    # begun anew, in the same pieces
    assert client.piece(sent, data, 0, middle - 1)[0] == 200
    assert kubectl.get(VMIM, sent)["status"]["upload"]["offset"] == middle
    # from elsewhere it does not go on
    for first in (middle + 1, middle - 1):
        status, head, answer = client.piece(sent, data, first, len(data) - 1)
        assert (status, head["Upload-Offset"]) == (409, str(middle)), answer
    status, _, _ = client.piece(sent, data, middle, len(data) - 1)
    assert status == 202
    await_equal(sent, disk, bytes_of)


@pytest.mark.parametrize("form", ["qcow2", "raw", "qcow2.gz"])
def test_it_goes_straight_into_the_image(client, sent, disk, bytes_of, cluster, form):
    data = gzip.compress(disk["qcow2"], 1) if form == "qcow2.gz" else disk[form]
    half = len(data) // 2
    assert client.piece(sent, data, 0, half - 1)[0] == 200
    status = kubectl.get(VMIM, sent)["status"]
    assert status["upload"]["into"] == status["volumeHandle"] and "handle" not in status["upload"]
    assert len(cluster.images(os.environ["POOL"])) == 1, "something is kept beside it"
    # what is on record may be behind what is there, where a populator died between the two; and ahead of it never
    for offset, expected in ((half + 1, 409), (half - MB // 2, 202)):
        record = json.dumps({"status": {"upload": {"offset": offset}}})
        kubectl.run("patch", VMIM, sent, "--subresource=status", "--type=merge", "-p", record)
        status, head, answer = client.piece(sent, data, offset, len(data) - 1, X_Checksum=sha256(data))
        assert status == expected, answer
        assert head["Upload-Offset"] == str(half if status == 409 else len(data))
    await_equal(sent, disk, bytes_of)
    assert kubectl.get(VMIM, sent)["status"]["digest"] == sha256(data)
    assert len(cluster.images(os.environ["POOL"])) == 1


def test_what_could_not_be_gone_on_with_is_kept_first(client, sent, disk, bytes_of, cluster, tmp_path):
    raw, qcow2 = tmp_path / "disk.raw", tmp_path / "disk.qcow2"
    raw.write_bytes(os.urandom(2 * MB))
    subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, qcow2], check=True)
    data = lzma.compress(qcow2.read_bytes(), preset=0)
    # another file before it, which need not be
    assert client.piece(sent, disk["qcow2"], 0, MB - 1)[0] == 200
    assert "into" in kubectl.get(VMIM, sent)["status"]["upload"]
    assert client.piece(sent, data, 0, MB - 1)[0] == 200
    status = kubectl.get(VMIM, sent)["status"]
    assert "handle" in status["upload"] and "into" not in status["upload"] and "volumeHandle" not in status
    assert client.piece(sent, data, MB, len(data) - 1)[0] == 202
    kubectl.await_state(VMIM, sent, "Available")
    assert bytes_of(kubectl.await_bound(f"{sent}-image-pvc"), 2 * MB) == raw.read_bytes()
    kubectl.until(lambda: len(cluster.images(os.environ["POOL"])) == 1, "what was kept is gone")


def test_a_larger_disk_in_place_of_the_first(client, sent, disk, bytes_of, cluster):
    assert client.piece(sent, b"\xfd7zXZ\0" + bytes(MB), 0, 999)[0] == 200
    assert "handle" in kubectl.get(VMIM, sent)["status"]["upload"]
    small = bytes(range(256)) * (2 * MB // 256)
    assert client.piece(sent, small, 0, MB - 1)[0] == 200
    assert "handle" not in kubectl.get(VMIM, sent)["status"]["upload"]
    kubectl.until(lambda: len(cluster.images(os.environ["POOL"])) == 1, "what was kept is gone")
    assert client.put(sent, disk["raw"], Prefer="wait=60")[0] == 201
    await_equal(sent, disk, bytes_of)


def test_damage_is_told_where_it_is(client, sent, disk, cluster):
    packer = zlib.compressobj(1, wbits=31)
    good = packer.compress(disk["qcow2"][:4 * MB]) + packer.flush(zlib.Z_FULL_FLUSH)
    data = good + b"\xff" * (2 * MB)  # no block begins so
    assert client.piece(sent, data, 0, len(good) - 1)[0] == 200
    status, _, answer = client.piece(sent, data, len(good), len(good) + MB - 1)
    assert (status, answer["state"]) == (422, "Error") and "gzip" in answer["message"], answer
    assert client.piece(sent, data, len(good) + MB, len(data) - 1)[0] == 409
    kubectl.until(lambda: not cluster.images(os.environ["POOL"]), "nothing is left")


def test_a_client_that_hangs_up_goes_on(client, sent, disk, bytes_of):
    data = disk["qcow2"]
    client.begin(sent, data, 0, 9 * MB).close()
    kubectl.until(lambda: client.offset(sent) == 9 * MB, "what came is kept")
    kubectl.until(lambda: client.piece(sent, data, 9 * MB, len(data) - 1)[0] == 202, "it goes on", 30)
    await_equal(sent, disk, bytes_of)


def test_a_killed_populator_loses_nothing_it_acknowledged(client, sent, disk, bytes_of, populator):
    data = disk["qcow2"]
    assert client.piece(sent, data, 0, 6 * MB - 1)[0] == 200
    connection = client.begin(sent, data, 6 * MB, 4 * MB)
    seen = kubectl.until(lambda: client.offset(sent) > 6 * MB and client.offset(sent), "more is safe")
    populator.kill()
    connection.close()
    populator.start()

    def alive():
        try:
            return client.offset(sent)
        except OSError:
            return 0

    assert kubectl.until(alive, "it is back") >= seen
    client.go_on(sent, data)
    await_equal(sent, disk, bytes_of)


def test_a_killed_worker_is_told_and_gone_on_behind(client, sent, disk, bytes_of, populator):
    data = disk["qcow2"]
    connection = client.begin(sent, data, 0, 4 * MB)
    safe = kubectl.until(lambda: client.offset(sent), "something is safe")
    for pid in process.children(populator.pid):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(OSError):  # it is cut off, or answered
        connection.send(data[4 * MB:])
        answer = connection.getresponse()
        assert answer.status == 503 and int(answer.headers["Upload-Offset"]) >= safe
    connection.close()
    kubectl.until(lambda: client.piece(sent, data, client.offset(sent), len(data) - 1)[0] == 202, "it goes on", 60)
    await_equal(sent, disk, bytes_of)


def test_what_was_sent_is_kept_until_the_import_is_on_record(client, sent, disk, bytes_of, populator,
                                                             refusals, cluster):
    available = json.dumps({"status": {"state": "Available"}})
    kubectl.apply(kubectl.image("probe", {"upload": {}}))
    refusals.add("available", kubectl.GROUP, "v1alpha1", "virtualmachineimages/status", ["UPDATE"],
                 "!has(object.status.state) || object.status.state != 'Available'",
                 lambda: kubectl.run("patch", VMIM, "probe", "--subresource=status", "--type=merge", "-p", available),
                 "Forbidden")
    assert client.put(sent, disk["qcow2"])[0] == 202
    kubectl.await_bound("sent-image-pvc")
    populator.kill()
    refusals.lift()
    populator.start()
    await_equal(sent, disk, bytes_of)
    kubectl.until(lambda: "handle" not in kubectl.get(VMIM, sent)["status"]["upload"], "it is let go of")
    assert len(cluster.images(os.environ["POOL"])) == 1


def test_what_nobody_goes_on_with_is_dropped(client, sent, disk, bytes_of, populator, another_populator, tokens,
                                             cluster):
    data = disk["qcow2"]
    assert client.piece(sent, data, 0, 6 * MB - 1)[0] == 200
    populator.kill()
    with another_populator("strict", "--upload-expiry", "3") as strict:
        other = Client(strict, tokens["editor"])
        kubectl.until(lambda: any("UploadExpired" in event for event in kubectl.events(sent)), "it is dropped", 30)
        kubectl.until(lambda: "upload" not in kubectl.get(VMIM, sent)["status"], "and not on record")
        kubectl.until(lambda: not cluster.images(os.environ["POOL"]), "nothing of it is left")
        assert other.put(sent, data)[0] == 202
        await_equal(sent, disk, bytes_of)


def test_another_populator_goes_on(client, sent, disk, bytes_of, tokens, second_populator):
    data = disk["qcow2"]
    assert client.piece(sent, data, 0, 6 * MB - 1)[0] == 200
    other = Client(second_populator, tokens["editor"])
    kubectl.until(lambda: is_up(other), "it serves")
    assert other.piece(sent, data, 6 * MB, len(data) - 1)[0] == 202
    await_equal(sent, disk, bytes_of)


def test_another_populator_goes_on_behind_a_dead_one(client, sent, disk, bytes_of, tokens, populator,
                                                     second_populator):
    data = disk["qcow2"]
    other = Client(second_populator, tokens["editor"])
    kubectl.until(lambda: is_up(other), "it serves")
    connection = client.begin(sent, data, 0, 4 * MB)
    kubectl.until(lambda: other.offset(sent) > 0, "something is safe")
    began = time.monotonic()
    status, head, answer = other.piece(sent, data, 0, 1000)
    assert status == 503 and head["Retry-After"] and "another populator" in answer["message"]
    assert time.monotonic() - began < 10
    populator.kill()
    connection.close()
    other.go_on(sent, data)
    await_equal(sent, disk, bytes_of)


def is_up(client):
    try:
        client.connect().connect()
        return True
    except OSError:
        return False


def test_one_at_a_time(client, sent, disk, bytes_of):
    data = disk["qcow2"]
    connection = client.begin(sent, data, 0, 2 * MB)
    kubectl.until(lambda: client.offset(sent) > 0, "it runs")
    status, head, answer = client.put(sent, data)
    assert status == 409 and "one at a time" in answer["message"] and head["Retry-After"]
    connection.send(data[2 * MB:])
    assert connection.getresponse().status == 202
    await_equal(sent, disk, bytes_of)


def test_a_wrong_checksum_is_found(client, sent, disk, cluster):
    status, _, answer = client.put(sent, disk["qcow2"], X_Checksum="sha256:" + "0" * 64,
                                   Prefer="wait=60")
    assert (status, answer["state"]) == (422, "Error") and "sha256" in answer["message"]
    kubectl.until(lambda: not cluster.images("imprint"), "nothing is left")


def test_what_is_no_image_is_told(client, sent, cluster):
    broken = b"QFI\xfb\0\0\0\3" + b"\xff" * 4096
    status, _, answer = client.put(sent, broken, Prefer="wait=60")
    assert (status, answer["state"]) == (422, "Error") and answer["message"]
    kubectl.until(lambda: not cluster.images("imprint"), "nothing is left")


def test_an_image_deleted_during_its_upload(client, sent, disk, cluster):
    connection = client.begin(sent, disk["qcow2"], 0, 2 * MB)
    kubectl.until(lambda: client.offset(sent) > 0, "it runs")
    kubectl.delete(VMIM, sent, wait=False)
    for at in range(2 * MB, len(disk["qcow2"]), MB):
        connection.send(disk["qcow2"][at:at + MB])
        time.sleep(0.05)
    answer = connection.getresponse()
    assert answer.status in (404, 409) and b"deleted" in answer.read()
    kubectl.until(lambda: kubectl.get(VMIM, sent) is None, "it is gone")
    kubectl.until(lambda: not cluster.images("imprint"), "nothing is left")


def test_an_image_deleted_while_its_client_is_silent(client, sent, disk, cluster):
    connection = client.begin(sent, disk["qcow2"], 0, 2 * MB)
    kubectl.until(lambda: client.offset(sent) > 0, "it runs")
    kubectl.delete(VMIM, sent, wait=False)
    kubectl.until(lambda: kubectl.get(VMIM, sent) is None, "nobody waits for the client", 15)
    kubectl.until(lambda: not cluster.images("imprint"), "nothing is left", 15)
    connection.close()


def test_who_may_not_is_told_nothing(client, sent, tokens, populator):
    nobody, viewer = Client(populator, None), Client(populator, tokens["viewer"])
    status, head, answer = nobody.put(sent, b"x")
    assert status == 401 and "Bearer" in head["WWW-Authenticate"] and "token" in answer["message"]
    assert nobody.ask("GET", sent)[0] == 401
    elsewhere = kubectl.run("create", "token", "editor", "--audience", "https://elsewhere").strip()
    for wrong in ("forged", elsewhere):
        status, _, answer = Client(populator, wrong).put(sent, b"x")
        assert status == 401 and "expired" in answer["message"]
    status, _, answer = viewer.put(sent, b"x")
    assert status == 403 and "virtualmachineimages/upload" in answer["message"]
    assert viewer.ask("GET", sent)[0] == 403
    # whether there is such an image in a namespace of others, neither
    for name in (sent, "nothing"):
        status, _, answer = client.ask("PUT", name, b"x", namespace="kube-system")
        assert status == 403 and "kube-system" in answer["message"]
    assert "upload" not in kubectl.get(VMIM, sent)["status"]


def test_what_is_asked_wrongly_is_refused(client, sent, disk):
    assert client.put("nothing", b"x")[0] == 404
    for path in ("/", "/v1/namespaces/default/images/", "/v1/namespaces/default/images/..",
                 "/v1/namespaces/../images/x", "/v1/namespaces/default/images/a/b",
                 "/v1/namespaces/default/images/..%2f..%2fpods", "/v1/namespaces/DEFAULT/images/x",
                 "/v1/namespaces/default/images/a%00b", "/v1/namespaces/default/images/" + "a" * 300):
        status, _, answer = client.ask("PUT", None, b"x", path=path)
        assert status == 404, (path, status, answer)
    assert client.ask("DELETE", sent)[0] == 405
    assert client.ask("POST", sent, b"x")[0] == 405
    for content_range in ("bytes 0-9/5", "bytes 5-4/10", "bytes 0-9/*", "bytes */10", "0-9/10",
                          "bytes 0-8/10", "bytes 0-99999999999999999999/10", "bytes -1-8/10"):
        status, _, answer = client.put(sent, b"0123456789", Content_Range=content_range)
        assert status == 400 and "Content-Range" in answer["message"], content_range
    status, _, answer = client.put(sent, b"x", X_Checksum="md5:0")
    assert status == 400 and "X-Checksum" in answer["message"]
    status, _, answer = client.put(sent, iter([b"x"]))
    assert status == 411 and "Content-Length" in answer["message"]
    status, _, answer = client.put(sent, b"")
    assert status == 400 and "Content-Length" in answer["message"]
    assert "upload" not in kubectl.get(VMIM, sent)["status"]


def test_limits(client, disk):
    kubectl.apply(
        kubectl.image("small", {"upload": {}}, pvc={"resources": {"requests": {"storage": "1Mi"}}}),
        kubectl.image("other", {"http": "http://127.0.0.1:1/x"}, retry={"limit": 1000}))
    status, _, answer = client.put("small", b"x", Content_Length=str(1 << 50))
    assert status == 413 and "1 TiB" in answer["message"]
    status, _, answer = client.put("small", b"x", Content_Length=str(1 << 30))
    assert status == 413 and "spec.pvc.resources.requests.storage" in answer["message"]
    status, _, answer = client.put("small", disk["raw"], Prefer="wait=60")
    assert (status, answer["state"]) == (422, "Error"), answer
    assert "spec.pvc.resources.requests.storage is 1Mi" in answer["message"]
    status, _, answer = client.put("other", b"x")
    assert status == 409 and "spec.source" in answer["message"]
    kubectl.apply(kubectl.image("told", {"upload": {}}, checksum=sha256(disk["raw"])))
    status, _, answer = client.put("told", b"x", X_Checksum=sha256(b"x"))
    assert status == 400 and "spec.checksum" in answer["message"]


def test_strangers_do_not_hold_it_up(client, sent, disk, bytes_of):
    """Connections that say nothing, half a head, or no TLS at all."""
    host, port = client.address.split(":")
    strangers = [socket.create_connection((host, int(port))) for _ in range(40)]
    for stranger in strangers[:10]:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
    for stranger in strangers[10:20]:
        wrapped = client.context.wrap_socket(stranger.dup(), server_hostname="127.0.0.1")
        wrapped.sendall(b"PUT /v1/namespaces/default/images/sent HTTP/1.1\r\nContent-Le")
        strangers.append(wrapped)
    assert client.put(sent, disk["qcow2"], Prefer="wait=60")[0] == 201
    await_equal(sent, disk, bytes_of)
    for stranger in strangers:
        stranger.close()


def test_a_renewed_certificate_is_taken_up(client, sent, disk, populator, bytes_of):
    data = disk["qcow2"]

    def serial():
        host, port = client.address.split(":")
        with socket.create_connection((host, int(port))) as plain, \
                client.context.wrap_socket(plain, server_hostname="127.0.0.1") as wrapped:
            return wrapped.getpeercert()["serialNumber"]

    before = serial()
    connection = client.begin(sent, data, 0, 2 * MB)
    for path, text in zip(populator.certificate,
                          map(read, populator.authority.issue("renewed", "IP:127.0.0.1"))):
        with open(path + ".new", "wb") as file:
            file.write(text)
        os.replace(path + ".new", path)
    kubectl.until(lambda: serial() != before, "the new one is shown")
    connection.send(data[2 * MB:])
    assert connection.getresponse().status == 202, "what was under way was cut off"
    await_equal(sent, disk, bytes_of)


def read(path):
    with open(path, "rb") as file:
        return file.read()
