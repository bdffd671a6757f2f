/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/object_map.h"

#include <errno.h>
#include <rbd/librbd.h>

#include "lib/base/memory.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/wire.h"

#define FLAG_MAP_INVALID ((uint64_t)1 << 0)
#define FLAG_DIFF_INVALID ((uint64_t)1 << 1)
#define FLAGS (FLAG_MAP_INVALID | FLAG_DIFF_INVALID)
/* What librbd says to itself and others when a header has changed: to be read again. */
#define MESSAGE_HEADER_UPDATE 3
#define NOTIFY_MS 5000

static int
has_map(struct image *image, bool *ret_has)
{
  uint64_t features = 0;
  int r = CEPH_CALL(rbd_get_features(image_rbd(image), &features));
  *ret_has = features & RBD_FEATURE_OBJECT_MAP;
  return r;
}

static int
write_flags(struct image *image, uint64_t flags)
{
  struct wire_writer in = {0};
  CLEANUP(freep) char *header = xasprintf("rbd_header.%s", image_id(image));
  char answer[1];
  wire_put_u64(&in, flags);
  wire_put_u64(&in, FLAGS); /* those to change */
  int r = CEPH_CALL(rados_exec(image_location(image)->ioctx, header, "rbd", "set_flags", in.data,
                               in.len, answer, sizeof(answer)));
  wire_writer_clear(&in);
  return r < 0 ? r : 0;
}

static int
tell_of_change(struct image *image)
{
  struct wire_writer body = {0}, message = {0};
  CLEANUP(freep) char *header = xasprintf("rbd_header.%s", image_id(image));
  wire_put_u32(&body, MESSAGE_HEADER_UPDATE);
  wire_put_struct(&message, 1, 1, &body);
  char *reply = NULL;
  size_t reply_len = 0;
  int r = CEPH_CALL(rados_notify2(image_location(image)->ioctx, header, message.data,
                                  (int)message.len, NOTIFY_MS, &reply, &reply_len));
  if (reply)
    rados_buffer_free(reply);
  wire_writer_clear(&body);
  wire_writer_clear(&message);
  return r == -ETIMEDOUT ? 0 : r; /* somebody is hung; it is seen below whether we have heard it */
}

/* So that this handle goes by it. */
static int
change_flags(struct image *image, uint64_t flags)
{
  uint64_t now = 0;
  int r = write_flags(image, flags);
  if (r == 0)
    r = tell_of_change(image);
  if (r == 0)
    r = CEPH_CALL(rbd_get_flags(image_rbd(image), &now));
  if (r == 0 && (now & FLAG_MAP_INVALID) != (flags & FLAG_MAP_INVALID))
    r = -EAGAIN;
  return r;
}

int
object_map_distrust(struct image *image, bool *ret_was_trusted)
{
  bool has = false;
  uint64_t flags = 0;
  *ret_was_trusted = false;
  int r = has_map(image, &has);
  if (r < 0 || !has)
    return r;
  r = CEPH_CALL(rbd_get_flags(image_rbd(image), &flags));
  if (r < 0 || flags & FLAG_MAP_INVALID)
    return r;
  r = change_flags(image, FLAGS);
  *ret_was_trusted = r == 0;
  return r;
}

int
object_map_trust(struct image *image)
{
  return change_flags(image, 0);
}

static int
ignore_progress(uint64_t offset, uint64_t total, void *arg)
{
  (void)offset, (void)total, (void)arg;
  return 0;
}

int
object_map_rebuild(struct image *image)
{
  bool has = false;
  uint64_t flags = 0;
  int r = has_map(image, &has);
  if (r == 0 && has)
    r = CEPH_CALL(rbd_get_flags(image_rbd(image), &flags));
  if (r < 0 || !(flags & FLAG_MAP_INVALID))
    return r;
  return CEPH_CALL(rbd_rebuild_object_map(image_rbd(image), ignore_progress, NULL));
}
