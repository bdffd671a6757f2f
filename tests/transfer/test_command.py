# SPDX-License-Identifier: Apache-2.0
"""The command itself: its JSON, its progress on a terminal, its help and its exit codes."""

import json
import os
import pty
import re
import subprocess

import pytest

import imprint as command
from fault_server import FaultServer
from image_server import ImageFile, paced
from images import MIB, fill

CODES = {
    0: "done", 1: "failed", 2: "wrong use", 3: "not found", 4: "exists", 5: "not allowed",
    6: "not reachable", 7: "damaged", 8: "too large", 9: "in use", 10: "stopped",
}


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("command") / "disk.raw", 24 * MIB, pieces=40)


def test_json_is_an_object_a_line(imprint, disk, image):
    with FaultServer(paced(ImageFile(disk), 10 * MIB)) as server:
        done = imprint.run("import", server.url(), image, "--json", "--allow-local-addresses")
    assert done.status == command.DONE and done.stderr == "", done
    lines = done.stdout.decode().splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["event"] for event in events] == ["progress"] * (len(events) - 1) + ["done"]
    assert len(events) > 3
    positions = [event["position"] for event in events[:-1]]
    assert positions == sorted(positions) and positions[-1] == 24 * MIB
    assert all(event["total"] == 24 * MIB for event in events[:-1])
    assert events[-1]["virtualSize"] == 24 * MIB and events[-1]["format"] == "raw"


def test_a_failure_is_told_on_standard_error(imprint, image):
    done = imprint.run("import", "/no/such/file", image, "--json")
    assert done.status == command.NOT_FOUND
    assert done.stderr.startswith("imprint: ") and "/no/such/file" in done.stderr
    assert all(json.loads(line)["event"] != "done" for line in done.stdout.decode().splitlines())


def read_terminal(running, terminal):
    text = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # nobody has the other end any more
            break
        if not piece:
            break
        text += piece
    running.wait()
    return text.decode()


def test_a_server_that_fails_is_told_while_it_is_asked_again(imprint, disk, image):
    served, failures = ImageFile(disk), iter(range(3))

    def fail_thrice(request, reply):
        if next(failures, None) is None:
            reply.answer(*served.answer(request))
        else:
            reply.answer(503, {}, b"")

    with FaultServer(fail_thrice) as server:
        done = imprint.run("inspect", server.url(), "--json", "--allow-local-addresses")
    assert done.status == command.DONE, done
    *retries, _ = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert [event["event"] for event in retries] == ["retry"] * 3
    assert [event["attempt"] for event in retries] == [1, 2, 3]
    assert "503" in retries[0]["message"]


@pytest.mark.parametrize("retries, attempts", [(0, 1), (1, 2), (2 ** 32 + 1, 3)])
def test_it_is_tried_again_as_often_as_was_said(imprint, retries, attempts):
    statuses = iter((503, 503, 404))
    with FaultServer(lambda request, reply: reply.answer(next(statuses))) as server:
        done = imprint.run("inspect", server.url(), "--allow-local-addresses", "--retries", retries)
    assert done.status in (command.UNREACHABLE, command.NOT_FOUND), done
    assert len(server.requests) == attempts


def test_a_header_that_is_none_is_not_left_out(imprint):
    """Who believes to have sent a token should not wonder about the answer."""
    for header in ("X-Auth", ": value", "X Auth: value", ""):
        done = imprint.run("inspect", "http://127.0.0.1:1/x", "--allow-local-addresses", "--header", header)
        assert done.status == command.REFUSED and "a header is not like 'Name: value'" in done.stderr, done


