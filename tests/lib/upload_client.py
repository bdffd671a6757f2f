# SPDX-License-Identifier: Apache-2.0
"""Whoever sends images to the populator."""

import http.client
import json
import ssl
import time


class Client:
    """A person with a token, and one kind of things to send to."""

    def __init__(self, populator, token, collection="images"):
        self.address = populator.upload
        self.collection = collection
        self.bundle = populator.authority.bundle
        self.context = ssl.create_default_context(cafile=self.bundle)
        self.token = token

    def connect(self):
        host, port = self.address.split(":")
        return http.client.HTTPSConnection(host, int(port), timeout=20, context=self.context)

    def ask(self, method, name, body=None, namespace="default", path=None, **headers):
        """(status, head, JSON); header names with _ in place of -."""
        connection = self.connect()
        fields = {key.replace("_", "-"): value for key, value in headers.items()}
        if self.token:
            fields.setdefault("Authorization", f"Bearer {self.token}")
        try:
            connection.request(method,
                               path or f"/v1/namespaces/{namespace}/{self.collection}/{name}", body,
                               fields)
            answer = connection.getresponse()
            text = answer.read()
            is_json = answer.headers["Content-Type"] == "application/json"
            return answer.status, answer.headers, json.loads(text) if text and is_json else text
        finally:
            connection.close()

    def put(self, name, data, **headers):
        return self.ask("PUT", name, data, **headers)

    def piece(self, name, data, first, last, **headers):
        return self.put(name, data[first:last + 1],
                        Content_Range=f"bytes {first}-{last}/{len(data)}", **headers)

    def go_on(self, name, data, timeout_s=90):
        """Sends what is left, once the populator serves. Ceph, and other populators, may take one
        that was killed for alive for up to half a minute; until then a client is told so at once."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            try:
                offset = self.offset(name)
            except OSError:
                time.sleep(0.2)
                continue
            began = time.monotonic()
            status, head, answer = self.piece(name, data, offset, len(data) - 1)
            seconds = time.monotonic() - began
            if status == 202:
                return
            print(f"after {seconds:.1f} s: {status} {answer}")
            assert status == 503 and head["Retry-After"] and "try again" in answer["message"]
            assert seconds < 10, "nobody is kept waiting"
            time.sleep(1)
        raise AssertionError(f"not within {timeout_s} s")

    def begin(self, name, data, first, count):
        """Sends so many bytes of what is left, and leaves the connection open. The last of them
        come so late that the others are on record."""
        connection = self.connect()
        connection.putrequest("PUT", f"/v1/namespaces/default/{self.collection}/{name}")
        connection.putheader("Authorization", f"Bearer {self.token}")
        connection.putheader("Content-Length", str(len(data) - first))
        connection.putheader("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        connection.endheaders()
        connection.send(data[first:first + count - 1000])
        time.sleep(2.5)
        connection.send(data[first + count - 1000:first + count])
        return connection

    def offset(self, name):
        status, head, _ = self.ask("GET", name)
        assert status == 200
        return int(head["Upload-Offset"])
