/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/image_clients.h"

#include <errno.h>
#include <rbd/librbd.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/knock.h"
#include "lib/ceph/wire.h"

/* Clients answer within milliseconds; one that is hung counts as there. */
#define KNOCK_MS 2000

static int
list_watchers(rbd_image_t rbd, struct image_clients *clients)
{
  size_t room = 16;
  rbd_image_watcher_t *watchers = NULL;
  int r;
  do {
    watchers = xrealloc(watchers, room, sizeof(*watchers));
    r = CEPH_CALL(rbd_watchers_list(rbd, watchers, &room));
  } while (r == -ERANGE);
  if (r == 0) {
    clients->items = xcalloc(room ? room : 1, sizeof(clients->items[0]));
    clients->count = room;
    for (size_t i = 0; i < room; i++)
      clients->items[i] = (struct image_client){.id = (uint64_t)watchers[i].id,
                                                .address = xstrdup(watchers[i].addr)};
    rbd_watchers_list_cleanup(watchers, room);
  }
  free(watchers);
  return r;
}

/* A watch may outlive its client (see ghost_watch.h), but one that is blocklisted uses nothing. */
static void
leave_out_blocklisted(struct location *location, struct image_clients *clients)
{
  struct string_map blocklist;
  if (cluster_read_blocklist(location->cluster, &blocklist, NULL) < 0)
    return;
  size_t left = 0;
  for (size_t i = 0; i < clients->count; i++) {
    if (string_map_get(&blocklist, clients->items[i].address))
      free(clients->items[i].address);
    else
      clients->items[left++] = clients->items[i];
  }
  clients->count = left;
  string_map_clear(&blocklist);
}

int
image_clients_list(struct location *location, const char *image_id,
                   struct image_clients *ret_clients, struct error **err)
{
  struct image_clients clients = {0};
  rbd_image_t rbd;
  /* Read-only: such a handle does not watch, so it does not show up in its own answer. */
  int r = CALL_THAT_OPENS(rbd_open_by_id_read_only(location->ioctx, image_id, &rbd, NULL));
  if (r == 0) {
    r = list_watchers(rbd, &clients);
    (void)CEPH_CALL(rbd_close(rbd));
  }
  if (r < 0)
    return location_error_set(location, err, r, "see who uses image id '%s' in '%s'", image_id,
                              location->label);
  if (clients.count > 0)
    leave_out_blocklisted(location, &clients);
  *ret_clients = clients;
  return 0;
}

/* The lock that librbd and the kernel take on the header while they write. */
#define LOCK_NAME "rbd_lock"
/* Room for what is said of one owner. */
#define LOCKER_MAX 256

static int
read_lock_owner(struct location *location, const char *image_id, uint64_t *ret_owner)
{
  CLEANUP(freep) char *header = xasprintf("rbd_header.%s", image_id);
  char tag[LOCKER_MAX], clients[LOCKER_MAX], cookies[LOCKER_MAX], addresses[LOCKER_MAX];
  size_t tag_len = sizeof(tag), clients_len = sizeof(clients), cookies_len = sizeof(cookies),
         addresses_len = sizeof(addresses);
  int is_exclusive;
  *ret_owner = 0;
  ssize_t r = CEPH_CALL(rados_list_lockers(location->ioctx, header, LOCK_NAME, &is_exclusive, tag,
                                           &tag_len, clients, &clients_len, cookies, &cookies_len,
                                           addresses, &addresses_len));
  if (r == -ENOENT) /* nobody ever had it */
    return 0;
  static const char prefix[] = "client.";
  if (r > 0 && strnlen(clients, clients_len) < clients_len &&
      strncmp(clients, prefix, strlen(prefix)) == 0)
    (void)text_to_u64(clients + strlen(prefix), 10, ret_owner);
  return r < 0 ? (int)r : 0;
}

int
image_clients_lock_owner(struct location *location, const char *image_id, uint64_t *ret_owner,
                         struct error **err)
{
  int r = read_lock_owner(location, image_id, ret_owner);
  return r < 0 ? location_error_set(location, err, r, "see who writes to image id '%s' in '%s'",
                                    image_id, location->label)
               : 0;
}

