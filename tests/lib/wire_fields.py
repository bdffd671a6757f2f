# SPDX-License-Identifier: Apache-2.0
"""Protobuf messages by hand: any bytes in any field of any request, which the Python classes would
refuse to encode."""

import csi

STRING, MESSAGE = 9, 11  # of FieldDescriptor.type


def varint(number):
    out = []
    while number >= 0x80:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    return bytes([*out, number])


def length_field(number, data):
    """A string or a message as a field of another."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def strings_of(descriptor, above=()):
    """The paths of all strings in a message, each a tuple of field descriptors from the top; a map's
    key and value are two."""
    for field in descriptor.fields:
        path = (*above, field)
        if field.type == STRING:
            yield path
        elif field.type == MESSAGE:
            yield from strings_of(field.message_type, path)


def encode(path, data):
    """A message in which the string at `path` is `data`, and nothing else is there."""
    for field in reversed(path):
        data = length_field(field.number, data)
    return data


def name_of(path):
    return ".".join(field.name for field in path)


def methods_of(*services):
    """{name: (path, request class)} of these CSI services."""
    found = {}
    for name, (path, method) in csi.protocol().methods.items():
        if path.split("/")[1].rpartition(".")[2] in services:
            found[name] = (path, csi.protocol().message_class(method.input_type))
    return found
