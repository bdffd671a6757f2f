# SPDX-License-Identifier: Apache-2.0
"""A small HTTP proxy: CONNECT for tunnels, and absolute URLs for plain HTTP. It writes down what it
was asked for in `asked`, and wants credentials when it was given some.

    with ConnectProxy() as proxy:
        probe(url, "--proxy", proxy.url)
        assert proxy.asked == ["CONNECT 127.0.0.1:8443"]
"""

import base64
import contextlib
import select
import socket
import threading
import urllib.parse

CONNECTIONS_MAX = 200
IDLE_S = 30


class ConnectProxy:

    def __init__(self, user=None, password=None):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.credentials = base64.b64encode(
            f"{user}:{password}".encode()).decode() if user else None
        self.asked = []
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def _accept(self):
        for _ in range(CONNECTIONS_MAX):
            try:
                client, _ = self.listener.accept()
            except OSError:  # stopped
                return
            threading.Thread(target=self._serve, args=(client, ), daemon=True).start()

    def _serve(self, client):
        client.settimeout(IDLE_S)
        with client, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                piece = client.recv(65536)
                if not piece:
                    return
                head += piece
            head, _, rest = head.partition(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            method, target, version = lines[0].split(" ")
            self.asked.append(f"{method} {target}")
            if self.credentials and f"Proxy-Authorization: Basic {self.credentials}" not in lines:
                client.sendall(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            elif method == "CONNECT":
                host, _, port = target.rpartition(":")
                with socket.create_connection((host, int(port)), IDLE_S) as server:
                    client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                    self._pump(client, server)
            else:
                self._forward(client, f"{method} %s {version}", target, lines[1:], rest)

    def _forward(self, client, first, target, headers, rest):
        """One request a connection."""
        url = urllib.parse.urlsplit(target)
        path = url.path + (f"?{url.query}" if url.query else "")
        kept = [line for line in headers if not line.lower().startswith(("proxy-", "connection:"))]
        head = "\r\n".join([first % path, *kept, "Connection: close"]) + "\r\n\r\n"
        with socket.create_connection((url.hostname, url.port or 80), IDLE_S) as server:
            server.sendall(head.encode("latin-1") + rest)
            self._pump(client, server)

    def _pump(self, client, server):
        other = {client: server, server: client}
        while not self.stopped.is_set():
            ready, _, _ = select.select([client, server], [], [], 0.2)
            for side in ready:
                data = side.recv(65536)
                if not data:
                    return
                other[side].sendall(data)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopped.set()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # wakes up who accepts
        self.thread.join(5)
        self.listener.close()
