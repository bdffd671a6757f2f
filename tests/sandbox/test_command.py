# SPDX-License-Identifier: Apache-2.0
"""The sandbox as `imprint` goes into it: what its arguments name can be reached, and nothing else."""

import contextlib
import http.server
import os
import re
import threading
import time

import pytest
import rbd

from imprint import DONE, NOT_ALLOWED, Imprint
from sandbox import KILLED, Listener, processes_of

CAP_DAC_READ_SEARCH = 1 << 2


@pytest.fixture
def image(tmp_path):
    path = tmp_path / "image"
    path.write_bytes(bytes(1 << 20))
    (tmp_path / "neighbour").write_text("x")
    return path


# A worker that tries.

def test_source_is_read_and_its_neighbours_are_not(probe, image):
    for url in (image, f"file://{image}"):
        assert probe("--source", url, "read", image).is_allowed
        assert probe("--source", url, "read", image.parent / "neighbour").is_refused
        assert probe("--source", url, "write", image).is_refused
        assert probe("--source", url, "read", "/etc/passwd").is_refused


def test_archive_is_read(probe, image):
    for url in (f"oci-archive:{image}", f"oci-archive:{image}:name:tag"):
        assert probe("--source", url, "read", image).is_allowed
        assert probe("--source", url, "read", image.parent / "neighbour").is_refused


def test_files_of_others_are_read_by_root(probe, image):
    """As it would without a sandbox; but no file that is not named."""
    os.chown(image, 12345, 12345)
    os.chmod(image, 0o600)
    assert probe("--source", image, "read", image).is_allowed
    assert probe("--source", image, "read", "/etc/shadow").is_refused


def test_destination_is_written_in_its_folder(probe, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    assert probe("--sink", folder / "out", "write", folder / "out.part").is_allowed
    assert probe("--sink", folder / "out", "write", tmp_path / "elsewhere").is_refused
    for url in (f"oci-archive:{folder}/out", f"oci-archive:{folder}/out:name:tag"):
        assert probe("--sink", url, "write", folder / "out.part").is_allowed
        assert probe("--sink", url, "write", tmp_path / "elsewhere").is_refused
    assert probe("--sink", "rbd:pool/image", "write", tmp_path / "elsewhere").is_refused
    os.mkfifo(folder / "pipe")
    assert probe("--sink", folder / "pipe", "write", folder / "other").is_refused


@pytest.mark.parametrize("arguments", [
    ["--source", "http://{}/image"], ["--source", "nbd://{}/"],
    ["--insecure", "--source", "docker://{}/repository:tag"],
    ["--endpoint", "http://{}", "--source", "s3://bucket/key"],
    ["--endpoint", "http://{}", "--sink", "s3://bucket/key"], ["--sink", "https://{}/image"],
    ["--sink", "nbd://{}/"],
    ["--proxy", "http://user:password@{}", "--source", "https://images.invalid/image"]],
    ids=lambda arguments: " ".join(arguments))
def test_server_is_reached_and_others_are_not(probe, listener, other_listener, arguments):
    arguments = [argument.format(listener.rule) for argument in arguments]
    assert probe(*arguments, "tcp", listener.host, listener.port).is_allowed
    assert listener.accepted == 1
    assert probe(*arguments, "tcp", other_listener.host, other_listener.port).is_refused
    assert other_listener.accepted == 0


def test_no_programs_and_nothing_of_others(probe, image):
    assert probe("--source", image, "exec", "/bin/true").status == KILLED
    assert probe("--source", image, "trace", os.getpid()).status == KILLED


# The command itself.

@pytest.fixture
def imprint(cluster):
    return Imprint(cluster)


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)


def wait_for(condition, timeout_s=30):
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_import_is_shut_in(imprint, cluster, pool, tmp_path):
    """Looked at while it waits for more of its image."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    running = imprint.start("import", pipe, f"{pool}/shut-in", "--strict-sandbox")
    with open(pipe, "wb") as out:
        out.write(bytes(1 << 20))
        out.flush()
        wait_for(lambda: "shut-in" in cluster.images(pool))
        own = status_of(running.pid)
        assert own["Seccomp"] == "2" and own["NoNewPrivs"] == "1"
        assert int(own["CapPrm"], 16) & ~CAP_DAC_READ_SEARCH == 0
        assert int(own["CapBnd"], 16) == 0
        helpers = {lines["Name"]: lines for _, lines in processes_of(running.pid)}
        assert set(helpers) == {"imprint-guard", "imprint-foreign"}
        assert all(lines["NoNewPrivs"] == "1" for lines in helpers.values())
        threads = os.listdir(f"/proc/{running.pid}/task")
        assert len(threads) > 1
        assert {status_of(f"{running.pid}/task/{thread}")["Seccomp"] for thread in threads} == {"2"}
    assert running.wait().status == DONE
    with cluster.ioctx(pool) as ioctx:
        rbd.RBD().remove(ioctx, "shut-in")


def inspect(imprint, url, *arguments, **options):
    return imprint.run("inspect", url, *arguments, **options)


def test_lack_is_a_line_or_an_error(imprint, image):
    """A limit of open files that leaves no room for the guard's stands in for an old kernel."""
    wrapper = ["prlimit", "--nofile=256:256"]
    assert inspect(imprint, image, "--strict-sandbox").stderr == ""
    done = inspect(imprint, image, prefix=wrapper)
    assert done.status == DONE
    assert re.fullmatch(r".*sandbox: connections are not limited: fewer than \d+ files may be open.*\n",
                        done.stderr)
    done = inspect(imprint, image, "--strict-sandbox", prefix=wrapper)
    assert done.status != DONE and done.stdout == b""
    assert "sandbox: connections are not limited" in done.stderr


def test_without_it_says_so(imprint, image):
    done = inspect(imprint, image, "--no-sandbox")
    assert done.status == DONE
    assert done.stderr.count("\n") == 1 and "--no-sandbox" in done.stderr


@contextlib.contextmanager
def redirecting_to(target):
    """A server that the arguments name and that leads to one that they do not."""
    class Redirect(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.send_response(302)
            self.send_header("Location", f"http://{target.rule}/image")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_HEAD

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Redirect) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/image"
        server.shutdown()


def test_redirect_to_another_host(imprint):
    """It is refused at once, with what to do; and the flag that is named allows it."""
    other = Listener("127.0.0.2")
    with contextlib.closing(other), redirecting_to(other) as url:
        done = inspect(imprint, url, "--allow-local-addresses")
        assert done.status == NOT_ALLOWED, done.stderr
        assert f"--allow-network {other.rule} " in done.stderr and "attempts" not in done.stderr
        assert other.accepted == 0
        inspect(imprint, url, "--allow-local-addresses", "--retries", "1", "--allow-network", other.rule)
        assert other.accepted > 0


def test_redirect_to_another_port_of_the_host(imprint, other_listener):
    with redirecting_to(other_listener) as url:
        inspect(imprint, url, "--allow-local-addresses", "--retries", "1")
        assert other_listener.accepted > 0
