# SPDX-License-Identifier: Apache-2.0
"""Hands out tokens for a docker-registry, as the token servers of large registries do: whoever has
the password gets what he asks for, others get nothing."""

import base64
import http.server
import json
import os
import subprocess
import threading
import time
import urllib.parse

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding

import registry


def _base64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class TokenServer:
    """Members to change: life_s of tokens. `asked` counts them."""

    def __init__(self, folder):
        self.life_s = 300
        self.asked = 0
        self.certificate = os.path.join(str(folder), "token.pem")
        key = os.path.join(str(folder), "token.key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                        "-subj", "/CN=tokens", "-keyout", key, "-out", self.certificate],
                       check=True, capture_output=True)
        with open(key, "rb") as file:
            self.key = serialization.load_pem_private_key(file.read(), None)
        with open(self.certificate, encoding="ascii") as file:
            self.chain = "".join(line.strip() for line in file if not line.startswith("-"))
        server = self

        class Handler(_Handler):
            tokens = server

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.realm = f"http://127.0.0.1:{self.server.server_address[1]}/token"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def make(self, scopes):
        """A token that allows what the scopes ask for."""
        access = []
        for scope in scopes:
            kind, name, actions = scope.split(":")
            access.append({"type": kind, "name": name, "actions": actions.split(",")})
        now = int(time.time())
        header = {"typ": "JWT", "alg": "RS256", "x5c": [self.chain]}
        claims = {"iss": registry.ISSUER, "sub": "x", "aud": registry.SERVICE, "iat": now,
                  "nbf": now - 10, "exp": now + self.life_s, "jti": str(self.asked),
                  "access": access}
        text = ".".join(_base64(json.dumps(part).encode()) for part in (header, claims))
        signature = self.key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{text}.{_base64(signature)}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class _Handler(http.server.BaseHTTPRequestHandler):
    tokens = None

    def log_message(self, *_):
        pass

    def do_GET(self):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        basic = self.headers.get("Authorization", "").partition(" ")[2]
        self.tokens.asked += 1
        if base64.b64decode(basic).decode() != f"{registry.USER}:{registry.PASSWORD}":
            self.send_response(401)
            self.end_headers()
            return
        body = json.dumps({"token": self.tokens.make(query.get("scope", [])),
                           "expires_in": self.tokens.life_s}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
