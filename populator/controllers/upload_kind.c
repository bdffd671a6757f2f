/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/upload_kind.h"

#include <string.h>

#include "populator/controllers/upload_record.h"

static const struct upload_kind *const kinds[] = {&image_upload, &data_volume_upload};

const struct upload_kind *
upload_kind_find(const char *collection)
{
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
    if (strcmp(kinds[i]->collection, collection) == 0)
      return kinds[i];
  }
  return NULL;
}

int
upload_kind_check(const struct upload_kind *kind, const struct kube_object *object,
                  const char *checksum, struct error **err)
{
  enum upload_outcome outcome;
  const char *state = kind->state(object, &outcome);
  const char *what = kind->kind->kind;
  if (!upload_record_is_source(object))
    return error_set(err, ERROR_FAILED_PRECONDITION, "spec.source of %s '%s/%s' is not upload{}",
                     what, object->ns, object->name);
  if (object->is_deleting)
    return error_set(err, ERROR_FAILED_PRECONDITION, "%s '%s/%s' is being deleted", what,
                     object->ns, object->name);
  if (outcome != UPLOAD_PENDING)
    return error_set(err, ERROR_FAILED_PRECONDITION, "%s '%s/%s' is %s: %s, make another", what,
                     object->ns, object->name, state, kind->once);
  return kind->check(object, checksum, err);
}
