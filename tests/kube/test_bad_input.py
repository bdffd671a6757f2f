# SPDX-License-Identifier: Apache-2.0
"""Whatever is wrong with an object is told on it, with the field and the cause, and in an event; and
nothing is left in Ceph of what cannot be."""

import subprocess

import pytest

import golden
import kubectl

VMIM = "virtualmachineimage"


@pytest.fixture
def surroundings():
    """Secrets, certificates and a class that are of no use."""
    kubectl.apply(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "useless"},
         "stringData": {"colour": "blue"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "empty"}, "data": {"ca": "?"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "garbage"},
         "data": {"ca": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}},
        {**kubectl.storage_class("foreign"), "provisioner": "example.com/other"})
    yield
    kubectl.delete("secret", "useless")
    kubectl.delete("configmap", "empty", "garbage")
    kubectl.run("delete", "storageclass", "foreign")


class Answer:
    """What the server says, whatever is asked of that path."""

    def __init__(self, status, **headers):
        self.parts = status, {"Content-Length": 0, **headers}, b""

    def answer(self, request):
        return self.parts


@pytest.fixture
def backed(tmp_path):
    """A qcow2 file that wants another one beneath it."""
    path = tmp_path / "backed.qcow2"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-u", "-F", "raw", "-b", "/etc/passwd",
                    path, "64M"], check=True)
    return path.read_bytes()


def told(kind, name, words):
    """The message and an event say all of it."""
    text = kubectl.message(kind, name)
    missing = [word for word in words if word not in text]
    return not missing and any(text[:60] in event for event in kubectl.events(name))


def assert_told(kind, states):
    """states: {name: (state, word...)}."""
    for name, (state, *words) in states.items():
        kubectl.until(lambda: kubectl.state(kind, name) == state and told(kind, name, words),
                      f"{name} is {state} for {words}; it says "
                      f"'{kubectl.message(kind, name)}', {kubectl.events(name)}", 120)


def test_images(server, s3, surroundings, backed, cluster):
    server.files["/to-file"] = Answer(302, Location="file:///etc/passwd")
    server.files["/forbidden"] = Answer(403)
    server.files["/for-members"] = Answer(401)
    server.files["/forever"] = Answer(302, Location="/forever")
    server.files["/backed"] = type(server.files["/disk.raw"])(size=0, etag='"backed"')
    server.files["/backed"].data = backed
    server.files["/short"] = type(server.files["/disk.raw"])(size=0, etag='"short"')
    server.files["/short"].data = server.files["/disk.qcow2"].data[:1 << 20]
    good = server.url("/disk.qcow2")
    store = {"bucketName": "vm-images", "objectName": "x", "endpoint": s3["endpoint"]}
    once = {"retry": {"limit": 0}}
    images = {
        "to-file": ({"http": server.url("/to-file")}, {}, "Error", "file:"),
        "forbidden": ({"http": server.url("/forbidden")}, {}, "Error", "spec.source.http: ", "403"),
        "missing": ({"http": server.url("/missing")}, {}, "Error", "spec.source.http: ", "404"),
        "wrong-sum": ({"http": good}, {"checksum": "sha256:" + "0" * 64}, "Error", "spec.checksum: ",
                      "sha256:" + "0" * 64),
        "no-bucket": ({"objectStore": {**store, "bucketName": "none", "secretRef": "store"}}, {}, "Error",
                      "spec.source.objectStore: ", "NoSuchBucket"),
        "for-members": ({"http": server.url("/for-members")}, {}, "Error", "401"),
        "forever": ({"http": server.url("/forever")}, once, "Error", "redirect"),
        "backed": ({"http": server.url("/backed")}, {}, "Error", "backing"),
        "short": ({"http": server.url("/short")}, {}, "Error", "truncated"),
        "keyless": ({"http": good}, {"secretRef": "useless"}, "Error", "spec.secretRef", "username"),
        "s3-keyless": ({"objectStore": {**store, "secretRef": "useless"}}, {}, "Error",
                       "spec.source.objectStore.secretRef", "AWS_ACCESS_KEY_ID"),
        "s3-commonly-keyless": ({"objectStore": store}, {"secretRef": "useless"}, "Error", "spec.secretRef",
                                "AWS_ACCESS_KEY_ID"),
        "registry-keyless": ({"registry": {"url": "docker://127.0.0.1/x", "secretRef": "useless"}}, {}, "Error",
                             "spec.source.registry.secretRef", "username"),
        "no-object": ({"objectStore": {**store, "secretRef": "store"}}, {}, "Error", "vm-images/x"),
        "no-cert": ({"http": good}, {"certConfigMap": "later"}, "Creating", "spec.certConfigMap",
                    "later"),
        "no-pem": ({"http": good}, {"certConfigMap": "empty"}, "Error", "spec.certConfigMap", "PEM"),
        "bad-pem": ({"http": good.replace("http:", "https:")}, {"certConfigMap": "garbage", **once},
                    "Error", "CA"),
        "no-class": ({"http": good}, {"storageClassName": "missing"}, "Error",
                     "spec.storageClassName", "missing"),
        "foreign-class": ({"http": good}, {"storageClassName": "foreign"}, "Error",
                          "spec.storageClassName", "another driver"),
        "on-a-node": ({"hostPath": {"path": "/disk", "nodeName": "n"}}, {}, "Error",
                      "spec.source.hostPath"),
        "no-claim": ({"pvc": {"name": "later"}}, {}, "Creating", "spec.source.pvc.name", "later"),
    }
    kubectl.apply(*(kubectl.image(name, source, **spec)
                    for name, (source, spec, *_) in images.items()))
    assert_told(VMIM, {name: told for name, (_, _, *told) in images.items()})
    kubectl.until(lambda: not cluster.images("imprint"), "nothing is left in Ceph")
    claims = [item["metadata"]["name"] for item in kubectl.get_all("pvc")]
    assert claims == []


