/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/objects/kinds.h"

#define VERSION "v1alpha1"

const struct kube_kind virtual_machine_images = {KINDS_GROUP, VERSION, "virtualmachineimages",
                                                 "VirtualMachineImage", false};
const struct kube_kind virtual_machine_volumes = {KINDS_GROUP, VERSION, "virtualmachinevolumes",
                                                  "VirtualMachineVolume", false};
const struct kube_kind virtual_machine_pvcs = {KINDS_GROUP, VERSION, "virtualmachinepvcs",
                                               "VirtualMachinePvc", false};
const struct kube_kind virtual_machine_volume_exports = {
    KINDS_GROUP, VERSION, "virtualmachinevolumeexports", "VirtualMachineVolumeExport", false};
const struct kube_kind virtual_machine_volume_rollbacks = {
    KINDS_GROUP, VERSION, "virtualmachinevolumerollbacks", "VirtualMachineVolumeRollback", false};

const struct kube_kind hypercloud_storages = {KINDS_GROUP, VERSION, "hypercloudstorages",
                                              "HyperCloudStorage", false};

#define CDI_VERSION "v1beta1"

const struct kube_kind data_volumes = {KINDS_CDI_GROUP, CDI_VERSION, "datavolumes", "DataVolume",
                                       false};
const struct kube_kind data_sources = {KINDS_CDI_GROUP, CDI_VERSION, "datasources", "DataSource",
                                       false};
const struct kube_kind data_import_crons = {KINDS_CDI_GROUP, CDI_VERSION, "dataimportcrons",
                                            "DataImportCron", false};
