# SPDX-License-Identifier: Apache-2.0
"""The API server of the private Kubernetes ($KUBE_DIR) asked directly, as its administrator: for what must be timed, or
asked so often that starting kubectl each time would be most of the work.

    api = Api()
    api.create("/api/v1/namespaces/default/persistentvolumeclaims", claim)
    for kind, item in api.watch("/api/v1/persistentvolumeclaims", since=version): ...
"""

import http.client
import json
import os
import ssl
import threading

CORE = "/api/v1"


class Refused(Exception):
    """What the server said; `status` is its number."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Api:
    """A connection a thread, kept open."""

    def __init__(self, folder=None):
        folder = folder or os.environ["KUBE_DIR"]
        with open(os.path.join(folder, "address"), encoding="ascii") as file:
            self.address = file.read().strip()
        pki = os.path.join(folder, "pki")
        self.tls = ssl.create_default_context(cafile=os.path.join(pki, "ca.crt"))
        self.tls.load_cert_chain(os.path.join(pki, "client-admin.crt"), os.path.join(pki, "client-admin.key"))
        self.threads = threading.local()

    def connect(self, timeout_s=60):
        return http.client.HTTPSConnection(self.address, context=self.tls, timeout=timeout_s)

    def ask(self, method, path, body=None, content_type="application/json"):
        headers = {"Content-Type": content_type, "Accept": "application/json"}
        text = json.dumps(body) if body is not None else None
        is_kept = hasattr(self.threads, "connection")
        try:
            status, said = self._send(method, path, text, headers)
        except (http.client.RemoteDisconnected, ConnectionError):
            if not is_kept:
                raise
            status, said = self._send(method, path, text, headers)  # it had been idle for too long
        said = json.loads(said)
        if status >= 300:
            raise Refused(status, said.get("message", str(said)))
        return said

    def _send(self, *request):
        if not hasattr(self.threads, "connection"):
            self.threads.connection = self.connect()
        try:
            self.threads.connection.request(*request)
            answer = self.threads.connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            del self.threads.connection
            raise

    def create(self, path, item):
        return self.ask("POST", path, item)

    def get(self, path):
        """None when there is none."""
        try:
            return self.ask("GET", path)
        except Refused as refusal:
            if refusal.status == 404:
                return None
            raise

    def patch(self, path, patch):
        """A merge patch."""
        return self.ask("PATCH", path, patch, "application/merge-patch+json")

    def delete(self, path):
        """No error when it is gone."""
        try:
            self.ask("DELETE", path)
        except Refused as refusal:
            if refusal.status != 404:
                raise

    def watch(self, path, since, timeout_s=600):
        """("ADDED", object) and so on; ends when the server ends it."""
        connection = self.connect(timeout_s)
        try:
            connection.request("GET", f"{path}?watch=true&resourceVersion={since}&timeoutSeconds={timeout_s}")
            for line in connection.getresponse():
                event = json.loads(line)
                yield event["type"], event["object"]
        finally:
            connection.close()

    def resources(self):
        """(version's path, resource) of everything that can be listed, in the version that the server prefers."""
        versions = [CORE, *(f"/apis/{group['preferredVersion']['groupVersion']}"
                            for group in self.get("/apis")["groups"])]
        return [(version, resource) for version in versions
                for resource in (self.get(version) or {"resources": ()})["resources"]
                if "list" in resource["verbs"] and "/" not in resource["name"]]

    def listable(self):
        return [f"{version}/{resource['name']}" for version, resource in self.resources()]

    def inventory(self, without=("events", "componentstatuses")):
        """Everything there is: "RESOURCE NAMESPACE/NAME" each."""
        return {f"{path.rpartition('/')[2]} {item['metadata'].get('namespace', '')}/{item['metadata']['name']}"
                for path in self.listable() if path.rpartition("/")[2] not in without
                for item in self.get(path)["items"]}
