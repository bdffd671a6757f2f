/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/flattener_mark.h"

#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/ceph/header.h"
#include "lib/ceph/image_clients.h"

#define KEY "imprint.flattener"
/* Who copies ends with the objects that he is at. */
#define LEAVE_MS 10000
#define LEAVE_PAUSE_MS 50

void
flattener_mark_write(uint64_t client_id, struct string_map *metadata)
{
  CLEANUP(freep) char *text = xasprintf("%llu", (unsigned long long)client_id);
  string_map_set(metadata, KEY, text);
}

uint64_t
flattener_mark_read(const struct string_map *metadata)
{
  const char *text = string_map_get(metadata, KEY);
  uint64_t client_id = 0;
  if (text)
    (void)text_to_u64(text, 10, &client_id);
  return client_id;
}

/* Whether the client of the mark is another one, and is there: then it is knocked at. */
static int
look_whether_copied(struct location *location, const char *image_id, bool *ret_is,
                    struct error **err)
{
  struct image_client_ids ids;
  struct header header;
  *ret_is = false;
  if (header_read(location, image_id, &header, err) < 0)
    return -1;
  uint64_t flattener = flattener_mark_read(&header.metadata);
  header_clear(&header);
  if (flattener == 0 || flattener == cluster_client_id(location->cluster))
    return 0;
  if (image_clients_ids(location, image_id, &ids, err) < 0)
    return -1;
  for (size_t i = 0; i < ids.count; i++)
    *ret_is = *ret_is || ids.items[i] == flattener;
  image_client_ids_clear(&ids);
  return 0;
}

int
flattener_mark_wait_gone(struct location *location, const char *image_id, struct error **err)
{
  int64_t deadline_ms = clock_now_ms() + LEAVE_MS;
  for (;;) {
    bool is_copied;
    if (look_whether_copied(location, image_id, &is_copied, err) < 0)
      return -1;
    if (!is_copied)
      return 0;
    if (clock_now_ms() > deadline_ms)
      return error_set(err, ERROR_ABORTED,
                       "image id '%s' in '%s' is being copied free of its parents, by a Ceph "
                       "client that does not make room: call again",
                       image_id, location->label);
    (void)nanosleep(&(struct timespec){.tv_nsec = LEAVE_PAUSE_MS * 1000000L}, NULL);
  }
}
