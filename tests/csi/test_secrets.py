# SPDX-License-Identifier: Apache-2.0
"""No key and no secret reaches an error message or the log, whatever is asked and however it
fails."""

import grpc
import pytest

import csi
import volumes
from volumes import MIB, capability, create

SECRET = "s3cret-that-nobody-may-see"


def requests_with_secrets():
    """(method, request) for every request of the controller that can carry secrets."""
    for name, (path, method) in csi.protocol().methods.items():
        if "/csi.v1.Controller/" not in path:
            continue
        kind = csi.protocol().message_class(method.input_type)
        if "secrets" in kind.DESCRIPTOR.fields_by_name:
            yield name, kind(secrets={"userID": "admin", "userKey": SECRET})


@pytest.mark.parametrize("name", [name for name, _ in requests_with_secrets()])
def test_secrets_of_a_request(controller, client, name):
    request = dict(requests_with_secrets())[name]
    for field, value in (
        ("name", "n" * 200),
        ("volume_id", "1:local:1::abc"),
        ("snapshot_id", "1:local:1::abc@1"),
        ("source_volume_id", "1:local:1::abc"),
        ("node_id", "imprint:n"),
    ):
        if field in request.DESCRIPTOR.fields_by_name:
            setattr(request, field, value)
    try:
        getattr(client, name)(request)
    except grpc.RpcError as error:
        assert SECRET not in error.details()
    assert SECRET not in controller.log_text()


def test_secrets_are_not_kept(cluster, controller, client):
    volume = create(client, "v", MIB, secrets={"userKey": SECRET})
    client.CreateSnapshot(name="s", source_volume_id=volume.volume_id, secrets={"userKey": SECRET})
    client.ControllerPublishVolume(
        volume_id=volume.volume_id,
        node_id="imprint:n",
        volume_capability=capability(),
        secrets={"userKey": SECRET},
    )
    with cluster.volume(volume.volume_id, read_only=True) as image:
        assert SECRET not in str(dict(image.metadata_list()))
    assert SECRET not in controller.log_text()
    answer = client.ControllerGetVolume(volume_id=volume.volume_id)
    assert SECRET not in str(answer)
    assert volumes.listed_volumes(client)