REFUSED = [
    ({"source": {"http": "file:///etc/passwd"}}, "spec.source.http"),
    ({"source": {"http": "https://"}}, "spec.source.http"),
    ({"source": {"nbd": {"url": "nbd+unix:///?socket=/run/s"}}}, "spec.source.nbd.url"),
    ({"source": {"registry": {"url": "https://quay.io/x"}}}, "spec.source.registry.url"),
    ({"source": {"http": "https://h/x"}, "checksum": "md5:" + "0" * 32}, "spec.checksum"),
    ({"source": {"http": "https://h/x"}, "checksum": "sha256:12"}, "spec.checksum"),
    ({"source": {"http": "https://h/x"}, "retry": {"limit": -1}}, "spec.retry.limit"),
    ({"source": {"http": "https://h/x"}, "pvc": {"resources": {"requests": {"storage": "much"}}}},
     "spec.pvc.resources.requests"),
]


def test_what_the_api_server_refuses():
    for spec, field in REFUSED:
        with pytest.raises(kubectl.Refused, match=field.replace(".", r"\.")):
            kubectl.apply(kubectl.image("never", **spec))
    assert kubectl.get(VMIM, "never") is None


def test_volumes_and_claims(server, surroundings):
    kubectl.apply(kubectl.image("base", {"http": server.url("/disk.qcow2")}))
    kubectl.await_state(VMIM, "base", "Available")

    def volume(name, **pvc):
        return {"apiVersion": f"{kubectl.GROUP}/v1alpha1", "kind": "VirtualMachineVolume",
                "metadata": {"name": name},
                "spec": {"virtualMachineImage": {"name": "base"}, "pvc": pvc}}

    kubectl.apply(volume("no-class", storageClassName="missing"),
                  volume("foreign-class", storageClassName="foreign"),
                  volume("small", resources={"requests": {"storage": "1Mi"}}),
                  kubectl.claim("claim-foreign", "64Mi", storage_class="foreign",
                                **kubectl.from_image("base")),
                  kubectl.claim("claim-small", "1Mi", **kubectl.from_image("base")),
                  kubectl.claim("claim-classless", "64Mi", storage_class="missing",
                                **kubectl.from_image("base")))
    assert_told("virtualmachinevolume", {
        "no-class": ("Error", "spec.pvc.storageClassName", "missing"),
        "foreign-class": ("Error", "spec.pvc.storageClassName", "another driver"),
        "small": ("Error", "spec.pvc.resources.requests.storage", "1Mi", "64Mi"),
    })
    for name, words in {"claim-foreign": ["spec.storageClassName", "foreign"],
                        "claim-small": ["spec.resources.requests.storage", "1Mi", "64Mi"],
                        "claim-classless": ["missing"]}.items():
        kubectl.until(lambda: any(all(word in event for word in ("CannotPopulate", *words))
                                  for event in kubectl.events(name)), f"{name} is told {words}")
    assert len(kubectl.get_all("pv")) == 1, "none but the image's own"


@pytest.fixture
def narrow():
    """A namespace in which there may be no claim."""
    quota = {"apiVersion": "v1", "kind": "ResourceQuota",
             "metadata": {"name": "narrow", "namespace": "narrow"},
             "spec": {"hard": {"persistentvolumeclaims": "0"}}}
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "narrow"}}, quota)
    kubectl.until(lambda: kubectl.get("resourcequota", "narrow", "narrow").get("status", {}).get("hard"),
                  "the quota counts")
    yield quota
    kubectl.run("delete", "namespace", "narrow", "--wait=false", "--ignore-not-found")
    kubectl.until(lambda: not any(item["metadata"]["name"] == "narrow"
                                  for item in kubectl.get_all("namespaces")), "the namespace is gone")


def test_a_quota_is_told_and_waited_for(server, narrow):
    kubectl.apply(kubectl.image("wide", {"http": server.url("/disk.qcow2")}, namespace="narrow"))
    kubectl.until(lambda: "exceeded quota" in kubectl.message(VMIM, "wide", "narrow"), "told")
    assert kubectl.state(VMIM, "wide", "narrow") == "Creating"
    assert any("exceeded quota" in event for event in kubectl.events("wide", "narrow"))
    narrow["spec"]["hard"]["persistentvolumeclaims"] = "1"
    kubectl.apply(narrow)
    kubectl.await_state(VMIM, "wide", "Available", "narrow")


def test_a_namespace_that_goes_takes_all_along(server, narrow, cluster):
    narrow["spec"]["hard"]["persistentvolumeclaims"] = "9"
    kubectl.apply(narrow)
    server.slow_s = 0.2
    kubectl.apply(kubectl.image("slow", {"http": server.url("/disk.qcow2")}, namespace="narrow"),
                  golden.volume("slow", {"http": {"url": server.url("/disk.raw")}}, namespace="narrow"))
    kubectl.until(lambda: server.sent > 1 << 20 and len(cluster.images("imprint")) == 2, "both run")
    kubectl.run("delete", "namespace", "narrow", "--wait=false")
    kubectl.until(lambda: not any(item["metadata"]["name"] == "narrow"
                                  for item in kubectl.get_all("namespaces")), "the namespace is gone")
    kubectl.until(lambda: not cluster.images("imprint"), "the space is free")
