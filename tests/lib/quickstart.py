# SPDX-License-Identifier: Apache-2.0
"""docs/quickstart.md as a list of commands: the blocks marked "sh", by the headings above them."""

import os
import re
import subprocess

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
PAGE = os.path.join(ROOT, "docs", "quickstart.md")
YOURS = ""  # the block above the first heading: what the reader fills in
REMOVAL = "Remove it again"


def blocks():
    """{heading: commands}"""
    with open(PAGE, encoding="utf-8") as file:
        sections = re.split(r"^## (.*)\n", file.read(), flags=re.MULTILINE)
    titles = [YOURS, *sections[1::2]]
    commands = {}
    for title, text in zip(titles, sections[::2]):
        found = re.findall(r"^```sh\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
        if found:
            commands[title] = "".join(found)
    return commands


def variables():
    """Names that the reader gives values."""
    return re.findall(r"^([A-Z]+)=", blocks()[YOURS], flags=re.MULTILINE)


def run(commands, values):
    """By a careful shell, in a folder that has the checkout's charts; what it printed."""
    folder = os.path.join(os.environ["SCRATCH"], "quickstart")
    if not os.path.isdir(folder):
        os.mkdir(folder)
        os.symlink(os.path.join(ROOT, "charts"), os.path.join(folder, "charts"))
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", commands],
                          cwd=folder,
                          env={**os.environ, **values},
                          stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT,
                          text=True,
                          timeout=900)
    assert done.returncode == 0, done.stdout
    return done.stdout