def test_a_terminal_shows_one_line(imprint, disk, image):
    """It is written over and over: bytes, rate, time left."""
    terminal, other_end = pty.openpty()
    with FaultServer(paced(ImageFile(disk), 8 * MIB)) as server:
        running = imprint.start("import", server.url(), image, "--allow-local-addresses",
                                stdout=other_end, stderr=other_end)
        os.close(other_end)
        text = read_terminal(running, terminal)
    os.close(terminal)
    assert text.count("\n") == 1 and text.endswith("\n")
    steps = text.strip().split("\r\x1b[K")
    assert len(steps) >= 4
    assert re.search(r"import: +\d+\.\d%  [\d.]+ MiB of 24\.0 MiB, [\d.]+ [KM]iB/s, \d+:\d\d left",
                     text), text
    assert re.fullmatch(r"import: 100\.0%  24\.0 MiB of 24\.0 MiB, .*/s", steps[-1].strip()), steps[-1]


def test_nothing_is_shown_where_nobody_looks(imprint, disk, image):
    done = imprint.run("import", disk, image)
    assert done.status == command.DONE and done.stdout == b"" and done.stderr == ""


def program(*arguments):
    path = os.path.join(command.ROOT, "build", os.environ.get("PRESET", "release"), "cli", "imprint")
    return subprocess.run([path, *arguments], capture_output=True, text=True, check=False, timeout=30)


COMMANDS = ["discard", "import", "export", "health", "inspect", "push", "receive", "resolve", "rollback"]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_tells_the_exit_codes(name):
    help = program(name, "--help")
    assert help.returncode == 0
    told = help.stdout.split("Exit status:")[1].replace("\n", " ")
    for code, words in CODES.items():
        assert re.search(rf"\b{code} {words}", told), (code, words)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_manual_and_help_tell_of_the_same_flags(name):
    shown = set(re.findall(r"^  --([a-z0-9-]+)", program(name, "--help").stdout, re.MULTILINE))
    page = program("--manual", name).stdout.replace("\\-", "-")
    assert set(re.findall(r"^\.B --([a-z0-9-]+)", page, re.MULTILINE)) == shown | {"help"}
    for secret in ("password", "s3-secret-key"):
        assert secret not in shown


COMPLETED = {
    # what was typed: what is offered
    "imprint ": {*COMMANDS, "--help", "--version"},
    "imprint ex": {"export"},
    "imprint import --che": {"--checksum="},
    "imprint export p/i o --compress = ": {"zlib", "zstd", "none"},
    "imprint export p/i o --compress zs": {"zstd"},
    "imprint export p/i o --compress = zs": {"zstd"},
    "imprint import x --format = qc": {"qcow2"},
    "imprint import x p/i --size ": set(),
    "imprint import x p/i --password": set(),
    "imprint import htt": {"http://", "https://"},
    "imprint import docker": {"docker://", "docker-archive:"},
    "imprint export p/i s3": {"s3://"},
    "imprint push p/i o": {"oci-archive:"},
    "imprint health h": set(),
}