int
image_clients_writer(struct location *location, const char *image_id, char **ret_address,
                     struct error **err)
{
  uint64_t owner;
  if (image_clients_lock_owner(location, image_id, &owner, err) < 0)
    return -1;
  *ret_address = NULL;
  if (!owner)
    return 0;
  /* One that died leaves its lock; its watch goes after a while. */
  struct image_clients clients;
  if (image_clients_list(location, image_id, &clients, err) < 0)
    return -1;
  for (size_t i = 0; i < clients.count && !*ret_address; i++) {
    if (clients.items[i].id == owner)
      *ret_address = xstrdup(clients.items[i].address);
  }
  image_clients_clear(&clients);
  return 0;
}

void
image_clients_clear(struct image_clients *clients)
{
  for (size_t i = 0; i < clients->count; i++)
    free(clients->items[i].address);
  free(clients->items);
  *clients = (struct image_clients){0};
}

/* Adds an id to those that are known, unless it is there. */
static void
add_id(struct image_client_ids *ids, uint64_t id)
{
  size_t i = 0;
  while (i < ids->count && ids->items[i] != id)
    i++;
  if (i == ids->count)
    ids->items[ids->count++] = id;
}

/* Those who answered, and those who did not in time. */
static int
decode_ids(const char *reply, size_t reply_len, struct image_client_ids *ret_ids)
{
  struct notify_ack_t *acks = NULL;
  struct notify_timeout_t *timeouts = NULL;
  size_t ack_count = 0, timeout_count = 0;
  if (rados_decode_notify_response((char *)reply, reply_len, &acks, &ack_count, &timeouts,
                                   &timeout_count) < 0)
    return -EBADMSG; /* somebody has said something */
  ret_ids->items = xcalloc(ack_count + timeout_count + 1, sizeof(ret_ids->items[0]));
  for (size_t i = 0; i < ack_count; i++)
    add_id(ret_ids, acks[i].notifier_id);
  for (size_t i = 0; i < timeout_count; i++)
    add_id(ret_ids, timeouts[i].notifier_id);
  rados_free_notify_response(acks, ack_count, timeouts);
  return 0;
}

int
image_clients_ids(struct location *location, const char *image_id, struct image_client_ids *ret_ids,
                  struct error **err)
{
  struct wire_writer body = {0}, message = {0};
  wire_put_u32(&body, KNOCK_MESSAGE);
  wire_put_struct(&message, 1, 1, &body);
  CLEANUP(freep) char *header = xasprintf("rbd_header.%s", image_id);
  char *reply = NULL;
  size_t reply_len = 0;
  int r = CEPH_CALL(rados_notify2(location->ioctx, header, message.data, (int)message.len, KNOCK_MS,
                                  &reply, &reply_len));
  wire_writer_clear(&body);
  wire_writer_clear(&message);
  struct image_client_ids ids = {0};
  bool was_silent = r == -ETIMEDOUT;
  if (was_silent)
    r = 0;
  if (r == 0 && reply)
    r = decode_ids(reply, reply_len, &ids);
  if (reply)
    rados_buffer_free(reply);
  if (r < 0)
    return location_error_set(location, err, r, "see who uses image id '%s' in '%s'", image_id,
                              location->label);
  if (was_silent && ids.count == 0) { /* who was silent is there, whoever it is */
    ids.items = xrealloc(ids.items, 1, sizeof(ids.items[0]));
    ids.items[ids.count++] = 0;
  }
  *ret_ids = ids;
  return 0;
}

void
image_client_ids_clear(struct image_client_ids *ids)
{
  free(ids->items);
  *ids = (struct image_client_ids){0};
}

/* Whether there is one beside `except`. */
static int
is_any_but(struct location *location, const char *image_id, uint64_t except, bool *ret_any,
           struct error **err)
{
  struct image_client_ids ids;
  if (image_clients_ids(location, image_id, &ids, err) < 0)
    return -1;
  *ret_any = ids.count > 1 || (ids.count == 1 && ids.items[0] != except);
  image_client_ids_clear(&ids);
  return 0;
}

int
image_clients_any(struct location *location, const char *image_id, bool *ret_any,
                  struct error **err)
{
  return is_any_but(location, image_id, UINT64_MAX, ret_any, err);
}

int
image_clients_any_other(struct location *location, const char *image_id, bool *ret_any,
                        struct error **err)
{
  return is_any_but(location, image_id, cluster_client_id(location->cluster), ret_any, err);
}
