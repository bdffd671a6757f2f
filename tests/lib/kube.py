# SPDX-License-Identifier: Apache-2.0
"""The private Kubernetes that the group started ($KUBE_DIR), through kubectl and helm."""

import json
import os
import re
import subprocess

# "Error from server (Invalid): error when creating "STDIN": VirtualMachineImage.hypercloud… "x" is
# invalid: …"
REFUSED = re.compile(r'^(?:The |.*: )?(?P<kind>[A-Z]\w+)(?:\.[\w.]+)? "(?P<name>[^"]+)" is invalid')


class Failed(Exception):
    """A command failed; its message is what it wrote to stderr."""


def stream(documents):
    """JSON, because kubectl and PyYAML do not agree on what "n" means."""
    return "\n".join(json.dumps(document) for document in documents)


def objects(text):
    """JSON objects one after another, as kubectl prints them."""
    decoder, text = json.JSONDecoder(), text.strip()
    while text:
        value, end = decoder.raw_decode(text)
        yield value
        text = text[end:].lstrip()


class Kube:
    """kubectl as the administrator, or as another user by a kubeconfig file of its own."""

    def __init__(self, folder, kubeconfig=None):
        self.folder = folder
        self.kubeconfig = kubeconfig or os.path.join(folder, "kubeconfig")

    def run(self, program, *arguments, stdin=None, timeout=120):
        done = subprocess.run(
            [os.path.join(self.folder, "bin", program), "--kubeconfig", self.kubeconfig, *arguments],
            input=stdin, capture_output=True, text=True, timeout=timeout, check=False)
        if done.returncode:
            raise Failed(done.stderr.strip() or done.stdout.strip())
        return done.stdout

    def __call__(self, *arguments, **more):
        return self.run("kubectl", *arguments, **more)

    def helm(self, *arguments, **more):
        return self.run("helm", *arguments, **more)

    def json(self, *arguments, **more):
        return json.loads(self(*arguments, "-o", "json", **more))

    def apply(self, *documents, namespace="default"):
        return self("apply", "-n", namespace, "-f", "-", stdin=stream(documents))

    def refusals(self, documents, namespace="default"):
        """Tries all; {(kind, name): message} of those that were refused."""
        try:
            self("create", "-n", namespace, "-f", "-", stdin=stream(documents))
            return {}
        except Failed as failed:
            return self._by_object(str(failed))

    @staticmethod
    def _by_object(text):
        found, key = {}, None
        for line in text.splitlines():
            match = REFUSED.match(line)
            if match:
                key = (match["kind"], match["name"])
            assert key, f"not understood: {line}"
            found[key] = found.get(key, "") + line + "\n"
        return found

    def allowed(self, user, questions):
        """Which of the questions, each a dict of resourceAttributes, that user would be allowed."""
        groups = ["system:authenticated"]
        if user.startswith("system:serviceaccount:"):
            groups += ["system:serviceaccounts", "system:serviceaccounts:" + user.split(":")[2]]
        reviews = [
            {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SubjectAccessReview",
                "spec": {"user": user, "groups": groups, "resourceAttributes": question},
            }
            for question in questions
        ]
        told = self("create", "-f", "-", "-o", "json", stdin=stream(reviews))
        return [answer["status"]["allowed"] for answer in objects(told)]
