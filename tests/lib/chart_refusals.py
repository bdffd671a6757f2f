# SPDX-License-Identifier: Apache-2.0
"""What the API server must refuse, and what it must say: (name, kind, spec, part of the message)."""

GROUPS = {
    "DataVolume": "cdi.kubevirt.io/v1beta1",
    "DataSource": "cdi.kubevirt.io/v1beta1",
    "DataImportCron": "cdi.kubevirt.io/v1beta1",
}

URL = "https://images.test/a.qcow2"
STORE = {"bucketName": "b", "objectName": "o"}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}

IMAGE_SOURCE = (
    "exactly one of http, objectStore, hostPath, registry, nbd, upload and pvc must be set")
VOLUME_IMAGE = "exactly one of virtualMachineImageName and virtualMachineImage must be set"
VOLUME_SIZE = "only one of pvc and capacity may be set"
DATA_SOURCES = "exactly one of http, s3, registry, pvc, snapshot, blank and upload must be set"
NOT_SERVED = "sources gcs, imageio and vddk are not served"
BLANK = {"blank": {}}

IMAGES = [
    ("no-spec", None, "spec: Required value"),
    ("no-source", {}, "spec.source: Required value"),
    ("empty-source", {"source": {}}, IMAGE_SOURCE),
    ("http-and-store", {"source": {"http": URL, "objectStore": STORE}}, IMAGE_SOURCE),
    ("upload-and-pvc", {"source": {"upload": {}, "pvc": {"name": "x"}}}, IMAGE_SOURCE),
    ("all-but-one", {"source": {"hostPath": {"path": "/a", "nodeName": "n"},
                                "registry": {"url": "docker://h/n"},
                                "nbd": {"url": "nbd://h"}}}, IMAGE_SOURCE),
    ("ftp", {"source": {"http": "ftp://images.test/a"}}, "spec.source.http"),
    ("store-without-object", {"source": {"objectStore": {"bucketName": "b"}}},
     "spec.source.objectStore.objectName: Required value"),
    ("host-path-without-node", {"source": {"hostPath": {"path": "/a"}}},
     "spec.source.hostPath.nodeName: Required value"),
    ("relative-host-path", {"source": {"hostPath": {"path": "a", "nodeName": "n"}}},
     "spec.source.hostPath.path"),
    ("registry-by-https", {"source": {"registry": {"url": "https://quay.io/a"}}},
     "spec.source.registry.url"),
    ("nbd-by-http", {"source": {"nbd": {"url": "http://a"}}}, "spec.source.nbd.url"),
    ("two-classes", {"source": {"http": URL}, "storageClassName": "a",
                     "pvc": {"storageClassName": "b"}},
     "storageClassName and pvc.storageClassName name different classes"),
    ("md5", {"source": {"http": URL}, "checksum": "md5:d41d8cd98f00b204e9800998ecf8427e"},
     "spec.checksum"),
    ("bad-size", {"source": {"http": URL}, "pvc": {"resources": {"requests": {"storage": "much"}}}},
     "spec.pvc.resources.requests.storage"),
    ("bad-mode", {"source": {"http": URL}, "pvc": {"accessModes": ["ReadSometimes"]}},
     "spec.pvc.accessModes[0]"),
    ("negative-retry", {"source": {"http": URL}, "retry": {"limit": -1}}, "spec.retry.limit"),
    ("n" * 244, {"source": {"http": URL}}, "metadata.name may have 243 characters"),
]

VOLUMES = [
    ("no-image", {}, VOLUME_IMAGE),
    ("two-images", {"virtualMachineImageName": "a", "virtualMachineImage": {"name": "a"}},
     VOLUME_IMAGE),
    ("two-sizes", {"virtualMachineImageName": "a", "pvc": CLAIM, "capacity": {"storage": "1Gi"}},
     VOLUME_SIZE),
    ("empty-capacity", {"virtualMachineImageName": "a", "capacity": {}},
     "spec.capacity.storage: Required value"),
]

EXPORTS = [
    ("no-volume", {"objectStore": STORE},
     "exactly one of pvcName and virtualMachineVolume must be set"),
    ("two-volumes", {"pvcName": "a", "virtualMachineVolume": {"name": "a"}, "objectStore": STORE},
     "exactly one of pvcName and virtualMachineVolume must be set"),
    ("no-destination", {"pvcName": "a"}, "exactly one of objectStore and destination must be set"),
    ("two-destinations", {"pvcName": "a", "objectStore": STORE, "destination": {"local": {}}},
     "exactly one of objectStore and destination must be set"),
    ("empty-destination", {"pvcName": "a", "destination": {}},
     "exactly one of local, s3 and registry must be set"),
    ("local-and-s3", {"pvcName": "a",
                      "destination": {"local": {}, "s3": {"url": "http://a/b/c"}}},
     "exactly one of local, s3 and registry must be set"),
    ("vmdk", {"pvcName": "a", "objectStore": STORE, "format": "vmdk"}, "spec.format"),
    ("compressed-raw", {"pvcName": "a", "objectStore": STORE, "format": "raw", "compress": True},
     "compress is for format qcow2 only"),
]

