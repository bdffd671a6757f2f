# SPDX-License-Identifier: Apache-2.0
"""Processes and the kernel: nothing new, nothing of others, nothing back."""

import os
import re
import signal
import subprocess
import time

import pytest

from sandbox import KILLED, NOBODY, PROGRAM, is_running, processes_of, run_probe

IS_SANITIZED = os.environ.get("PRESET") == "asan"


@pytest.fixture
def stranger():
    """Another process, of the same user."""
    process = subprocess.Popen(["sleep", "100"])
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("attempt", ["exec", "exec-at"])
def test_no_programs_are_run(probe, attempt):
    assert probe(attempt, "/bin/true").status == KILLED


def test_no_processes_are_made(probe, outside):
    assert outside("fork").is_allowed
    assert probe("fork").reason == "Operation not permitted"


NAMESPACES = {"user": 0x10000000, "mount": 0x00020000, "net": 0x40000000, "pid": 0x20000000}


@pytest.mark.parametrize("name", NAMESPACES)
def test_no_namespaces_are_made(probe, name):
    assert probe("clone", f"{NAMESPACES[name]:x}").is_refused
    thread = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000
    assert probe("clone", f"{NAMESPACES[name] | thread:x}").is_refused


def test_unshare_kills(probe):
    assert probe("new-user-namespace").status == KILLED


def test_threads_are_started(probe):
    assert probe("threads", 100).is_allowed


def test_threads_of_another_user_are_bounded(probe):
    outcome = probe("--uid", NOBODY, "threads", 5000)
    assert outcome.is_refused
    assert 500 < int(outcome.output[0].split()[0]) <= 1025


def test_no_process_is_traced(probe, stranger):
    assert probe("trace", stranger.pid).status == KILLED
    assert stranger.poll() is None


def test_no_memory_of_others_is_read(probe, stranger):
    assert probe("read-memory", stranger.pid, "400000").status == KILLED
    assert probe("read", f"/proc/{stranger.pid}/mem").is_refused
    assert probe("read", f"/proc/{stranger.pid}/maps").is_refused


def test_no_signals_to_others(probe, outside, stranger):
    assert probe("signal", stranger.pid).is_refused
    assert probe("signal-group").is_refused
    assert stranger.poll() is None
    assert outside("signal", stranger.pid).is_allowed


