#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds lib/ceph to its rule: a call that reaches a cluster stands inside CEPH_CALL().

The kill tests end the process behind each CEPH_CALL(). A call outside of one would be a step that they
never try, so it is an error here unless it is on the list of what stays in the process.

usage: check_ceph_calls.py FILE...
"""

import fnmatch
import re
import sys

# What touches nothing but memory, or what the client was sent before. Patterns as in a shell.
LOCAL = [
    "rados_create2",
    "rados_conf_*",
    "rados_shutdown",
    "rados_buffer_free",
    "rados_get_instance_id",
    "rados_getaddrs",
    # from the OSD map that the client holds
    "rados_pool_list",
    "rados_application_list",
    "rados_ioctx_create",
    "rados_ioctx_create2",
    "rados_ioctx_destroy",
    "rados_ioctx_get_id",
    "rados_ioctx_get_pool_name",
    "rados_ioctx_set_namespace",
    "rados_set_pool_full_try",
    # operations are put together here and sent by rados_*_op_operate
    "rados_create_*_op",
    "rados_release_*_op",
    "rados_read_op_*",
    "rados_write_op_*",
    # completions; waiting for one is the step, and is wrapped
    "rados_aio_create_completion2",
    "rados_aio_get_return_value",
    "rados_aio_release",
    "rbd_aio_create_completion",
    "rbd_aio_get_arg",
    "rbd_aio_get_return_value",
    "rbd_aio_release",
    # answered from the open image; where another client changed it the header is read again, but a kill
    # behind that is a kill behind the call before
    "rbd_get_features",
    "rbd_get_id",
    "rbd_snap_get_id",
    "rbd_stat",
    # what a call has answered is taken apart, lists that it has filled are emptied
    "rados_getxattrs_next",
    "rados_getxattrs_end",
    "rados_omap_get_next2",
    "rados_omap_get_end",
    "rados_get_last_version",
    "rados_decode_notify_response",
    "rados_free_notify_response",
    "rbd_*_cleanup",
    "rbd_image_options_*",
]

# Wins over the list above.
REMOTE = ["rados_*_op_operate*"]

# What only starts a call: fine where the same file waits for completions inside CEPH_CALL(), or hands the
# completion to one that does (ask_all.c).
STARTERS = ["rados_aio_exec", "rados_aio_getxattr", "rados_aio_read_op_operate", "rados_aio_write_op_operate"]
WAITS = ["rados_aio_wait_for_complete", "rbd_aio_wait_for_complete", "ask_all"]

CALL = re.compile(r"\b((?:rbd|rados)_[a-z0-9_]+|ask_all|[A-Z][A-Z0-9_]+)\s*\(")
MACRO = re.compile(r"^#define (\w+)\((\w+)\)((?:.*\\\n)*.*)", re.MULTILINE)
NOISE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def without_noise(source):
    """The source with comments and literals blanked out; every line stays where it is."""
    return NOISE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), source)


def closing(text, opening):
    """The index of the parenthesis that closes the one at `opening`."""
    depth = 0
    for at in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return len(text)


def wrappers(text):
    """CEPH_CALL, the one beside it in ceph_call.h, and the file's own macros that stand on it."""
    names = {"CEPH_CALL", "CALL_THAT_OPENS"}
    for name, argument, body in MACRO.findall(text):
        if re.search(rf"\bCEPH_CALL\(\s*{argument}\s*\)", body):
            names.add(name)
    return names


def calls(source):
    """Yields (line, name, is_wrapped) of each call."""
    text = without_noise(source)
    wrapping = wrappers(text)
    wrapped_until = 0
    for found in CALL.finditer(text):
        if found.group(1) in wrapping:
            wrapped_until = max(wrapped_until, closing(text, found.end() - 1))
        elif not found.group(1).isupper():
            yield text.count("\n", 0, found.start()) + 1, found.group(1), found.start() < wrapped_until


def violations(source):
    """Yields (line, message)."""
    found = list(calls(source))
    waits = any(name in WAITS and (is_wrapped or name == "ask_all") for _, name, is_wrapped in found)
    for line, name, is_wrapped in found:
        is_local = matches(name, LOCAL) and not matches(name, REMOTE)
        if is_wrapped or name == "ask_all" or is_local:
            continue
        if name not in STARTERS:
            yield line, f"{name}() reaches the cluster outside of CEPH_CALL()"
        elif not waits:
            yield line, f"{name}() is started, but nothing here waits for it inside CEPH_CALL()"


# What must be found, and what must not: a check that finds nothing proves nothing.
SELF_TEST = [
    ("int r = rbd_open(io, name, &rbd, NULL);", 1),
    ("int r = CEPH_CALL(rbd_open(io, name, &rbd, NULL));", 0),
    ("int r = CEPH_CALL(rbd_open(io, f(name), &rbd, NULL)) + rbd_close(rbd);", 1),
    ("r = CEPH_CALL(\n    rados_exec(io, object, g(h(1)), 2));\nrados_connect(c);", 1),
    ("/* rbd_open(x) */ // rbd_open(x)\nlog(\"rbd_open(x)\");", 0),
    ("rados_conf_set(c, \"(\", \")\"); CEPH_CALL(rados_connect(c));", 0),
    ("rados_write_op_remove(op); rados_write_op_operate2(op, io, name, NULL, 0);", 1),
    ("rados_aio_exec(io, 0);", 1),
    ("rados_aio_exec(io, 0); CEPH_CALL(rados_aio_wait_for_complete(c));", 0),
    ("rados_aio_exec(io, 0); rados_aio_wait_for_complete(c);", 2),
    ("#define AGAIN(call) \\\n  do { r = CEPH_CALL(call); } while (r)\nAGAIN(rbd_open(1));", 0),
    ("#define AGAIN(call) \\\n  do { r = (call); } while (r)\nAGAIN(rbd_open(1));", 1),
    ("MUTEX_GUARD(&x); RETRY(rbd_open(1));", 1),
    ("rbd_image_t rbd; struct rbd_thing x = {0};", 0),
]


def main():
    for source, expected in SELF_TEST:
        if len(list(violations(source))) != expected:
            sys.exit(f"check_ceph_calls.py is broken: {source!r} should have {expected} violations")
    files = sys.argv[1:]
    failed = False
    wrapped = 0
    for path in files:
        with open(path, encoding="utf-8") as file:
            source = file.read()
        wrapped += sum(is_wrapped for _, _, is_wrapped in calls(source))
        for line, message in violations(source):
            failed = True
            print(f"{path}:{line}: {message}")
    if wrapped == 0:
        sys.exit("no call inside CEPH_CALL() was seen at all: is this lib/ceph?")
    print(f"{wrapped} calls in {len(files)} files stand inside CEPH_CALL()")
    sys.exit(1 if failed else 0)


main()
