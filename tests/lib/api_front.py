# SPDX-License-Identifier: Apache-2.0
"""Stands before the real API server, for clients that have its kubeconfig: hands everything on, but what
`refuse` answers in its place, and can be cut off. It counts connections and keeps what it was asked.

    with ApiFront(folder) as front:
        front.refuse = lambda request: 503 if request.method == "PATCH" else None
"""

import contextlib
import http.client
import json
import os
import re
import socket
import ssl

from fault_server import FaultServer

PIECE = 64 << 10
TIMEOUT_S = 60
ON_THE_WAY_ONLY = ("host", "connection", "content-length", "expect")
EXPIRED = re.compile(rb'"code":410\b')


class ApiFront:

    def __init__(self, folder):
        kube = os.environ["KUBE_DIR"]
        with open(os.path.join(kube, "address"), encoding="ascii") as file:
            self.address = file.read().strip()
        self.trust = ssl.create_default_context(cafile=os.path.join(kube, "pki", "ca.crt"))
        self.refuse = lambda request: None
        self.answered = lambda request: None  # called before an answer of the API server is handed on
        self.refused = []       # statuses
        self.expired = 0        # answers that the version asked for is no longer known
        self.is_cut_off = False
        self.under_way = set()  # connections to the API server
        certificate = os.path.join(kube, "pki", "apiserver")
        self.server = FaultServer(self._handle, tls=(f"{certificate}.crt", f"{certificate}.key"))
        self.kubeconfig = self._kubeconfig(folder)

    def _kubeconfig(self, folder):
        """The populator's, with our address."""
        with open(os.environ["IMPRINT_KUBECONFIG"], encoding="utf-8") as file:
            text = file.read()
        own = f"{self.server.address}:{self.server.port}"
        assert self.address in text
        path = os.path.join(folder, "front.kubeconfig")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(self.address, own))
        return path

    @property
    def connections(self):
        return self.server.connections

    @property
    def requests(self):
        return self.server.requests

    def cut_off(self):
        """Until restore(), nobody gets through."""
        self.is_cut_off = True
        for connection in list(self.under_way):
            with contextlib.suppress(OSError, AttributeError):  # it may be at its end
                connection.sock.shutdown(socket.SHUT_RDWR)

    def restore(self):
        self.is_cut_off = False

    def _handle(self, request, reply):
        if self.is_cut_off:
            reply.reset()
            return
        status = self.refuse(request)
        if status:
            self.refused.append(status)
            body = json.dumps({"kind": "Status", "code": status, "message": "a made up refusal"}).encode()
            reply.answer(status, {"Content-Type": "application/json", "Retry-After": "1"}, body)
            return
        connection = http.client.HTTPSConnection(self.address, context=self.trust, timeout=TIMEOUT_S)
        self.under_way.add(connection)
        try:
            self._hand_on(connection, request, reply)
        except http.client.HTTPException:  # the API server went away
            reply.reset()
        finally:
            self.under_way.discard(connection)
            connection.close()

    def _hand_on(self, connection, request, reply):
        headers = {name: value for name, value in request.headers.items() if name not in ON_THE_WAY_ONLY}
        connection.request(request.method, request.target, request.body or None, headers)
        answer = connection.getresponse()
        self.answered(request)
        reply.head(answer.status, {"Content-Type": answer.getheader("Content-Type", "text/plain"),
                                   "Transfer-Encoding": "chunked"})
        while piece := answer.read1(PIECE):
            self.expired += len(EXPIRED.findall(piece))
            reply.chunk(piece)
        reply.chunk(b"")

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.cut_off()
        self.server.__exit__(*what)
