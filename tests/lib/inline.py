# SPDX-License-Identifier: Apache-2.0
"""An ephemeral inline volume, as kubelet publishes it for a pod."""

import hashlib

import volumes


class Inline:

    def __init__(self, client, node, pod, namespace="team-a", **attributes):
        self.client, self.node, self.pod = client, node, pod
        self.volume_id = "csi-" + hashlib.sha256(pod.encode()).hexdigest()
        self.context = {
            **attributes,
            "csi.storage.k8s.io/ephemeral": "true",
            "csi.storage.k8s.io/pod.name": pod,
            "csi.storage.k8s.io/pod.namespace": namespace,
            "csi.storage.k8s.io/pod.uid": "0",
            "csi.storage.k8s.io/serviceAccount.name": "default",
        }

    @property
    def target(self):
        return self.node.target(self.pod)

    def publish(self, **changed):
        """The target path."""
        fields = {"volume_id": self.volume_id, "target_path": self.target,
                  "volume_capability": volumes.capability(fs_type=""),
                  "volume_context": self.context, **changed}
        self.client.NodePublishVolume(**fields)
        return self.target

    def unpublish(self):
        self.client.NodeUnpublishVolume(volume_id=self.volume_id, target_path=self.target)
