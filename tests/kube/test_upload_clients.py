# SPDX-License-Identifier: Apache-2.0
"""Clients of the upload server who do not know how, or mean harm: each is told what is wrong, and
nothing stays behind it. test_upload.py has those who know."""

import json
import os
import socket
import subprocess

import pytest

import kubectl
from upload_client import Client

VMIM = "virtualmachineimage"
MB = 1 << 20


@pytest.fixture
def file(disk, tmp_path):
    path = tmp_path / "disk.qcow2"
    path.write_bytes(disk["qcow2"])
    return path


def curl(client, path, *arguments, stdin=None):
    """(status, JSON, bytes that were sent)"""
    done = subprocess.run([
        "curl", "--silent", "--show-error", "--max-time", "30", "--cacert", client.bundle, "--header",
        f"Authorization: Bearer {client.token}", "--write-out", "\n%{http_code} %{size_upload}",
        *arguments, f"https://{client.address}{path}"
    ], input=stdin, capture_output=True, check=False)
    text, _, numbers = done.stdout.decode().rpartition("\n")
    status, sent = numbers.split()
    return int(status), json.loads(text) if text.startswith("{") else text, int(sent)


def speak(client, text, is_answered=True):
    """What is answered to something that need not be HTTP, until the server hangs up."""
    host, port = client.address.split(":")
    with socket.create_connection((host, int(port)), timeout=20) as plain, \
            client.context.wrap_socket(plain, server_hostname="127.0.0.1") as wrapped:
        answer = b""
        try:
            wrapped.sendall(text.encode())
            while is_answered and (piece := wrapped.recv(1 << 16)):
                answer += piece
        except OSError:  # it was cut off
            pass
        return answer.decode(errors="replace")


PATH = "/v1/namespaces/default/images/sent"
NOTHING = PATH.replace("sent", "nothing")


def head(client, *fields, method="PUT", path=PATH):
    lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {client.token}",
             "Connection: close", *fields]
    return "\r\n".join(lines) + "\r\n\r\n"


def test_curl_as_people_type_it(client, sent, file, disk, bytes_of):
    data = disk["qcow2"]
    # a pipe has no length
    status, answer, _ = curl(client, PATH, "--upload-file", "-", stdin=data[:MB])
    assert status == 411 and "Content-Length" in answer["message"] and "file" in answer["message"]
    # a form, as browsers send it
    status, answer, _ = curl(client, PATH, "--form", f"file=@{file}")
    assert status == 405 and "PUT" in answer["message"]
    # the file's name behind a slash: curl adds it
    status, answer, _ = curl(client, PATH + "/", "--upload-file", str(file))
    assert status == 404 and "/images/NAME" in answer["message"]
    # who asks first does not send a file that nobody wants
    status, answer, count = curl(client, NOTHING, "--upload-file", str(file),
                                 "--header", "Expect: 100-continue", "--expect100-timeout", "20")
    assert (status, count) == (404, 0) and "nothing" in answer["message"]
    # and who does not is told all the same
    status, answer, _ = curl(client, NOTHING, "--upload-file", str(file),
                             "--header", "Expect:")
    assert status == 404 and "nothing" in answer["message"]
    status, answer, _ = curl(client, PATH, "--upload-file", str(file), "--http1.0", "--header",
                             "Prefer: respond-async, wait=60")
    assert (status, answer["state"]) == (201, "Available"), answer
    assert bytes_of(kubectl.await_bound("sent-image-pvc"), 64 * MB) == disk["raw"]


def test_what_is_hardly_http(client, sent, populator):
    assert " 411 " in speak(client, head(client, "Content-Length: 3", "Transfer-Encoding: chunked") +
                            "3\r\nabc\r\n0\r\n\r\n")
    for fields in (["Content-Length: 3", "Content-Length: 300"], ["Content-Length: -3"],
                   ["Content-Length: 3x"], ["Content-Length: 99999999999999999999999"]):
        answer = speak(client, head(client, *fields, path=NOTHING) + "abc")
        assert not answer or answer.split()[1] in ("400", "404", "413"), (fields, answer)
    for size, statuses in ((100 << 10, ["404"]), (1 << 20, ["400", "413", "431"])):
        answer = speak(client, head(client, "X-Long: " + "x" * size, "Content-Length: 3", path=NOTHING) + "abc")
        assert (not answer and size == 1 << 20) or answer.split()[1] in statuses, (size, answer[:100])
    assert Client(populator, "x" * 70000).put(sent, b"x")[0] == 401
    answer = speak(client, head(client, method="OPTIONS"))
    assert " 405 " in answer and "Allow: PUT, GET, HEAD" in answer
    answer = speak(client, head(client, method="HEAD"))
    assert " 200 " in answer and "Upload-Offset: 0" in answer and answer.endswith("\r\n\r\n")
    assert " 404 " in speak(client, head(client, "Content-Length: 3", path="/v1/namespaces/default/"
                                         "images/..%2F..%2F..%2Fv1%2Fpods") + "abc")
    assert " 405 " in speak(client, head(client, "Content-Length: 3", method="FROB") + "abc")
    speak(client, "\x16\x03\x01" * 1000, is_answered=False)
    speak(client, head(client, "Content-Length: 1000000") + "abc", is_answered=False)
    kubectl.until(lambda: client.ask("GET", sent)[0] == 200, "it serves")


def test_a_checksum_that_comes_late_and_zeros(client, sent, cluster):
    """What is promised with any piece is compared at the end. What is there until then takes no room
    where it is nothing."""
    data = b"x" * MB + bytes(30 * MB) + b"y" * MB
    wrong, other = "sha256:" + "0" * 64, "sha256:" + "1" * 64
    assert client.piece(sent, data, 0, 2 * MB - 1)[0] == 200
    assert client.piece(sent, data, 2 * MB, 31 * MB - 1, X_Checksum=wrong)[0] == 200
    status, _, answer = client.piece(sent, data, 31 * MB, len(data) - 1, X_Checksum=other)
    assert status == 400 and wrong in answer["message"]
    used = []
    with cluster.volume(kubectl.get(VMIM, sent)["status"]["upload"]["into"], read_only=True) as image:
        image.diff_iterate(0, image.size(), None, lambda at, len, there: used.append(len * there))
    assert sum(used) <= 4 * MB
    status, _, answer = client.piece(sent, data, 31 * MB, len(data) - 1, Prefer="wait=60")
    assert (status, answer["state"]) == (422, "Error") and wrong[7:] in answer["message"], answer
    kubectl.until(lambda: not cluster.images(os.environ["POOL"]), "nothing is left")
