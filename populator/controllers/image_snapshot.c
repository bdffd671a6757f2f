/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/image_snapshot.h"

#include "lib/base/memory.h"
#include "populator/work/volumes.h"

int
image_snapshot_take(struct populator *populator, const struct kube_object *image,
                    const char *volume, char **ret_handle, struct error **err)
{
  CLEANUP(freep) char *name = xasprintf("image-%s", image->uid);
  return volumes_snapshot(populator->controller, name, volume, ret_handle, err);
}

int
image_snapshot_remove(struct populator *populator, const struct kube_object *image,
                      struct error **err)
{
  const char *handle = json_text(image->json, "status", "snapshotHandle");
  const char *volume = json_text(image->json, "status", "volumeHandle");
  CLEANUP(freep) char *found = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (!handle && volume) {
    if (image_snapshot_take(populator, image, volume, &found, &failure) < 0 &&
        failure->code != ERROR_NOT_FOUND)
      return error_set(err, failure->code, "%s", failure->message);
    handle = found;
  }
  return handle ? volumes_delete_snapshot(populator->controller, handle, err) : 0;
}
