# SPDX-License-Identifier: Apache-2.0
"""DataImportCrons as the tests write and read them, and a registry that they look at."""

import json
import os
import signal
import subprocess
import time

import golden
import kubectl
import oci_image
from registry import Foreign, Registry

POLL = "imprint.hypercloud.tmaxanc.com/poll"
LABEL = "cdi.kubevirt.io/dataImportCron"
SIZE = 3 << 20


class Images:
    """A registry with TLS, and images pushed to it by skopeo and by imprint."""

    def __init__(self, folder):
        self.folder = folder
        self.registry = Registry(folder / "registry", "tls")
        self.foreign = Foreign(folder)
        self.count = 0

    def push(self, name, seed, env=()):
        """An image with a disk of that seed; its digest."""
        self.count += 1
        image = oci_image.Image(oci_image.tar(("disk/disk.img", oci_image.make_disk(seed, SIZE))),
                                env=env)
        layout = oci_image.layout(self.folder / f"layout-{self.count}", image)
        self.foreign.copy(f"oci:{layout}:latest", self.url(name))
        return image.digest

    def push_by_imprint(self, name, seed):
        path = self.folder / f"disk-{seed}.img"
        path.write_bytes(oci_image.make_disk(seed, SIZE))
        program = os.path.join(os.path.dirname(__file__), "..", "..", "build",
                               os.environ.get("PRESET", "release"), "cli", "imprint")
        subprocess.run([program, "push", path, self.url(name), "--ca-bundle", self.registry.ca,
                        "--allow-local-addresses"], check=True, capture_output=True)

    def url(self, name):
        return self.registry.url(name)

    def blob_path(self, digest):
        return os.path.join(self.registry.folder, "data", "docker", "registry", "v2", "blobs", "sha256",
                            digest[7:9], digest[7:], "data")

    def layer_path(self, digest):
        with open(self.blob_path(digest), encoding="utf-8") as manifest:
            return self.blob_path(json.load(manifest)["layers"][0]["digest"])

    def process(self):
        with open(os.path.join(self.registry.folder, "pids", "registry"), encoding="ascii") as file:
            return int(file.read().split()[0])

    def stop(self):
        """As a network that swallows everything: connections are made, and nothing is said."""
        os.kill(self.process(), signal.SIGSTOP)

    def go_on(self):
        os.kill(self.process(), signal.SIGCONT)


def cron(name, images, repository, schedule="0 0 1 1 *", **spec):
    """As CDI has it: a template of a DataVolume."""
    return golden.item("DataImportCron", name, {
        "schedule": schedule,
        "managedDataSource": name,
        "template": {
            "spec": {
                "source": {
                    "registry": {"url": images.url(repository), "certConfigMap": "registry-ca"}
                },
                "storage": {"storageClassName": "rbd"},
            }
        },
        **spec,
    })


def poll(name):
    kubectl.run("annotate", "--overwrite", "dataimportcron", name, f"{POLL}={time.time_ns()}")


def poll_and_wait(name):
    """Until what was found is on record, and acted on."""

    def asked():
        return kubectl.get("dataimportcron", name)["status"].get("lastPollRequest")

    wanted = str(time.time_ns())
    kubectl.run("annotate", "--overwrite", "dataimportcron", name, f"{POLL}={wanted}")
    kubectl.until(lambda: asked() == wanted, "asked again")
    kubectl.until(lambda: golden.condition("dataimportcron", name, "UpToDate")[0], "told")
    time.sleep(1)


def import_name(cron_name, digest):
    return f"{cron_name}-{digest.split(':')[1][:12]}"


def source_of(name):
    source = (kubectl.get("datasource", name) or {}).get("spec", {}).get("source", {})
    return source.get("pvc", {}).get("name")


def await_source(name, claim, timeout_s=60):
    kubectl.until(lambda: source_of(name) == claim,
                  f"{name} leads to {claim}, not {source_of(name)}: "
                  f"{golden.condition('dataimportcron', name, 'UpToDate')}", timeout_s)
    golden.await_reason("dataimportcron", name, "UpToDate", "UpToDate")


def imports(name):
    return sorted(item["metadata"]["name"] for item in kubectl.get_all("pvc")
                  if item["metadata"].get("labels", {}).get(LABEL) == name)


def content(bytes_of, name):
    return bytes_of(kubectl.await_bound(name), SIZE)
