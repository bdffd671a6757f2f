/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/blob.h"

#include <errno.h>

#include "lib/base/memory.h"
#include "lib/ceph/ceph_call.h"

int
blob_write(struct location *location, const char *name, const void *data, size_t len,
           struct error **err)
{
  int r =
      len > BLOB_MAX_BYTES ? -EFBIG : CEPH_CALL(rados_write_full(location->ioctx, name, data, len));
  if (r < 0)
    return location_error_set(location, err, r, "write object '%s' in '%s'", name, location->label);
  return 0;
}

int
blob_read(struct location *location, const char *name, struct buffer *ret_data, struct error **err)
{
  uint64_t size = 0;
  time_t modified;
  int r = CEPH_CALL(rados_stat(location->ioctx, name, &size, &modified));
  if (r == 0 && size > BLOB_MAX_BYTES)
    r = -EFBIG;
  CLEANUP(freep) char *data = r == 0 ? xcalloc(size + 1, 1) : NULL;
  if (r == 0)
    r = CEPH_CALL(rados_read(location->ioctx, name, data, size, 0));
  if (r < 0)
    return location_error_set(location, err, r, "read object '%s' in '%s'", name, location->label);
  (void)buffer_append(ret_data, data, (size_t)r);
  return 0;
}

int
blob_remove(struct location *location, const char *name, struct error **err)
{
  int r = CEPH_CALL(rados_remove(location->ioctx, name));
  if (r < 0 && r != -ENOENT)
    return location_error_set(location, err, r, "remove object '%s' in '%s'", name,
                              location->label);
  return 0;
}
