/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/lost_parent.h"

#include <errno.h>

#include "lib/base/memory.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/header.h"

static int
is_lost(struct location *location, const struct image_parent *parent, bool *ret_is,
        struct error **err)
{
  CLEANUP(location_closep) struct location *there = NULL;
  struct snaps snaps;
  *ret_is = false;
  if (parent->pool_id < 0)
    return 0;
  if (location_open_by_id(location->cluster, parent->pool_id, parent->name_space, &there, err) <
          0 ||
      header_read_snaps(there, parent->image_id, &parent->snap_id, 1, &snaps, err) < 0)
    return -1;
  *ret_is = snaps.count == 0;
  snaps_clear(&snaps);
  return 0;
}

static int
cut(struct location *location, const char *image_id, struct error **err)
{
  CLEANUP(freep) char *object = xasprintf("rbd_header.%s", image_id);
  char answer[1];
  int r = CEPH_CALL(
      rados_exec(location->ioctx, object, "rbd", "parent_detach", NULL, 0, answer, sizeof(answer)));
  if (r < 0 && r != -ENOENT) /* ENOENT: it has none any more */
    return location_error_set(location, err, r, "cut image id '%s' in '%s' off its lost parent",
                              image_id, location->label);
  return 0;
}

int
lost_parent_cut(struct location *location, const char *image_id, struct error **err)
{
  struct header header;
  bool is = false;
  if (header_read(location, image_id, &header, err) < 0)
    return -1;
  int r = is_lost(location, &header.parent, &is, err);
  header_clear(&header);
  return r == 0 && is ? cut(location, image_id, err) : r;
}
