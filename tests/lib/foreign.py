# SPDX-License-Identifier: Apache-2.0
"""Images in formats that qemu reads: which kinds there are, and hostile ones."""

# Every kind that qemu-img makes of one file.
KINDS = {
    "vmdk": ("vmdk", []),
    "vmdk-stream": ("vmdk", ["subformat=streamOptimized"]),
    "vmdk-version-6": ("vmdk", ["compat6=on"]),
    "vmdk-zeroed": ("vmdk", ["zeroed_grain=on"]),
    "vdi": ("vdi", []),
    "vdi-static": ("vdi", ["static=on"]),
    "vhd": ("vpc", []),
    "vhd-exact": ("vpc", ["force_size=on"]),
    "vhd-fixed": ("vpc", ["subformat=fixed", "force_size=on"]),
    "vhdx": ("vhdx", []),
    "vhdx-fixed": ("vhdx", ["subformat=fixed"]),
    "vhdx-small-blocks": ("vhdx", ["block_size=1M"]),
    "qed": ("qed", []),
    "qed-small-clusters": ("qed", ["cluster_size=4096", "table_size=2"]),
}

DESCRIPTOR = """# Disk DescriptorFile
version=1
CID=deadbeef
parentCID={parent}
createType="{kind}"
{more}
# Extent description
{extent}

ddb.virtualHWVersion = "4"
ddb.adapterType = "ide"
"""


def descriptor(extent, kind="monolithicFlat", parent="ffffffff", more=""):
    return DESCRIPTOR.format(extent=extent, kind=kind, parent=parent, more=more).encode()
