/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/knock.h"

#include <stdatomic.h>

#include "lib/base/memory.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/wire.h"

/* What a client says that wants the lock of who has it. */
#define MESSAGE_REQUEST_LOCK 2

struct knock_listener {
  struct location *location; /* its own: it ends behind the last call back */
  char *header;
  uint64_t own_id;
  uint64_t watch;
  _Atomic bool was_heard;
  _Atomic bool lock_was_wanted;
};

static uint32_t
decode_message(const char *data, size_t len)
{
  struct wire_reader message = {.at = data, .left = len}, body;
  wire_get_struct(&message, &body);
  return wire_get_u32(&body);
}

/* By a thread of librados. */
static void
on_message(void *arg, uint64_t notify_id, uint64_t watch, uint64_t from, void *data, size_t len)
{
  struct knock_listener *listener = arg;
  if (from != listener->own_id && len > 0) {
    uint32_t message = decode_message(data, len);
    if (message == KNOCK_MESSAGE)
      atomic_store(&listener->was_heard, true);
    else if (message == MESSAGE_REQUEST_LOCK)
      atomic_store(&listener->lock_was_wanted, true);
  }
  (void)CEPH_CALL(
      rados_notify_ack(listener->location->ioctx, listener->header, notify_id, watch, NULL, 0));
}

static void
on_loss(void *arg, uint64_t watch, int error)
{
  (void)watch, (void)error;
  struct knock_listener *listener = arg;
  atomic_store(&listener->was_heard, true);
}

int
knock_listen(struct location *location, const char *image_id, struct knock_listener **ret_listener,
             struct error **err)
{
  struct knock_listener *listener = xcalloc(1, sizeof(*listener));
  if (location_reopen(location, &listener->location, err) < 0) {
    free(listener);
    return -1;
  }
  listener->header = xasprintf("rbd_header.%s", image_id);
  listener->own_id = cluster_client_id(location->cluster);
  int r = CEPH_CALL(rados_watch2(listener->location->ioctx, listener->header, &listener->watch,
                                 on_message, on_loss, listener));
  if (r == 0) {
    *ret_listener = listener;
    return 0;
  }
  location_close(listener->location);
  free(listener->header);
  free(listener);
  return location_error_set(location, err, r, "listen at image id '%s' in '%s'", image_id,
                            location->label);
}

void
knock_listener_close(struct knock_listener *listener)
{
  if (!listener)
    return;
  (void)CEPH_CALL(rados_unwatch2(listener->location->ioctx, listener->watch));
  (void)CEPH_CALL(rados_watch_flush(listener->location->cluster->rados)); /* none is called now */
  location_close(listener->location);
  free(listener->header);
  free(listener);
}

bool
knock_was_heard(const struct knock_listener *listener)
{
  return atomic_load(&listener->was_heard);
}

bool
knock_lock_was_wanted(const struct knock_listener *listener)
{
  return atomic_load(&listener->lock_was_wanted);
}
