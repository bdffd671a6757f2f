# SPDX-License-Identifier: Apache-2.0
"""Files: only what is listed, whichever way they are reached."""

import os

import pytest


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret"
    path.write_text("key")
    return path


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "folder"
    path.mkdir()
    (path / "file").write_text("content")
    return path


def test_listed_file_is_read(probe, secret):
    assert probe("--read", secret, "read", secret).is_allowed


def test_listed_folder_is_read_with_all_below(probe, folder):
    assert probe("--read", folder, "read", folder / "file").is_allowed
    assert probe("--read", folder, "list", folder).is_allowed


OTHERS = ["/etc/passwd", "/etc/shadow", "/proc/1/environ", "/proc/1/cmdline", "/proc/version",
          "/sys/kernel/uevent_seqnum", "/dev/kmsg", "/proc/1/root/etc/passwd",
          "/proc/self/root/etc/passwd", "/proc/self/cwd/etc/passwd"]
OF_ITSELF = ["/proc/self/environ", "/proc/self/maps", "/proc/self/mem"]
if os.environ.get("PRESET") != "asan":  # a sanitizer reads these
    OTHERS += OF_ITSELF


@pytest.mark.parametrize("path", OTHERS)
def test_other_files_are_not_read(probe, path):
    outcome = probe("read", path, cwd="/")
    assert outcome.is_refused and outcome.reason == "Permission denied"


def test_neighbours_of_a_listed_file_are_not_read(probe, secret, tmp_path):
    (tmp_path / "neighbour").write_text("x")
    assert probe("--read", secret, "read", tmp_path / "neighbour").is_refused
    assert probe("--read", secret, "list", tmp_path).is_refused


def test_links_do_not_lead_out(probe, outside, folder, secret):
    """Neither links that were there, relative and absolute, nor a way up."""
    (folder / "absolute").symlink_to(secret)
    (folder / "relative").symlink_to("../secret")
    (folder / "up").symlink_to("..")
    for path in ("absolute", "relative", "up/secret", "../secret"):
        assert outside("read", folder / path).is_allowed
        assert probe("--read", folder, "read", folder / path).is_refused, path


def test_link_to_a_listed_file_is_followed(probe, tmp_path, secret):
    """As /etc/resolv.conf often is one."""
    (tmp_path / "link").symlink_to(secret)
    assert probe("--read", tmp_path / "link", "read", tmp_path / "link").is_allowed


def test_descriptor_without_rights_gains_none(probe, outside, secret):
    assert outside("reopen", secret).is_allowed
    assert probe("reopen", secret).is_refused


def test_what_is_read_is_not_written(probe, folder):
    for attempt in ("write", "truncate", "remove"):
        assert probe("--read", folder, attempt, folder / "file").is_refused
    assert probe("--read", folder, "write", folder / "new").is_refused
    assert (folder / "file").read_text() == "content"


def test_listed_folder_is_written(probe, folder):
    assert probe("--write", folder, "write", folder / "new").is_allowed
    assert probe("--write", folder, "rename", folder / "new", folder / "newer").is_allowed
    assert probe("--write", folder, "truncate", folder / "file").is_allowed
    assert probe("--write", folder, "remove", folder / "file").is_allowed
    assert os.listdir(folder) == ["newer"]


def test_listed_file_alone_is_written(probe, folder):
    assert probe("--write", folder / "file", "write", folder / "file").is_allowed
    assert probe("--write", folder / "file", "write", folder / "new").is_refused


def test_files_elsewhere_are_not_written(probe, folder, secret, tmp_path):
    for attempt in ("write", "truncate", "remove"):
        assert probe("--write", folder, attempt, secret).is_refused
    assert probe("--write", folder, "write", tmp_path / "new").is_refused
    assert probe("--write", folder, "rename", secret, folder / "mine").is_refused
    assert secret.read_text() == "key"


@pytest.mark.parametrize("attempt", ["link", "symlink"])
def test_no_links_are_made(probe, folder, secret, attempt):
    assert probe("--write", folder, attempt, secret, folder / "link").is_refused
    assert not os.path.lexists(folder / "link")


@pytest.mark.parametrize("attempt", ["chmod", "chown", "set-attribute"])
def test_attributes_stay(probe, folder, attempt):
    """Landlock does not look at these: the system call filter does."""
    assert probe("--write", folder, attempt, folder / "file").is_refused


@pytest.mark.parametrize("attempt", ["make-device", "make-fifo"])
def test_nothing_but_files_is_made(probe, folder, attempt):
    assert probe("--write", folder, attempt, folder / "thing").is_refused
    assert not os.path.lexists(folder / "thing")


def test_nothing_is_typed_into_a_terminal(probe):
    assert probe("type-into-terminal").reason == "Operation not permitted"


@pytest.mark.parametrize("path", ["/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf",
                                  "/etc/ssl/certs/ca-certificates.crt", "/proc/meminfo",
                                  "/dev/urandom"])
def test_what_every_transfer_needs_is_read(probe, path):
    assert probe("read", path).is_allowed
