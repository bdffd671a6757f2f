# SPDX-License-Identifier: Apache-2.0
"""The Helm chart, rendered by helm."""

import os
import subprocess

import yaml

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
CHART = os.path.join(ROOT, "charts", "imprint")
NAMESPACE = "imprint-system"

# Everything on.
FULL = {
    "clusters": [{"clusterID": "prod", "monitors": ["10.0.0.1:6789"], "user": "imprint", "key": "AQ=="}],
    "objectStore": {"endpoint": "https://s3.test", "region": "here", "secretName": "store"},
    "storageClasses": [
        {"name": "vms", "isDefault": True, "parameters": {"clusterID": "prod", "pool": "vms"}},
        {"name": "late", "parameters": {"pool": "vms"}, "volumeBindingMode": "WaitForFirstConsumer",
         "allowVolumeExpansion": False, "reclaimPolicy": "Retain"},
    ],
    "snapshotClasses": {"enabled": True},
    "csiDriver": {"attachRequired": True},
    "populator": {"allowLocalAddresses": True, "allowNetworks": ["192.0.2.0/24:9000", "fd00::7"],
                  "secretNamespaces": ["default"]},
    "sidecars": {"resizer": {"volumeAttributesClasses": True}},
    "node": {"topology": "node", "topologyLabels": ["example.com/rack"]},
    "hostPathImages": {"enabled": True},
    "goldenImages": {"enabled": True, "namespace": "golden-images"},
    "enableCommonBootImageImport": True,
    "dataImportCronTemplates": [{
        "metadata": {"name": "custom-image1"},
        "spec": {"schedule": "0 */12 * * *", "managedDataSource": "custom1",
                 "source": {"registry": {"url": "docker://myprivateregistry/custom1"}}},
    }],
    "monitoring": {"podMonitor": {"enabled": True}, "rules": {"enabled": True},
                   "dashboard": {"enabled": True}},
}


def template(*arguments, values=None, **more):
    """(exit status, rendered documents or the message)."""
    done = subprocess.run(
        ["helm", "template", "imprint", CHART, "-n", NAMESPACE, "-f", "-", *arguments],
        input=yaml.safe_dump(values or {}), capture_output=True, text=True, check=False, **more)
    if done.returncode:
        return done.returncode, done.stderr
    return 0, [document for document in yaml.safe_load_all(done.stdout) if document]
