# SPDX-License-Identifier: Apache-2.0
"""A certificate authority for one test run, made with the openssl command."""

import os
import subprocess


def openssl(*arguments):
    subprocess.run(["openssl", *arguments],
                   check=True,
                   stdin=subprocess.DEVNULL,
                   capture_output=True)


class Authority:
    """`bundle` is what clients trust; issue() makes (certificate, key) for a server."""

    def __init__(self, folder, name="Test CA"):
        self.folder = str(folder)
        self.key = os.path.join(self.folder, "ca.key")
        self.bundle = os.path.join(self.folder, "ca.pem")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-days", "2", "-subj", f"/CN={name}", "-addext",
                "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign",
                "-keyout", self.key, "-out", self.bundle)

    def issue(self, name, *alternatives):
        """alternatives: "IP:127.0.0.1", "DNS:localhost"."""
        base = os.path.join(self.folder, name)
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                f"/CN={name}", "-keyout", f"{base}.key", "-out", f"{base}.csr")
        with open(f"{base}.ext", "w", encoding="ascii") as extensions:
            extensions.write(f"subjectAltName={','.join(alternatives)}\n")
        openssl("x509", "-req", "-days", "1", "-in", f"{base}.csr", "-CA", self.bundle, "-CAkey",
                self.key, "-CAcreateserial", "-extfile", f"{base}.ext", "-out", f"{base}.pem")
        return f"{base}.pem", f"{base}.key"