ROLLBACKS = [
    ("no-snapshot", {"pvcName": "a"}, "spec.volumeSnapshotName: Required value"),
    ("no-claim", {"volumeSnapshotName": "a"}, "spec.pvcName: Required value"),
]

STORAGES = [
    ("no-replicas", {"storage": {"replicas": 0}}, "spec.storage.replicas"),
]

DATA_VOLUMES = [
    ("no-source", {"pvc": CLAIM},
     "exactly one of source, sourceRef and a dataSource of the claim must be set"),
    ("source-and-ref", {"source": BLANK, "sourceRef": {"kind": "DataSource", "name": "a"},
                        "pvc": CLAIM},
     "exactly one of source, sourceRef and a dataSource of the claim must be set"),
    ("source-and-claims-source",
     {"source": BLANK, "storage": {"dataSource": {"kind": "PersistentVolumeClaim", "name": "a"}}},
     "exactly one of source, sourceRef and a dataSource of the claim must be set"),
    ("no-claim", {"source": BLANK}, "exactly one of pvc and storage must be set"),
    ("two-claims", {"source": BLANK, "pvc": CLAIM, "storage": CLAIM},
     "exactly one of pvc and storage must be set"),
    ("empty-source", {"source": {}, "pvc": CLAIM}, DATA_SOURCES),
    ("two-sources", {"source": {"blank": {}, "upload": {}}, "pvc": CLAIM}, DATA_SOURCES),
    ("vddk", {"source": {"vddk": {"url": "https://esx"}}, "pvc": CLAIM}, NOT_SERVED),
    ("imageio", {"source": {"imageio": {"url": "https://ovirt"}}, "pvc": CLAIM}, NOT_SERVED),
    ("gcs", {"source": {"gcs": {"url": "gs://b/o"}}, "pvc": CLAIM}, NOT_SERVED),
    ("archive", {"source": {"http": {"url": URL}}, "contentType": "archive", "pvc": CLAIM},
     "contentType archive is not served; volumes hold disk images"),
    ("image-stream", {"source": {"registry": {"imageStream": "a"}}, "pvc": CLAIM},
     "imageStream is not served; set url"),
    ("unverified", {"source": {"http": {"url": URL, "insecureSkipVerify": True}}, "pvc": CLAIM},
     "insecureSkipVerify is not served, certificates are verified; set certConfigMap"),
    ("registry-without-url", {"source": {"registry": {}}, "pvc": CLAIM}, "url is needed"),
    ("wrong-kind", {"sourceRef": {"kind": "Secret", "name": "a"}, "pvc": CLAIM},
     "spec.sourceRef.kind"),
]

DATA_SOURCE_OBJECTS = [
    ("two", {"source": {"pvc": {"name": "a"}, "snapshot": {"name": "a"}}},
     "only one of pvc, snapshot and dataSource may be set"),
    ("no-source", {}, "spec.source: Required value"),
]

CRONS = [
    ("nothing", {"managedDataSource": "a"}, "exactly one of template and source must be set"),
    ("both", {"managedDataSource": "a", "source": {"registry": {"url": "docker://a/b"}},
              "template": {"spec": {"source": {"registry": {"url": "docker://a/b"}},
                                    "pvc": CLAIM}}},
     "exactly one of template and source must be set"),
    ("two-sources", {"managedDataSource": "a", "source": {"registry": {"url": "docker://a/b"},
                                                          "http": {"url": URL}}},
     "exactly one of registry, http and s3 must be set"),
    ("template-of-a-snapshot", {"managedDataSource": "a",
                                "template": {"spec": {"source": {"snapshot": {"name": "a"}},
                                                      "pvc": CLAIM}}},
     "template.spec.source must be registry, http, s3 or pvc"),
    ("template-of-a-reference",
     {"managedDataSource": "a",
      "template": {"spec": {"sourceRef": {"kind": "DataSource", "name": "a"}, "pvc": CLAIM}}},
     "template.spec.source must be registry, http, s3 or pvc"),
    ("two-policies", {"managedDataSource": "a", "source": {"registry": {"url": "docker://a/b"}},
                      "garbageCollect": "Never", "garbageCollectOutdated": True},
     "only one of garbageCollect and garbageCollectOutdated may be set"),
    ("no-data-source", {"source": {"registry": {"url": "docker://a/b"}}},
     "spec.managedDataSource: Required value"),
]

CASES = [
    (kind, *case)
    for kind, cases in (
        ("VirtualMachineImage", IMAGES),
        ("VirtualMachineVolume", [*VOLUMES, ("n" * 246, {"virtualMachineImageName": "a"},
                                             "metadata.name may have 245 characters")]),
        ("VirtualMachinePvc", VOLUMES),
        ("VirtualMachineVolumeExport", EXPORTS),
        ("VirtualMachineVolumeRollback", ROLLBACKS),
        ("HyperCloudStorage", STORAGES),
        ("DataVolume", DATA_VOLUMES),
        ("DataSource", DATA_SOURCE_OBJECTS),
        ("DataImportCron", CRONS),
    )
    for case in cases
]


def document(kind, name, spec):
    made = {"apiVersion": GROUPS.get(kind, "hypercloud.tmaxanc.com/v1alpha1"), "kind": kind,
            "metadata": {"name": name}}
    if spec is not None:
        made["spec"] = spec
    return made
