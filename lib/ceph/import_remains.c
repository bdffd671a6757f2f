/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/import_remains.h"

#include "lib/base/memory.h"
#include "lib/ceph/blob.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/trash.h"

char *
import_remains_checkpoint(const char *image_id)
{
  return xasprintf("imprint.checkpoint.%s", image_id);
}

char *
import_remains_spool(const char *image_id)
{
  return xasprintf("imprint.spool.%s", image_id);
}

int
import_remains_remove(struct location *location, const char *image_id, struct error **err)
{
  CLEANUP(freep) char *checkpoint = import_remains_checkpoint(image_id);
  CLEANUP(freep) char *spool = import_remains_spool(image_id);
  CLEANUP(freep) char *spool_id = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (blob_remove(location, checkpoint, err) < 0)
    return -1;
  if (directory_id_of(location, spool, &spool_id, &failure) == 0)
    return trash_move(location, spool, spool_id, err);
  return failure->code == ERROR_NOT_FOUND ? 0
                                          : error_set(err, failure->code, "%s", failure->message);
}
