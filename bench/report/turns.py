# SPDX-License-Identifier: Apache-2.0
"""How those that are compared take turns, and how that is shown."""

import sys


def in_turn(ways, turn):
    """All ways, another one first each time: who comes first finds a quieter Ceph."""
    first = turn % len(ways)
    return ways[first:] + ways[:first]


def progress(text):
    """One line, for a terminal; an empty text clears it."""
    if sys.stderr.isatty():
        print(f"\r\033[K  {text}" if text else "\r\033[K", end="", file=sys.stderr, flush=True)
