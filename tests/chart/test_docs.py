# SPDX-License-Identifier: Apache-2.0
"""The manifests of the manual, as they stand there: a real API server takes them, and the page of images
leaves out no source and no field."""

import glob
import os
import re

import pytest
import yaml

from chart import ROOT

# docs/quickstart.md is run whole elsewhere. The StorageClass of docs/storageclass.md is here already, and
# cannot be changed.
ELSEWHERE = ("quickstart.md", "storageclass.md")
BLOCK = re.compile(r"^```yaml\n(.*?)^```|<<'END'\n(.*?)^END$", re.MULTILINE | re.DOTALL)
IMAGES = os.path.join(ROOT, "docs", "images.md")


def read(page):
    with open(page, encoding="utf-8") as file:
        return file.read()


def manifests(page):
    """The text of each block that holds whole objects: chart values and parts of a pod are none."""
    found = (block or document for block, document in BLOCK.findall(read(page)))
    return [text for text in found if re.search(r"^apiVersion:", text, re.MULTILINE)]


PAGES = [page for page in sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))
         if os.path.basename(page) not in ELSEWHERE and manifests(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: os.path.basename(page)[:-3])
def test_manifests_are_accepted(installed, page):
    for text in manifests(page):
        told = installed("create", "--dry-run=server", "--validate=strict", "-f", "-", "-o", "name", stdin=text)
        assert len(told.splitlines()) == len(list(yaml.safe_load_all(text))), text


@pytest.fixture(scope="module")
def spec(rendered):
    """The schema of an image's spec."""
    crd = next(d for d in rendered if d["metadata"]["name"] == "virtualmachineimages.hypercloud.tmaxanc.com")
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema["properties"]["spec"]["properties"]


def test_every_source_of_an_image_is_shown(spec):
    shown = {source for text in manifests(IMAGES) for document in yaml.safe_load_all(text)
             if document["kind"] == "VirtualMachineImage" for source in document["spec"]["source"]}
    assert shown == set(spec["source"]["properties"])


def test_every_field_of_an_image_is_told(spec):
    table = re.search(r"^### Fields\n(.*?)^### ", read(IMAGES), re.MULTILINE | re.DOTALL)[1]
    told = {name.split(".")[0] for name in re.findall(r"^\| `([\w.]+)` \|", table, re.MULTILINE)}
    assert told == set(spec)
