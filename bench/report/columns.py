# SPDX-License-Identifier: Apache-2.0
"""Figures set in columns, for people."""

import os
import sys

COLOUR = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
VERDICT_COLOUR = {"met": "32", "missed": "31"}


def number(value, is_ratio=False):
    if value is None:
        return "-"
    if is_ratio:
        return f"{value:.2f}" if value < 10 else f"{value:.0f}"
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"


def lines(cells, left):
    """Cells set in columns; the columns whose number is in `left` begin at the left."""
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    return ["  ".join(f"{cell:<{width}}" if i in left else f"{cell:>{width}}"
                      for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in cells]


def print_judged(cells, left):
    """A header, and a row each, which ends with its verdict."""
    header, *body = lines(cells, left)
    print(header)
    for line, row in zip(body, cells[1:]):
        print(paint(line, row[-1]))


def paint(line, verdict):
    """The line with its verdict, which stands at its end, in colour."""
    if not COLOUR or verdict not in VERDICT_COLOUR:
        return line
    head, _, _ = line.rpartition(verdict)
    return f"{head}\033[{VERDICT_COLOUR[verdict]}m{verdict}\033[0m"
