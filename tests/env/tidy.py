# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over files of a compile database, remembering what was clean.

    tidy.py BUILD CACHE FILE...

A file is looked at again when anything that clang-tidy sees of it has changed: the text after the
preprocessor (comments included, for they silence checks), the rules, or clang-tidy itself. Findings
are printed, not remembered. One file a run: with several, clang-tidy 14 takes every va_list of the
later ones for uninitialized.
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path.cwd()


def output_of(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, **options)


def preprocess_command(entry):
    """The compiler's own command, to print what it compiles; without ccache, output and
    dependencies."""
    words = shlex.split(entry["command"])
    if words[0].endswith("ccache"):
        words = words[1:]
    kept = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT"):
            skip = True
        elif word not in ("-c", "-MD"):
            kept.append(word)
    return [*kept, "-E", "-CC"]


class Tidy:
    def __init__(self, build, cache):
        self.build = build
        self.cache = Path(cache)
        self.cache.mkdir(parents=True, exist_ok=True)
        database = json.loads(Path(build, "compile_commands.json").read_text())
        self.entries = {os.path.relpath(entry["file"], ROOT): entry for entry in database}
        version = output_of(["clang-tidy", "--version"], check=True).stdout
        self.rules = version + Path(".clang-tidy").read_bytes()

    def key(self, entry):
        text = output_of(preprocess_command(entry), cwd=entry["directory"], check=True).stdout
        text = text.replace(str(ROOT).encode(), b"")
        return hashlib.sha256(self.rules + text).hexdigest()

    def look(self, name):
        """What is wrong with the file, as text; empty when nothing is."""
        mark = self.cache / self.key(self.entries[name])
        if mark.exists():
            os.utime(mark)
            return ""
        run = output_of(
            ["clang-tidy", "-p", self.build, "--quiet", "--warnings-as-errors=*", name],
            stderr=subprocess.STDOUT,
            text=True,
        )
        if run.returncode == 0:
            mark.touch()
            return ""
        # Of system headers, whose warnings are counted but not shown.
        return re.sub(r"(?m)^\d+ warnings? generated.*\n", "", run.stdout)


def main(build, cache, *names):
    tidy = Tidy(build, cache)
    ours = [name for name in names if name in tidy.entries]
    assert ours, "none of the files is in the compile database"
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        findings = [text for text in pool.map(tidy.look, ours) if text]
    print("".join(findings), end="")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
