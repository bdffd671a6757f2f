# SPDX-License-Identifier: Apache-2.0
"""What a shell does to a command: descriptors that are closed or full, links, names of any kind."""

import io
import json
import os
import tarfile

import pytest

import imprint as command
from images import MIB, fill, same


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("shell") / "disk.raw", 3 * MIB, pieces=10)


@pytest.fixture(scope="module")
def source(cluster, pool, disk):
    cluster.put_image(pool, "shell", disk)
    yield f"{pool}/shell"
    cluster.remove_image(pool, "shell")


def shell(imprint, line, *arguments):
    """Runs imprint by a line of bash, in which "$@" are its arguments."""
    return imprint.start(*arguments, prefix=["bash", "-c", f'exec "$@" {line}', "bash"]).wait()


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_closed_descriptors_do_not_become_the_image(imprint, source, disk, tmp_path, closed):
    """The file that is written would be number 1 or 2, and get what is said of its progress."""
    done = shell(imprint, closed, "export", source, tmp_path / "out", "--format", "raw", "--json")
    assert done.status == command.DONE, done
    assert same(tmp_path / "out", disk)


def test_closed_descriptors_are_no_images(cluster, pool, imprint, source, image):
    """Neither an empty one, nor one that takes all."""
    done = shell(imprint, "<&-", "import", "-", image)
    assert done.status == command.FAILED and "Bad file descriptor" in done.stderr, done
    assert image.split("/")[1] not in cluster.images(pool)
    done = shell(imprint, ">&-", "export", source, "-", "--format", "raw")
    assert done.status == command.FAILED and "Bad file descriptor" in done.stderr, done


@pytest.mark.parametrize("arguments", [["inspect"], ["inspect", "--json"], ["resolve"]])
def test_a_result_that_nobody_gets_is_a_failure(imprint, disk, arguments):
    done = shell(imprint, ">/dev/full", *arguments, disk)
    assert done.status == command.FAILED, done
    assert done.stderr == "imprint: write to standard output: No space left on device\n"


def test_a_link_is_written_through(imprint, source, disk, tmp_path):
    """Also into a folder that the sandbox would otherwise not have."""
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "disk.raw").write_bytes(b"before")
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "link").symlink_to("../far/disk.raw")
    done = imprint.run("export", source, tmp_path / "near" / "link", "--format", "raw")
    assert done.status == command.DONE, done
    assert (tmp_path / "near" / "link").is_symlink()
    assert same(tmp_path / "far" / "disk.raw", disk)
    assert os.listdir(tmp_path / "near") == ["link"] and os.listdir(tmp_path / "far") == ["disk.raw"]


def test_a_url_names_the_same_file_for_all(cluster, pool, imprint, source, disk, tmp_path, name, image):
    (tmp_path / "a b").mkdir()
    url = f"file://{tmp_path}/a%20b/50%25.raw"
    assert imprint.run("export", source, url, "--format", "raw").status == command.DONE
    assert same(tmp_path / "a b" / "50%.raw", disk)
    assert imprint.run("inspect", url).status == command.DONE
    assert imprint.run("import", url, image).status == command.DONE
    with cluster.image(pool, name, read_only=True) as opened:
        assert opened.read(0, opened.size()) == disk.read_bytes()


def test_names_in_any_encoding_are_valid_json(imprint, disk, tmp_path):
    """Of the file, and of the one inside it; what is in them does not move the cursor."""
    path = os.fsencode(tmp_path) + b"/d\xe9\x1b[2Jbian.tar"
    with tarfile.open(os.fsdecode(path), "w", encoding="latin-1") as archive:
        entry = tarfile.TarInfo("d\xe9\x1b[2J\n")
        entry.size = os.path.getsize(disk)
        archive.addfile(entry, io.BytesIO(disk.read_bytes()))
    done = imprint.run("inspect", os.fsdecode(path), "--json")
    assert done.status == command.DONE, done
    facts = json.loads(done.stdout)
    assert facts["virtualSize"] == os.path.getsize(disk) and "bian.tar" in facts["source"]
    table = imprint.run("inspect", os.fsdecode(path)).stdout
    assert b"\x1b" not in table and table.decode().count("\n") == table.count(b"\n")
