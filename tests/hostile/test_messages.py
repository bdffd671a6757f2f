# SPDX-License-Identifier: Apache-2.0
"""Requests that lie in what they hold: every method, every string of it."""

import random
import time

import grpc
import pytest

import csi
import volumes
import wire_fields
from volumes import CODES, MIB

PLUGINS = ["controller", "node"]

BAD_TEXTS = [b"\xff", b"ok\xc3(", b"\xed\xa0\x80", b"\xc0\x80", b"cut \xf0\x9f\x98", b"a\0b"]
LONG = 900_000  # a message may have a MiB

# What a request of ours may be answered with, however bad it is: none of these blames the driver,
# or asks the caller to try for ever.
FAIR = {CODES.OK, CODES.INVALID_ARGUMENT, CODES.NOT_FOUND, CODES.ALREADY_EXISTS, CODES.OUT_OF_RANGE,
        CODES.FAILED_PRECONDITION}

BAD_IDS = [
    "x", ":", "::::", "1:local", "1:local:1:", "1:local:1::", "1::1::abc", "2:local:1::abc",
    "1:local:999999::abc", "1:local:18446744073709551616::abc", "1:local:-1::abc", "1:local: 1::abc",
    "1:local:0x1::abc", "1:local:1::../../etc", "1:local:1::%s%n%p", "1:local:1::a b", "1:nope:1::abc",
    "1:local:1:\u20ac:abc", "1:local:1::abc\n", "1:local:1::abc@", "1:local:1::abc@1@2",
    "1:local:1::abc@18446744073709551616", "1:local:1::abc@-1", "1:local:1::" + "a" * 200,
    "'; DROP TABLE volumes; --", "\U0001f4be" * 40, "\x1b[31mred",
]

# What is not there needs no undoing.
UNDOING = ("Delete", "ControllerUnpublish", "NodeUnstage", "NodeUnpublish")


@pytest.fixture
def good(request, client, node, emptied):
    """{method: a request that would be fine}, for a volume that is there."""
    volume = volumes.create(client, "victim")
    snapshot = volumes.snapshot(client, "victim", volume.volume_id)
    capability = volumes.capability()
    here = {"volume_id": volume.volume_id}
    staged = {**here, "staging_target_path": node.staging("v"), "volume_capability": capability}
    return {
        "CreateVolume": volumes.volume_request("made", source=snapshot.snapshot_id),
        "DeleteVolume": {"volume_id": "1:local:999::none"},
        "ControllerPublishVolume": {**here, "node_id": "imprint:other", "volume_capability": capability},
        "ControllerUnpublishVolume": {**here, "node_id": "imprint:other"},
        "ValidateVolumeCapabilities": {**here, "volume_capabilities": [capability]},
        "GetCapacity": {"parameters": volumes.parameters()},
        "CreateSnapshot": {"name": "made", "source_volume_id": volume.volume_id},
        "DeleteSnapshot": {"snapshot_id": "1:local:999::none@1"},
        "GetSnapshot": {"snapshot_id": snapshot.snapshot_id},
        "ControllerExpandVolume": {**here, "capacity_range": {"required_bytes": 64 * MIB}},
        "ControllerGetVolume": here,
        "ControllerModifyVolume": {**here, "mutable_parameters": {"rbd_qos_iops_limit": "100"}},
        "NodeStageVolume": {**staged, "volume_id": "1:local:999::none"},
        "NodeUnstageVolume": {**here, "staging_target_path": node.staging("v")},
        "NodePublishVolume": {**staged, "target_path": node.target("p")},
        "NodeUnpublishVolume": {**here, "target_path": node.target("p")},
        "NodeGetVolumeStats": {**here, "volume_path": node.target("p")},
        "NodeExpandVolume": {**here, "volume_path": node.target("p")},
    }


def ask(client, path, data):
    """The code and the words of the answer to these bytes."""
    try:
        client.raw(path, data, timeout=30)
    except grpc.RpcError as error:
        return error.code(), error.details()
    return CODES.OK, ""


def assert_fair(answer, what, codes=FAIR):
    code, details = answer
    assert code in codes, f"{what}: {code.name}: {details}"
    if code != CODES.OK:
        assert details and len(details.encode()) <= 2048, f"{what}: {details}"
        assert details.isprintable(), f"{what}: {details!r}"


