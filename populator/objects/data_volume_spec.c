/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/objects/data_volume_spec.h"

enum data_volume_kind
data_volume_spec_kind(const struct kube_object *volume)
{
  struct json_object *spec = json_at(volume->json, "spec");
  struct json_object *source = json_at(spec, "source");
  if (json_at(spec, "sourceRef") || json_at(source, "pvc") || json_at(source, "snapshot"))
    return DATA_VOLUME_CLONE;
  if (json_at(source, "upload"))
    return DATA_VOLUME_UPLOAD;
  if (json_at(source, "blank"))
    return DATA_VOLUME_BLANK;
  return source ? DATA_VOLUME_IMPORT : DATA_VOLUME_CLAIM;
}

struct json_object *
data_volume_spec_claim(const struct kube_object *volume, bool *ret_is_storage)
{
  struct json_object *pvc = json_at(volume->json, "spec", "pvc");
  *ret_is_storage = !pvc; /* "storage:" with nothing behind it is null, and as good as {} */
  return pvc ? pvc : json_at(volume->json, "spec", "storage");
}
