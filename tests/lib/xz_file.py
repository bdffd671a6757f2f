# SPDX-License-Identifier: Apache-2.0
"""An xz file of one block with a long window, made without compressing: the xz command would take minutes."""

import lzma
import struct
import zlib

CHUNK = 1 << 16


def _number(value):
    """Seven bits a byte, as the index has them."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def _padded(data):
    return data + bytes(-len(data) % 4)


def _with_crc(data):
    return data + struct.pack("<I", zlib.crc32(data))


def stored(data, dict_size):
    """All of it in chunks of LZMA2 that are not compressed."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": dict_size}]
    empty = lzma.compress(b"x", check=lzma.CHECK_NONE, filters=filters)
    header_size = (empty[12] + 1) * 4
    chunks = bytearray()
    for at in range(0, len(data), CHUNK):
        piece = data[at:at + CHUNK]
        chunks += struct.pack(">BH", 2 if at else 1, len(piece) - 1) + piece
    chunks += b"\0"
    sizes = _number(header_size + len(chunks)) + _number(len(data))
    index = _with_crc(_padded(b"\0" + _number(1) + sizes))
    footer = struct.pack("<I", len(index) // 4 - 1) + empty[6:8]
    return (empty[:12 + header_size] + _padded(bytes(chunks)) + index + struct.pack("<I", zlib.crc32(footer)) +
            footer + b"YZ")