def every_string(subject):
    for name, (path, request) in subject.methods.items():
        for fields in wire_fields.strings_of(request.DESCRIPTOR):
            yield name, path, fields


@pytest.mark.parametrize("subject", PLUGINS, indirect=True)
def test_every_string_must_be_utf8(subject):
    """The answer names the method's field, and nothing was done."""
    with subject.process.client() as client:
        count = 0
        for name, path, fields in every_string(subject):
            for text in BAD_TEXTS:
                what = f"{name} {wire_fields.name_of(fields)} {text!r}"
                code, details = ask(client, path, wire_fields.encode(fields, text))
                assert code == CODES.INVALID_ARGUMENT, f"{what}: {code.name}: {details}"
                for field in fields:
                    assert f"'{field.name}'" in details, f"{what}: {details}"
                count += 1
    assert count > 100


@pytest.mark.parametrize("subject", PLUGINS, indirect=True)
def test_strings_that_are_too_long(subject, good):
    with subject.process.client() as client:
        for name, path, fields in every_string(subject):
            request = subject.methods[name][1](**good.get(name, {}))
            for text in (b"x" * LONG, "\u20ac".encode() * (LONG // 3)):
                data = request.SerializeToString() + wire_fields.encode(fields, text)
                codes = FAIR | ({CODES.ABORTED} if fields[-1].name == "starting_token" else set())
                assert_fair(ask(client, path, data), f"{name} {wire_fields.name_of(fields)}", codes)


def test_names_of_ten_megabytes(client, subjects):
    for name in ("CreateVolume", "CreateSnapshot"):
        path, request = subjects["controller"].methods[name]
        size = {"name": "x" * (10 << 20)}
        code, details = ask(client, path, request(**size).SerializeToString())
        assert code == CODES.RESOURCE_EXHAUSTED and "larger than max" in details, details
        size = {"name": "x" * LONG, **({"source_volume_id": "v"} if name == "CreateSnapshot" else {})}
        code, details = ask(client, path, request(**size).SerializeToString())
        assert code == CODES.INVALID_ARGUMENT and "name" in details, f"{code}: {details[:200]}"


@pytest.mark.parametrize("subject", PLUGINS, indirect=True)
def test_garbage_ids(subject, good):
    """An id that was not given out by us names nothing: deleting it is done, all else is refused."""
    with subject.process.client() as client:
        for name, (path, request) in subject.methods.items():
            ids = [fields for fields in wire_fields.strings_of(request.DESCRIPTOR)
                   if fields[-1].name in ("volume_id", "snapshot_id", "source_volume_id", "node_id")]
            for fields in ids:
                for text in BAD_IDS:
                    what = f"{name} {wire_fields.name_of(fields)} {text!r}"
                    data = request(**good.get(name, {})).SerializeToString()
                    answer = ask(client, path, data + wire_fields.encode(fields, text.encode()))
                    codes = {CODES.INVALID_ARGUMENT, CODES.NOT_FOUND}
                    if "nope" in text:  # a cluster may be configured later
                        codes = FAIR
                    elif name.startswith(UNDOING):
                        codes = {CODES.OK, CODES.INVALID_ARGUMENT}
                    elif name == "NodePublishVolume":
                        codes |= {CODES.FAILED_PRECONDITION}  # it was not staged
                    elif name.startswith("List"):
                        codes = {CODES.OK}  # filters that match nothing
                    assert_fair(answer, what, codes)


def entries(number, count, key, value):
    """A map of `count` entries as field `number`."""
    return b"".join(
        wire_fields.length_field(number, wire_fields.length_field(1, key % i)
                                 + wire_fields.length_field(2, value)) for i in range(count))


@pytest.mark.parametrize("subject", PLUGINS, indirect=True)
def test_huge_maps_and_lists(subject, good):
    """As many entries as a message can hold, in every map and list of every method; no work that
    grows with their square."""
    with subject.process.client() as client:
        for name, (path, request) in subject.methods.items():
            data = request(**good.get(name, {})).SerializeToString()
            for field in request.DESCRIPTOR.fields:
                if field.label != field.LABEL_REPEATED:
                    continue
                is_map = field.message_type and field.message_type.GetOptions().map_entry
                more = (entries(field.number, 60000, b"k%d", b"v") if is_map
                        else wire_fields.length_field(field.number, b"") * 300000)
                begin = time.monotonic()
                assert_fair(ask(client, path, data + more), f"{name} {field.name}")
                assert time.monotonic() - begin < 10, f"{name} {field.name}"


def test_one_key_again_and_again(client, subjects, good):
    """The last one counts, as protobuf has it for maps."""
    path, request = subjects["controller"].methods["CreateVolume"]
    fields = {**good["CreateVolume"], "name": "again"}
    number = request.DESCRIPTOR.fields_by_name["parameters"].number
    pool = volumes.POOL.encode()
    again = b"".join(wire_fields.length_field(number, wire_fields.length_field(1, b"pool")
                                              + wire_fields.length_field(2, value))
                     for value in [b"nowhere"] * 1000 + [pool])
    code, details = ask(client, path, request(**fields).SerializeToString() + again)
    assert code == CODES.OK, details


@pytest.mark.parametrize("subject", PLUGINS, indirect=True)
def test_nesting_and_broken_messages(subject):
    deep = b""
    while len(deep) < LONG:
        deep = wire_fields.length_field(1, deep or b"x" * 100)
        if len(deep) > 20000:
            break
    broken = {
        "messages in messages": deep,
        "groups in groups": b"\x0b" * 5000 + b"\x0c" * 5000,
        "a group without end": b"\x0b" * 5000,
        "field 0": b"\x02\x01x",
        "a length beyond the end": b"\x0a\xff\xff\xff\xff\x0f",
        "a length of 2^64": b"\x0a" + b"\xff" * 9 + b"\x01x",
        "a number without end": b"\x08" + b"\xff" * 100,
        "kind 7": b"\x0f\x01",
        "one byte": b"\x0a",
    }
    with subject.process.client() as client:
        for name, (path, _) in subject.methods.items():
            for what, data in broken.items():
                assert_fair(ask(client, path, data), f"{name}: {what}")


@pytest.mark.parametrize("subject", PLUGINS, indirect=True)
def test_changed_bytes(subject, good):
    """Good requests with bytes changed, by chance that is the same each time."""
    dice = random.Random(7)
    with subject.process.client() as client:
        for name, (path, request) in subject.methods.items():
            start = request(**good.get(name, {})).SerializeToString()
            for turn in range(40):
                data = bytearray(start or b"\0")
                for _ in range(dice.randint(1, 4)):
                    data[dice.randrange(len(data))] = dice.randrange(256)
                assert_fair(ask(client, path, bytes(data)), f"{name} {turn}",
                            FAIR | {CODES.ABORTED, CODES.UNIMPLEMENTED, CODES.RESOURCE_EXHAUSTED})


def test_validation_says_why_in_utf8(client, good):
    """Its words hold a piece of a key, cut at a number of bytes."""
    request = {**good["ValidateVolumeCapabilities"], "volume_context": {"x" + "\u20ac" * 40: "y"}}
    answer = client.ValidateVolumeCapabilities(**request)
    assert not answer.HasField("confirmed") and "volume_context" in answer.message


def test_refusals_are_in_utf8(client):
    """Each of these values is cut for the message, in the middle of a character."""
    text = "xx" + "\u20ac" * 40
    for changed in ({"parameters": volumes.parameters(dataPool="/" + text[1:])},
                    {"parameters": volumes.parameters(**{text: "y"})},
                    {"parameters": volumes.parameters(objectSize=text)},
                    {"mutable_parameters": {text: "1"}},
                    {"volume_capabilities": [volumes.capability(fs_type=text[1:])]}):
        with volumes.refused(CODES.INVALID_ARGUMENT, "\u20ac\\?'"):
            client.CreateVolume(**volumes.volume_request("bad", **changed))


def test_unknown_methods(subjects):
    for subject in subjects.values():
        with csi.Client(subject.socket) as client:
            for path in ("/csi.v1.Controller/Nothing", "/x", "/", "/csi.v1.Controller/CreateVolume/",
                         "/csi.v1.GroupController/CreateVolumeGroupSnapshot", "/" + "x" * 5000):
                assert_fair(ask(client, path, b""), path, {CODES.UNIMPLEMENTED})
