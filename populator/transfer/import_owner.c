/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/import_owner.h"

#include <string.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/process_id.h"
#include "lib/ceph/image_clients.h"

/* Ceph lets a silent client's watch live for 30 seconds. */
#define OWNER_WAIT_MS 45000

/* "<process> <Ceph address>" */
char *
import_owner_text(struct cluster *cluster)
{
  CLEANUP(freep) char *process = process_id_self();
  return xasprintf("%s %s", process ? process : "?", cluster->address);
}

/* A predecessor on this machine that is certainly dead is thrown out of the cluster at once. */
static void
fence_dead_owner(struct cluster *cluster, const struct string_map *metadata)
{
  const char *owner = string_map_get(metadata, IMPORT_OWNER_KEY);
  const char *space = owner ? strchr(owner, ' ') : NULL;
  if (!space)
    return;
  CLEANUP(freep) char *process = xstrndup(owner, (size_t)(space - owner));
  if (process_id_is_dead(process))
    (void)cluster_fence_client(cluster, space + 1, NULL);
}

/* The address of another client that has the image open, to be freed; NULL when there is none. */
static int
other_client(struct location *location, const char *id, char **ret_address, struct error **err)
{
  struct image_clients clients;
  if (image_clients_list(location, id, &clients, err) < 0)
    return -1;
  uint64_t own = cluster_client_id(location->cluster);
  *ret_address = NULL;
  for (size_t i = 0; i < clients.count && !*ret_address; i++) {
    if (clients.items[i].id != own)
      *ret_address = xstrdup(clients.items[i].address);
  }
  image_clients_clear(&clients);
  return 0;
}

int
import_owner_check(struct location *location, const char *name, const char *id,
                   const struct string_map *metadata, struct error **err)
{
  CLEANUP(freep) char *address = NULL;
  CLEANUP(freep) char *still = NULL;
  if (other_client(location, id, &address, err) < 0)
    return -1;
  if (!address)
    return 0;
  fence_dead_owner(location->cluster, metadata);
  if (other_client(location, id, &still, err) < 0)
    return -1;
  if (!still)
    return 0;
  return error_set(err, ERROR_UNAVAILABLE,
                   "image '%s/%s' is open for the Ceph client at %s; one that died has it for half "
                   "a minute: try again",
                   location->label, name, still);
}

int
import_owner_wait(struct location *location, const char *name, const char *id,
                  const struct string_map *metadata, struct error **err)
{
  const struct timespec pause = {.tv_nsec = 500L * 1000000};
  int64_t deadline_ms = clock_now_ms() + OWNER_WAIT_MS;
  fence_dead_owner(location->cluster, metadata);
  for (bool is_first = true;; is_first = false) {
    CLEANUP(freep) char *address = NULL;
    if (other_client(location, id, &address, err) < 0)
      return -1;
    if (!address)
      return 0;
    if (clock_now_ms() > deadline_ms)
      return error_set(err, ERROR_FAILED_PRECONDITION,
                       "image '%s/%s' is in use by the Ceph client at %s: another import?",
                       location->label, name, address);
    if (is_first)
      log_info("image '%s/%s' is still held by the Ceph client at %s: waiting", location->label,
               name, address);
    (void)nanosleep(&pause, NULL);
  }
}
