/* SPDX-License-Identifier: Apache-2.0 */
/* What a DataVolume asks for. */
#ifndef POPULATOR_OBJECTS_DATA_VOLUME_SPEC_H
#define POPULATOR_OBJECTS_DATA_VOLUME_SPEC_H

#include "lib/kube/kube_object.h"

enum data_volume_kind {
  DATA_VOLUME_IMPORT, /* http, s3, registry */
  DATA_VOLUME_CLONE,  /* pvc, snapshot, sourceRef */
  DATA_VOLUME_UPLOAD,
  DATA_VOLUME_BLANK,
  DATA_VOLUME_CLAIM, /* the claim itself says what it is filled from */
};

enum data_volume_kind data_volume_spec_kind(const struct kube_object *volume);
/* spec.storage, where what is missing is chosen, or spec.pvc. */
struct json_object *data_volume_spec_claim(const struct kube_object *volume, bool *ret_is_storage);

#endif
