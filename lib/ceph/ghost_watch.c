/* SPDX-License-Identifier: Apache-2.0 */
/* Removing an object ends all watches on it. So the header is read, removed and written again as it
 * was: the last two in one operation, which fails when the header has changed since it was read. */
#include "lib/ceph/ghost_watch.h"

#include <errno.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/image_clients.h"

/* No header has more; one that has is left alone. */
#define KEYS_MAX 10000

static void
copy_attributes(rados_xattrs_iter_t attributes, rados_write_op_t write)
{
  const char *name = NULL;
  const char *value = NULL;
  size_t len = 0;
  while (rados_getxattrs_next(attributes, &name, &value, &len) == 0 && name)
    rados_write_op_setxattr(write, name, value, len);
  rados_getxattrs_end(attributes);
}

static void
copy_keys(rados_omap_iter_t keys, rados_write_op_t write)
{
  char *key = NULL;
  char *value = NULL;
  size_t key_len = 0;
  size_t value_len = 0;
  while (rados_omap_get_next2(keys, &key, &value, &key_len, &value_len) == 0 && key)
    rados_write_op_omap_set2(write, (const char *const *)&key, (const char *const *)&value,
                             &key_len, &value_len, 1);
  rados_omap_get_end(keys);
}

/* Adds to `write` all that the object holds: a header has attributes and keys, but no data. */
static int
copy_object(struct location *location, const char *object, rados_write_op_t write)
{
  rados_xattrs_iter_t attributes = NULL;
  rados_omap_iter_t keys = NULL;
  unsigned char has_more = 0;
  int ignored = 0;
  rados_read_op_t read = rados_create_read_op();
  rados_read_op_getxattrs(read, &attributes, &ignored);
  rados_read_op_omap_get_vals2(read, "", "", KEYS_MAX, &keys, &has_more, &ignored);
  int r = CEPH_CALL(rados_read_op_operate(read, location->ioctx, object, 0));
  if (r == 0) {
    rados_write_op_assert_version(write, rados_get_last_version(location->ioctx));
    rados_write_op_remove(write);
    rados_write_op_create(write, LIBRADOS_CREATE_IDEMPOTENT, NULL);
    copy_attributes(attributes, write);
    copy_keys(keys, write);
  }
  rados_release_read_op(read);
  return r == 0 && has_more ? -EFBIG : r;
}

static int
rewrite(struct location *location, const char *image_id)
{
  CLEANUP(freep) char *object = xasprintf("rbd_header.%s", image_id);
  rados_write_op_t write = rados_create_write_op();
  int r = copy_object(location, object, write);
  if (r == 0)
    r = CEPH_CALL(rados_write_op_operate(write, location->ioctx, object, NULL, 0));
  rados_release_write_op(write);
  return r;
}

bool
ghost_watch_remove(struct location *location, const char *image_id)
{
  struct image_clients clients;
  /* The list leaves out those who are blocklisted; the object class of the OSD does not. */
  if (image_clients_list(location, image_id, &clients, NULL) < 0)
    return false;
  bool is_used = clients.count > 0;
  image_clients_clear(&clients);
  return !is_used && rewrite(location, image_id) == 0;
}
