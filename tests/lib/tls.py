# SPDX-License-Identifier: Apache-2.0
"""A certificate authority of a test's own, and a certificate of it for this machine."""

import subprocess

EXTENSIONS = """
basicConstraints = CA:FALSE
extendedKeyUsage = serverAuth
subjectAltName = DNS:localhost,IP:127.0.0.1,IP:::1
"""


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, stdin=subprocess.DEVNULL,
                   capture_output=True)


def make_certificates(folder, name="ca"):
    """Fills `folder` with ca-cert.pem, server-cert.pem and server-key.pem, as GnuTLS's tools name them."""
    folder.mkdir(parents=True, exist_ok=True)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *key, "-days", 2, "-subj", f"/CN={name}", "-keyout", folder / "ca-key.pem",
            "-out", folder / "ca-cert.pem", "-addext", "keyUsage=keyCertSign")
    openssl("req", *key, "-subj", "/CN=localhost", "-keyout", folder / "server-key.pem",
            "-out", folder / "server.csr")
    (folder / "extensions").write_text(EXTENSIONS)
    openssl("x509", "-req", "-in", folder / "server.csr", "-CA", folder / "ca-cert.pem",
            "-CAkey", folder / "ca-key.pem", "-CAcreateserial", "-days", 2,
            "-extfile", folder / "extensions", "-out", folder / "server-cert.pem")
    return folder