def test_whether_another_is_dead_is_told(probe):
    """A worker whose predecessor was killed need not wait until Ceph has given that one up."""
    other = subprocess.Popen([PROGRAM, "tell-process"], stdout=subprocess.PIPE, text=True,
                             env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    try:
        name = other.stdout.readline().strip()
        where, number, ticks = re.fullmatch(r"(.*\.)(\d+)(/\d+)", name).groups()
        has_number = number != "0"  # since Linux 6.9
        assert probe("look-at-process", name).output[0] == ("alive" if has_number else "unknown")
        if has_number:
            earlier = f"{where}{int(number) + 1}{ticks}"  # had the same pid, and is another
            assert probe("look-at-process", earlier).output[0] == "dead"
    finally:
        other.kill()
        other.wait()
        other.stdout.close()
    assert probe("look-at-process", name).output[0] == "dead"


def test_privileges_are_gone(probe):
    outcome = probe("privileges")
    assert outcome.output[0].startswith("capabilities 0 bounding 0 no-new-privs 1 dumpable 0 core 0 ")
    outcome = probe("--uid", NOBODY, "privileges")
    assert outcome.output[0].startswith("capabilities 0 bounding 0 no-new-privs 1 dumpable 0 core 0 ")
    assert outcome.output[0].endswith(f"uid {NOBODY} gid {NOBODY} groups 0")


@pytest.mark.parametrize("attempt", ["become-root", "set-capabilities", "raise-limit", "be-dumpable"])
def test_privileges_do_not_come_back(probe, attempt):
    assert probe("--uid", NOBODY, attempt).is_refused
    assert probe(attempt).is_refused


if not IS_SANITIZED:  # such a build needs more than any limit
    def test_memory_is_limited(probe):
        assert probe("--memory", "1Gi", "memory", 512).is_allowed
        assert probe("--memory", "1Gi", "memory", 1024).reason == "Cannot allocate memory"


@pytest.mark.parametrize("attempt", ["map-writable-program", "make-data-program"])
def test_data_does_not_become_a_program(probe, outside, attempt):
    assert outside(attempt).is_allowed
    assert probe(attempt).is_refused


def test_no_mounts(probe, tmp_path):
    assert probe("--write", tmp_path, "mount", tmp_path).status == KILLED
    assert not os.path.ismount(tmp_path)


def test_no_second_table_of_system_calls(probe):
    assert probe("call-as-32-bit").status == KILLED


# What the filter kills for, by its numbers on this machine; a few by name so that nobody drops them.
def number(name):
    with open("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", encoding="ascii") as header:
        return int(re.search(rf"#define __NR_{name} (\d+)", header.read())[1])


@pytest.mark.parametrize("name", [
    "bpf", "perf_event_open", "userfaultfd", "open_by_handle_at", "name_to_handle_at", "kexec_load",
    "kexec_file_load", "init_module", "finit_module", "delete_module", "setns", "chroot", "pivot_root",
    "process_vm_writev", "pidfd_getfd", "kcmp", "fsopen", "move_mount", "open_tree", "iopl", "ioperm",
    "reboot", "swapon", "clock_settime"])
def test_doors_to_the_kernel_kill(probe, name):
    assert probe("call", number(name)).status == KILLED


@pytest.mark.parametrize("name", [
    "keyctl", "add_key", "request_key", "io_uring_setup", "io_uring_enter", "io_uring_register",
    "seccomp", "landlock_create_ruleset", "memfd_create", "shmget", "msgget", "mknod", "setuid",
    "setgid", "setgroups", "personality", "syslog", "sched_setaffinity", "vmsplice", "splice",
    "inotify_init1", "fanotify_init", "clone3", "vfork", "recvmsg", "recvmmsg", "sendmmsg", "bind",
    "accept4", "pidfd_send_signal", "chmod", "fchmodat", "chown", "link", "symlink",
    "mlockall", "pkey_mprotect", "remap_file_pages", "migrate_pages", "move_pages", "mq_open"])
def test_other_doors_are_shut(probe, name):
    outcome = probe("call", number(name))
    assert outcome.is_refused
    assert outcome.reason in ("Operation not permitted", "Function not implemented")


# The guard.

def hanging_probe(*options):
    """A probe that stays: its connection is never answered."""
    process = subprocess.Popen([PROGRAM, *options, "--allow", "127.0.0.1", "sleep"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout.readline() == "sleeping\n"
    return process


@pytest.mark.parametrize("options", [[], ["--uid", NOBODY]])
def test_guard_has_few_rights_itself(options):
    process = hanging_probe(*options)
    try:
        (guard, status), = processes_of(process.pid)
        assert status["Name"] == "imprint-guard"
        assert status["CapEff"] == "0000000000000000"
        assert status["NoNewPrivs"] == "1"
        if not IS_SANITIZED:
            assert status["Seccomp"] == "2"
        assert sorted(os.listdir(f"/proc/{guard}/fd")) == ["0", "1", "2", "3", "4"]
    finally:
        process.kill()
        process.wait()


def test_guard_dies_with_the_worker():
    process = hanging_probe()
    (guard, _), = processes_of(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 10
    while is_running(guard):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_guard_survives_what_a_terminal_sends():
    process = hanging_probe()
    (guard, _), = processes_of(process.pid)
    for number_of_signal in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(guard, number_of_signal)
    time.sleep(0.1)
    assert is_running(guard)
    process.kill()
    process.wait()


def test_without_its_guard_nothing_connects():
    """It fails closed."""
    process = subprocess.Popen([PROGRAM, "--allow", "127.0.0.1", "connect-later", "127.0.0.1", "1"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    (guard, _), = processes_of(process.pid)
    os.kill(guard, signal.SIGKILL)
    output, _ = process.communicate("\n", timeout=30)
    assert output == "refused: Function not implemented\n"


# Where the kernel lacks something.

def test_lack_is_fatal_for_the_strict_and_a_line_for_the_others(probe):
    """A limit of open files that leaves no room for the guard's stands in for an old kernel."""
    wrapper = ["prlimit", "--nofile=256:256"]
    outcome = run_probe("privileges", wrapper=wrapper)
    assert outcome.status == 3
    assert "sandbox: connections are not limited: fewer than" in outcome.log
    outcome = run_probe("--lax", "privileges", wrapper=wrapper)
    assert outcome.is_allowed
    assert outcome.log.count("level=warn") == 1
    assert "sandbox: connections are not limited: fewer than" in outcome.log
    assert run_probe("--lax", "exec", "/bin/true", wrapper=wrapper).status == KILLED


def test_threads_are_counted_before(probe):
    outcome = run_probe("--late", "privileges")
    assert outcome.status == 3
    assert "2 threads run already" in outcome.log
