# SPDX-License-Identifier: Apache-2.0
"""How `./dev demo` shows what it does: headings, and a line a step with its time."""

import contextlib
import os
import sys
import time

COLOUR = sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def paint(code, text):
    return f"\033[{code}m{text}\033[0m" if COLOUR else text


def heading(text):
    print("\n" + paint("1", text), flush=True)


def quote(text):
    """What somebody else said."""
    print("    " + paint("36", text), flush=True)


def typed(command):
    """What a person would type."""
    print("    " + paint("2", "$ ") + command, flush=True)


@contextlib.contextmanager
def step(label):
    """Prints the label with a check mark and the time, and the notes that the block gives."""
    notes = []
    start = time.perf_counter()
    try:
        yield notes.append
    except BaseException:
        print(f"  {paint('31', '✗')} {label}", flush=True)
        raise
    took_ms = (time.perf_counter() - start) * 1000
    note = paint("2", "   " + "; ".join(notes)) if notes else ""
    print(f"  {paint('32', '✓')} {label:<44} {took_ms:>7.0f} ms{note}", flush=True)
