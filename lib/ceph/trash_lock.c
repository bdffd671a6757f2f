/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/trash_lock.h"

#include <errno.h>
#include <string.h>

#include "lib/base/string_map.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/cluster.h"

#define TRASH_OBJECT "rbd_trash"
#define LOCK_NAME "imprint.purge"
/* A client holds it once, so the cookie tells nothing. */
#define COOKIE "purger"
/* One locker's name, cookie or address; the lock is exclusive, so there are no more. */
#define TEXT_MAX 512

static int
take(struct location *location)
{
  struct timeval duration = {.tv_sec = TRASH_LOCK_SECONDS};
  return CEPH_CALL(rados_lock_exclusive(location->ioctx, TRASH_OBJECT, LOCK_NAME, COOKIE, "",
                                        &duration, LIBRADOS_LOCK_FLAG_MAY_RENEW));
}

/* Lockers are told with the protocol's name in front ("v1:127.0.0.1:0/123"), the blocklist without.
 */
static const char *
without_protocol(const char *address)
{
  return *address == 'v' && strchr(address, ':') ? strchr(address, ':') + 1 : address;
}

static bool
is_blocklisted(struct location *location, const char *address)
{
  struct string_map blocklist;
  if (cluster_read_blocklist(location->cluster, &blocklist, NULL) < 0)
    return false;
  bool is = string_map_get(&blocklist, address) != NULL;
  string_map_clear(&blocklist);
  return is;
}

/* Whether the one who has it can do nothing any more; then it was taken from him. */
static bool
break_if_dead(struct location *location)
{
  int is_exclusive = 0;
  char tag[TEXT_MAX] = "", client[TEXT_MAX] = "", cookie[TEXT_MAX] = "", address[TEXT_MAX] = "";
  size_t tag_len = TEXT_MAX, client_len = TEXT_MAX, cookie_len = TEXT_MAX, address_len = TEXT_MAX;
  ssize_t count = CEPH_CALL(rados_list_lockers(location->ioctx, TRASH_OBJECT, LOCK_NAME,
                                               &is_exclusive, tag, &tag_len, client, &client_len,
                                               cookie, &cookie_len, address, &address_len));
  return count == 1 && is_blocklisted(location, without_protocol(address)) &&
         CEPH_CALL(rados_break_lock(location->ioctx, TRASH_OBJECT, LOCK_NAME, client, cookie)) == 0;
}

int
trash_lock_take(struct location *location, bool *ret_is_ours, struct error **err)
{
  int r = take(location);
  if (r == -EBUSY && break_if_dead(location))
    r = take(location);
  if (r < 0 && r != -EBUSY)
    return location_error_set(location, err, r, "lock the trash of '%s'", location->label);
  *ret_is_ours = r == 0;
  return 0;
}

void
trash_lock_release(struct location *location)
{
  (void)CEPH_CALL(rados_unlock(location->ioctx, TRASH_OBJECT, LOCK_NAME, COOKIE));
}