@pytest.mark.parametrize("typed", COMPLETED)
def test_bash_completes(typed, tmp_path):
    script = tmp_path / "completion"
    script.write_text(program("--completion", "bash").stdout)
    words = typed.split()
    if typed.endswith(" "):
        words.append("")
    done = subprocess.run(
        ["bash", "-c", 'compopt() { :; }; source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
         '_imprint; printf "%s\\n" "${COMPREPLY[@]}"', script, *words],
        cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert set(done.stdout.split()) == COMPLETED[typed]


def offered_schemes(name):
    """What the completion of a command offers before a path."""
    script = program("--completion", "bash").stdout
    return re.search(rf"^ *{name}\) flags=.* schemes='([^']*)'", script, re.MULTILINE).group(1).split()


def test_schemes_that_are_offered_are_known(imprint, pool):
    for scheme in offered_schemes("inspect"):
        looked = imprint.run("inspect", f"{scheme}x", "--retries", "0")
        assert "no source of the kind" not in looked.stderr, scheme
    for scheme in offered_schemes("export"):
        written = imprint.run("export", f"{pool}/none", f"{scheme}x")
        assert "no destination of the kind" not in written.stderr, scheme
    assert "no source of the kind" in imprint.run("inspect", "ftp://x").stderr


def test_zsh_completes_schemes(tmp_path):
    """Its completion needs a terminal; so much can be seen without one: what a spec of it would add."""
    script = tmp_path / "completion"
    script.write_text(program("--completion", "zsh").stdout)
    shell = (f'compdef() {{ :; }}; _arguments() {{ print -rl -- "$@"; }}; words=(imprint resolve x); CURRENT=3; '
             f'source {script}')
    done = subprocess.run(["zsh", "-f", "-c", shell], capture_output=True, text=True, check=True)
    specs = [line for line in done.stdout.splitlines() if line.startswith("*:argument:")]
    assert specs == ['*:argument:{compadd -S "" -- ' + " ".join(offered_schemes("resolve")).replace(":", "\\:") +
                     "; _files}"]


def test_fish_completes(tmp_path):
    script = tmp_path / "completion"
    script.write_text(program("--completion", "fish").stdout)
    for typed, offered in (("imprint ex", {"export"}), ("imprint import --che", {"--checksum"}),
                           ("imprint export a b --compress ", {"zlib", "zstd", "none"}),
                           ("imprint import nbd", {"nbd://", "nbds://", "nbd+unix://"})):
        done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{typed}'"],
                              capture_output=True, text=True, check=True)
        assert {line.split("\t")[0] for line in done.stdout.splitlines() if line} == offered


def test_the_codes_are_those(imprint, pool, disk, image, tmp_path):
    """Each that does not need a fault; the others are with their faults."""
    assert imprint.run("import", disk, image).status == 0
    assert imprint.run("import", disk, image).status == 4
    assert imprint.run("import", disk).status == 2
    assert imprint.run("import", disk, image, "--no-such-flag").status == 2
    assert imprint.run("import", disk, f"{image}@snapshot").status == 2
    assert imprint.run("import", disk, "no-pool/x").status == 3
    assert imprint.run("import", tmp_path / "nothing", f"{image}-2").status == 3
    assert imprint.run("import", "http://127.0.0.1:1/x", f"{image}-2").status == 5
    refused = imprint.run("import", "http://127.0.0.1:1/x", f"{image}-2", "--allow-local-addresses",
                          "--retries", "1")
    assert refused.status == 6, refused
    assert imprint.run("import", disk, f"{image}-2", "--checksum", "sha256:" + "0" * 64).status == 7
    assert imprint.run("import", disk, f"{image}-2", "--size", "1Mi").status == 8
    assert imprint.run("import", disk, f"{image}-2", "--checksum", "md5:x").status == 2


def test_beneath_reads_files_of_one_folder(imprint, disk, image, tmp_path):
    """--beneath: for whoever may name a file, but not any file."""
    folder = tmp_path / "images"
    (folder / "old").mkdir(parents=True)
    for name in ("disk.raw", "old/disk.img"):
        (folder / name).write_bytes(disk.read_bytes())
    (folder / "link").symlink_to(disk)
    (folder / "here").symlink_to(".")
    os.mkfifo(folder / "pipe")
    (tmp_path / "images2").mkdir()
    refused = {
        disk: "is not below", tmp_path / "images2": "is not below", folder / "link": "symbolic link",
        folder / "here" / "disk.raw": "symbolic link", f"{folder}/../images/disk.raw": "leads out",
        folder / "pipe": "not a regular file", folder / "nothing": "there is no file",
        folder: "nor a folder with a disk.img", "disk.raw": "is not below",
    }
    for path, reason in refused.items():
        done = imprint.run("inspect", path, "--beneath", folder)
        assert done.status != command.DONE and reason in done.stderr, (path, done)
    for path in (folder / "disk.raw", folder / "old"):
        done = imprint.run("inspect", path, "--beneath", f"{folder}/", "--json")
        assert json.loads(done.stdout)["source"] == str(path), done
    done = imprint.run("import", folder / "old", image, "--beneath", folder)
    assert done.status == command.DONE, done
