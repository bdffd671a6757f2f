# SPDX-License-Identifier: Apache-2.0
"""An API server that refuses what a test wants refused: so something stays undone, for as long as it
takes to kill whoever would do it."""

import kubectl

REFUSAL = "not in this test"


class Refusals:
    """What the API server refuses, whoever asks."""

    def __init__(self):
        self.names = []

    def add(self, name, group, version, resource, operations, expression, probe, reason="Invalid"):
        """probe() is refused when the policy has come into effect."""
        kubectl.apply(
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingAdmissionPolicy",
                "metadata": {"name": name},
                "spec": {
                    "failurePolicy": "Fail",
                    "matchConstraints": {
                        "resourceRules": [{
                            "apiGroups": [group],
                            "apiVersions": [version],
                            "resources": [resource],
                            "operations": operations,
                        }]
                    },
                    "validations": [{"expression": expression, "message": REFUSAL, "reason": reason}],
                },
            }, {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingAdmissionPolicyBinding",
                "metadata": {"name": name},
                "spec": {"policyName": name, "validationActions": ["Deny"]},
            })
        self.names.append(name)

        def in_effect():
            try:
                probe()
                return False
            except kubectl.Refused as refused:
                return REFUSAL in str(refused)

        kubectl.until(in_effect, "it is refused")

    def lift(self):
        for name in self.names:
            kubectl.run("delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", name,
                        "--ignore-not-found")
        self.names = []
