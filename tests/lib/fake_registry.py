# SPDX-License-Identifier: Apache-2.0
"""A registry in memory that lies, breaks off and forgets on demand. What it gives is what a real one
gives, unless a test changes it: it is for the faults that a real one does not have."""

import base64
import hashlib
import http.server
import json
import re
import socket
import threading
import time
import urllib.parse

import oci_image


class FakeRegistry:
    """Set the members to what a test needs; all requests are kept in `requests`."""

    def __init__(self):
        self.blobs = {}
        self.manifests = {}  # by tag or digest: (media type, bytes)
        self.tags = None  # what a listing says; None: the tags there are
        self.requests = []  # (method, path, headers)
        self.sent = 0  # bytes of bodies
        self.bytes_per_second = None  # of each answer
        self.has_ranges = True
        self.has_digest_header = True
        self.has_head = True
        self.change = {}  # digest: function of the blob's bytes, what is sent in place of them
        self.lie_length = {}  # digest: what Content-Length says, while all bytes are sent
        self.break_after = {}  # digest: a list of byte counts; each answer breaks off after one
        self.on_break = lambda: None  # called in front of each of these breaks
        self.redirect_to = None  # where blobs lie
        self.tokens = None  # acceptable bearer tokens; None: all are let in
        self.challenge = None  # the WWW-Authenticate of a refusal
        self.token_answer = None  # function of (query, headers) that makes a token answer
        self.uploads = {}
        self.patch_faults = []  # what happens to the next PATCHes: ("break", bytes), ("status", 500)
        self.patch_seconds = 0  # that an answer to a PATCH takes, as long as it stays set
        self.forgets_uploads = False  # when a PATCH breaks, as docker-registry does
        self.put_faults = []  # what happens to the next PUTs of blobs: "lost", ("status", 500)
        self.upload_host = None  # another server that uploads are sent to
        self.lock = threading.Lock()
        registry = self

        class Handler(_Handler):
            fake = registry

        self.server = _Server(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def add(self, image, *names):
        self.blobs.update(image.blobs)
        for name in (*names, image.digest):
            self.manifests[name] = (oci_image.MANIFEST, image.manifest)
        return image

    def add_index(self, data, name):
        self.manifests[name] = self.manifests[oci_image.digest(data)] = (oci_image.INDEX, data)

    def url(self, name="t/disk:latest"):
        return f"docker://{self.host}/{name}"

    def count(self, method, part):
        return sum(1 for m, path, _ in self.requests if m == method and part in path)

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a client that goes away is not an error here


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fake = None

    def log_message(self, *_):
        pass

    # ---- answers

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.write(body)

    def write(self, body):
        """In pieces, so that what nobody takes is not counted."""
        for start in range(0, len(body), 65536):
            piece = body[start:start + 65536]
            self.wfile.write(piece)
            if self.fake.bytes_per_second:
                time.sleep(len(piece) / self.fake.bytes_per_second)
            with self.fake.lock:
                self.fake.sent += len(piece)

    def break_off(self):
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def refuse(self):
        challenge = self.fake.challenge or f'Bearer realm="http://{self.fake.host}/token"'
        self.answer(401, b"{}", WWW_Authenticate=challenge)

    def is_let_in(self):
        if self.fake.tokens is None:
            return True
        scheme, _, credentials = self.headers.get("Authorization", "").partition(" ")
        return scheme == "Bearer" and credentials in self.fake.tokens

    # ---- requests

    def route(self):
        with self.fake.lock:
            self.fake.requests.append((self.command, self.path, dict(self.headers)))
        parts = urllib.parse.urlsplit(self.path)
        if parts.path == "/token":
            return self.on_token(parts)
        if not self.is_let_in():
            self.read_body()
            return self.refuse()
        if parts.path == "/v2/":
            return self.answer(200, b"{}")
        match = re.fullmatch(r"/v2/(.+?)/(manifests|blobs|tags)/(.+?)/?", parts.path)
        if not match:
            return self.answer(404)
        _, kind, rest = match.groups()
        if kind == "tags":
            return self.on_tags(parts)
        if kind == "manifests":
            return self.on_manifest(rest)
        if rest.startswith("uploads"):
            return self.on_upload(rest, urllib.parse.parse_qs(parts.query))
        return self.on_blob(rest)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = route

    def read_body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def on_token(self, parts):
        query = urllib.parse.parse_qs(parts.query)
        if self.command == "POST":
            query = urllib.parse.parse_qs(self.read_body().decode())
        basic = self.headers.get("Authorization", "").partition(" ")[2]
        status, answer = self.fake.token_answer(query, base64.b64decode(basic).decode())
        self.answer(status, json.dumps(answer).encode())

    def on_tags(self, parts):
        query = urllib.parse.parse_qs(parts.query)
        tags = self.fake.tags
        if tags is None:
            tags = sorted(name for name in self.fake.manifests if ":" not in name)
        count = int(query["n"][0])
        last = query.get("last", [""])[0]
        tags = [tag for tag in tags if tag > last][:min(count, 7)]  # fewer than asked for
        self.answer(200, json.dumps({"name": "x", "tags": tags or None}).encode())

    def on_manifest(self, name):
        if self.command == "PUT":
            body = self.read_body()
            self.fake.manifests[name] = (self.headers["Content-Type"], body)
            self.fake.manifests[oci_image.digest(body)] = self.fake.manifests[name]
            return self.answer(201, Docker_Content_Digest=oci_image.digest(body))
        if name not in self.fake.manifests:
            return self.answer(404, b'{"errors":[{"code":"MANIFEST_UNKNOWN"}]}')
        if self.command == "HEAD" and not self.fake.has_head:
            return self.answer(405)
        media_type, body = self.fake.manifests[name]
        real = oci_image.digest(body)
        body = self.fake.change.get(real, lambda data: data)(body)
        headers = {"Content_Type": media_type}
        if self.fake.has_digest_header:
            headers["Docker_Content_Digest"] = real
        self.answer(200, body, **headers)

    def on_blob(self, name):
        fake = self.fake
        if name not in fake.blobs:
            return self.answer(404, b'{"errors":[{"code":"BLOB_UNKNOWN"}]}')
        if fake.redirect_to:
            return self.answer(307, Location=f"http://{fake.redirect_to}/v2/x/blobs/{name}")
        data = fake.change.get(name, lambda blob: blob)(fake.blobs[name])
        status, headers = 200, {}
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if fake.has_ranges:
            headers["Accept_Ranges"] = "bytes"
        if wanted and fake.has_ranges:
            first, last = int(wanted[1]), int(wanted[2] or len(data) - 1)
            if first >= len(data):
                return self.answer(416, Content_Range=f"bytes */{len(data)}")
            last = min(last, len(data) - 1)
            headers["Content_Range"] = f"bytes {first}-{last}/{len(data)}"
            status, data = 206, data[first:last + 1]
        length = fake.lie_length.get(name, len(data))
        limits = fake.break_after.get(name)
        if limits and self.command == "GET" and len(data) > 1:
            limit = limits.pop(0)
            self.send_head(status, len(data), headers)
            self.write(data[:limit])
            fake.on_break()
            return self.break_off()
        self.answer(status, data, Content_Length=length, **headers)
        if length != len(data):
            self.break_off()

    def send_head(self, status, length, headers):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": length}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    # ---- uploads

    def on_upload(self, rest, query):
        fake = self.fake
        if self.command == "POST":
            return self.on_upload_begin(query)
        name = rest.partition("/")[2]
        if name not in fake.uploads:
            self.read_body()
            return self.answer(404, b'{"errors":[{"code":"BLOB_UPLOAD_UNKNOWN"}]}')
        if self.command == "GET":
            return self.answer_upload(204, name)
        if self.command == "DELETE":
            del fake.uploads[name]
            return self.answer(204)
        if self.command == "PATCH":
            return self.on_patch(name)
        return self.on_upload_end(name, query["digest"][0])

    def on_upload_begin(self, query):
        self.read_body()
        name = f"upload{len(self.fake.requests)}"
        self.fake.uploads[name] = bytearray()
        self.answer_upload(202, name)

    def answer_upload(self, status, name):
        host = self.fake.upload_host
        base = f"http://{host}" if host else ""
        size = len(self.fake.uploads[name])
        self.answer(status, Location=f"{base}/v2/t/disk/blobs/uploads/{name}?state=x%2Fy",
                    Range=f"0-{max(size - 1, 0)}")

    def on_patch(self, name):
        fake = self.fake
        upload = fake.uploads[name]
        fault = fake.patch_faults.pop(0) if fake.patch_faults else None
        if fault and fault[0] == "status":
            self.read_body()
            return self.answer(fault[1])
        if fault and fault[0] == "break":
            upload += self.rfile.read(min(fault[1], int(self.headers["Content-Length"])))
            if fake.forgets_uploads:
                del fake.uploads[name]
            return self.break_off()
        first, last = map(int, self.headers["Content-Range"].split("-"))
        body = self.read_body()
        if first != len(upload) or last + 1 != first + len(body):
            return self.answer(416)
        upload += body
        started = time.monotonic()
        while time.monotonic() - started < fake.patch_seconds:
            time.sleep(0.05)
        if fault and fault[0] == "lost":  # it worked, and nobody hears of it
            return self.break_off()
        self.answer_upload(202, name)

    def on_upload_end(self, name, digest):
        fake = self.fake
        self.read_body()
        fault = fake.put_faults.pop(0) if fake.put_faults else None
        if fault and fault != "lost":
            return self.answer(fault[1])
        data = bytes(fake.uploads[name])
        if "sha256:" + hashlib.sha256(data).hexdigest() != digest:
            return self.answer(400, b'{"errors":[{"code":"DIGEST_INVALID"}]}')
        fake.blobs[digest] = data
        del fake.uploads[name]
        if fault == "lost":
            return self.break_off()
        self.answer(201, Docker_Content_Digest=digest, Location="/somewhere")
