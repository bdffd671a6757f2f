# SPDX-License-Identifier: Apache-2.0
"""The images' lists of Debian packages: they exist, and hold the libraries that CMake links."""

import os
import re
import subprocess

from chart import ROOT

IMAGES = os.path.join(ROOT, "charts", "images")

# What CMake looks for, by the package that holds the library; None is for building alone.
LIBRARIES = {
    "Ceph": ["librados2", "librbd1"], "OpenSSL": ["libssl3"], "GRPC": ["libgrpc29"],
    "PROTOBUF_C": ["libprotobuf-c1"], "JSON_C": ["libjson-c5"], "CURL": ["libcurl4"],
    "ISAL": ["libisal2"], "LIBDEFLATE": ["libdeflate0"], "LZMA": ["liblzma5"],
    "ZSTD": ["libzstd1"], "SECCOMP": ["libseccomp2"], "NBD": ["libnbd0"], "YAML": ["libyaml-0-2"],
    "BLKID": ["libblkid1"], "MICROHTTPD": ["libmicrohttpd12"], "CUNIT": [], "Threads": [], "PkgConfig": [],
}


def packages(image):
    with open(os.path.join(IMAGES, f"{image}.packages"), encoding="utf-8") as file:
        lines = [line.split(None, 1) for line in file if not line.startswith("#")]
    assert all(len(line) == 2 for line in lines), "a package without a reason"
    return [name for name, _ in lines]


def test_packages_are_debians():
    listed = sorted({*packages("controller"), *packages("node")})
    done = subprocess.run(["apt-cache", "policy", *listed], capture_output=True, text=True, check=True)
    known = set(re.findall(r"^(\S+):\n  Installed:.*\n  Candidate: (?!\(none\))", done.stdout, re.M))
    assert set(listed) - known == set()


def test_libraries_that_cmake_links_are_in_an_image():
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
        looked_for = re.findall(r"^(?:find_package|pkg_check_modules)\((\w+)", file.read(), re.M)
    assert set(looked_for) - set(LIBRARIES) == set(), "say here which package it needs"
    listed = {*packages("controller"), *packages("node")}
    needed = {package for name in looked_for for package in LIBRARIES[name]}
    assert needed - listed == set()


def test_containerfile_names_the_programs_that_are_installed():
    with open(os.path.join(IMAGES, "Containerfile"), encoding="utf-8") as file:
        copied = set(re.findall(r"/out/usr/bin/([\w-]+)", file.read()))
    installed = subprocess.run(
        ["git", "-C", ROOT, "grep", "-hoE", r"^install\(TARGETS [a-z-]+", "--", "*CMakeLists.txt"],
        capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"TARGETS ([a-z-]+)", installed)) <= copied
