# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/cli.md, run as they stand there: only the names of servers are others."""

import os
import re
import subprocess

import pytest

from images import MIB, fill, qemu_img
from imprint import ROOT
from registry import Registry

PAGE = os.path.join(ROOT, "docs", "cli.md")
# Adds what this machine needs to each call.
WRAPPER = """#!/bin/bash
case $1 in
  --*) exec {program} "$@" ;;
  import | inspect | resolve | export | push) set -- "$@" --allow-local-addresses --insecure-registry ;;
esac
exec {program} "$@" --conf {conf} --id imprint --keyring {keyring}
"""


def blocks():
    """(heading, commands)"""
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    found = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading = section.split("\n", 1)[0]
        found += [(heading, block) for block in re.findall(r"^```sh\n(.*?)^```", section,
                                                           re.MULTILINE | re.DOTALL)]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("docs")


@pytest.fixture(scope="module")
def places(folder, nginx, s3):
    """The images that the page speaks of, where it says they are; text to be replaced by text."""
    disk = fill(folder / "debian.raw", 24 * MIB, pieces=40)
    image = folder / "debian.qcow2"
    qemu_img("convert", "-c", "-f", "raw", "-O", "qcow2", disk, image)
    subprocess.run(["xz", "-1", "-k", disk], check=True)
    nginx.write("debian.qcow2", image.read_bytes())
    nginx.write("debian.raw.gz", subprocess.run(["gzip", "-1", "-c", disk], check=True,
                                                capture_output=True).stdout)
    s3.upload_file(str(image), "images", "debian.qcow2")
    with Registry(folder / "registry") as registry:
        yield {"https://images.example.com": nginx.url(""), "registry.example.com": registry.host}


@pytest.fixture(scope="module")
def shell(cluster, pool, folder, imprint, places):
    program = os.path.join(ROOT, "build", os.environ.get("PRESET", "release"), "cli", "imprint")
    bin = folder / "bin"
    bin.mkdir()
    (bin / "imprint").write_text(WRAPPER.format(program=program, conf=cluster.conf,
                                                keyring=os.path.join(cluster.dir, "imprint.keyring")))
    (bin / "imprint").chmod(0o755)

    def run(commands):
        for text, other in {"vms/debian": f"{pool}/debian", **places}.items():
            commands = commands.replace(text, other)
        clean = {name: value for name, value in os.environ.items()
                 if not name.lower().endswith("_proxy")}
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=folder, text=True,
                              capture_output=True, timeout=120, check=False,
                              env={**clean, **imprint.environment, "PATH": f"{bin}:{os.environ['PATH']}"})
        assert done.returncode == 0, done.stderr
        return done.stdout

    yield run
    for name in cluster.images(pool):
        if name.startswith("debian"):
            cluster.remove_image(pool, name)


def test_the_commands_of_the_page(cluster, pool, shell, folder):
    """In their order: what one makes, the next uses."""
    image = str(folder / "debian.qcow2")
    for heading, commands in sorted(blocks(), key=lambda block: block[0] != "Push"):
        if heading == "Push":  # what the others fetch
            shell("imprint import debian.qcow2 vms/debian-web --snapshot base\n"
                  "imprint push debian.qcow2 docker://registry.example.com/vms/debian:12")
            shell(commands)
            shell("rbd snap purge vms/debian-web; rbd rm vms/debian-web")
            continue
        print(heading, shell(commands))
    assert "debian-wrong" not in cluster.images(pool)
    for copy in ("copy.qcow2", "copy.raw"):
        qemu_img("compare", image, folder / copy)
    shell("cmp debian.raw <(gzip -dc copy.raw.gz)")


def test_every_destination_is_told():
    """By --help, the manual and the page; the program itself lists them when it does not know one."""
    program = os.path.join(ROOT, "build", os.environ.get("PRESET", "release"), "cli", "imprint")

    def run(*arguments):
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    with open(PAGE, encoding="utf-8") as file:
        export = file.read().split("\n## Export\n")[1].split("\n## ")[0]
    usage, manual = run("export", "--help"), run("--manual", "export").replace("\\-", "-")
    for scheme in ("file:", "http", "s3:", "docker:", "oci-archive:", "nbd:", "nbds:", "nbd+unix:", "rbd:"):
        assert scheme in usage and scheme in manual and f"`{scheme}" in export, scheme


def test_every_command_and_exit_status_is_on_the_page():
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    program = os.path.join(ROOT, "build", os.environ.get("PRESET", "release"), "cli", "imprint")
    overview = subprocess.run([program, "--help"], check=True, capture_output=True, text=True).stdout
    for name in re.findall(r"^  ([a-z]+) ", overview, re.MULTILINE):
        assert f"`imprint {name} " in text, name
    usage = subprocess.run([program, "import", "--help"], check=True, capture_output=True,
                           text=True).stdout
    for status, meaning in re.findall(r"^ +(\d+) (.*)$", usage.split("Exit status:")[1], re.MULTILINE):
        first_words = re.split("[,:]", meaning)[0]
        assert re.search(rf"^\| {status} \| {first_words}", text, re.MULTILINE), (status, meaning)
