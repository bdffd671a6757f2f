# SPDX-License-Identifier: Apache-2.0
"""A volume on its way through a node, as kubelet leads it.

    with Staged(client, node, volume, fs_type="ext4") as staged:
        with open(staged.publish("pod-a") + "/file", "w") as file: ...

Leaving the block unpublishes and unstages."""

import volumes


class Staged:
    def __init__(self, client, node, volume, fs_type=None, mode="SINGLE_NODE_WRITER", flags=(),
                 name=None):
        self.client, self.node, self.volume = client, node, volume
        self.capability = volumes.capability(mode, fs_type)
        if fs_type is not None:
            self.capability["mount"]["mount_flags"] = list(flags)
        self.staging = node.staging(name or volumes.image_id_of(volume.volume_id))
        self.targets = []

    @property
    def volume_id(self):
        return self.volume.volume_id

    def stage(self, **changed):
        fields = {"volume_id": self.volume_id, "staging_target_path": self.staging,
                  "volume_capability": self.capability,
                  "volume_context": self.volume.volume_context, **changed}
        self.client.NodeStageVolume(**fields)
        return self

    def unstage(self):
        self.client.NodeUnstageVolume(volume_id=self.volume_id, staging_target_path=self.staging)

    def publish(self, pod="pod", readonly=False, **changed):
        """The target path."""
        target = self.node.target(pod)
        fields = {"volume_id": self.volume_id, "staging_target_path": self.staging,
                  "target_path": target, "volume_capability": self.capability,
                  "readonly": readonly, **changed}
        self.client.NodePublishVolume(**fields)
        if target not in self.targets:
            self.targets.append(target)
        return target

    def unpublish(self, target=None):
        for path in [target] if target else list(self.targets):
            self.client.NodeUnpublishVolume(volume_id=self.volume_id, target_path=path)
            self.targets.remove(path)

    def stats(self, path=None):
        return self.client.NodeGetVolumeStats(volume_id=self.volume_id,
                                              volume_path=path or self.targets[0],
                                              staging_target_path=self.staging)

    def expand(self, size=0, path=None):
        return self.client.NodeExpandVolume(
            volume_id=self.volume_id, volume_path=path or self.targets[0],
            staging_target_path=self.staging, capacity_range={"required_bytes": size})

    def leave(self):
        self.unpublish()
        self.unstage()

    def __enter__(self):
        return self.stage()

    def __exit__(self, kind, *_):
        if kind is None:
            self.leave()
