/* SPDX-License-Identifier: Apache-2.0 */
/* Who has an image open for changes: every such client watches its header. */
#ifndef LIB_CEPH_IMAGE_CLIENTS_H
#define LIB_CEPH_IMAGE_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/ceph/location.h"

struct image_client {
  uint64_t id; /* cluster_client_id() of it */
  char *address;
};

struct image_clients {
  struct image_client *items;
  size_t count;
};

/* Without those that the cluster has blocklisted: they can do nothing any more. */
int image_clients_list(struct location *location, const char *image_id,
                       struct image_clients *ret_clients, struct error **err);
void image_clients_clear(struct image_clients *clients);

/* The id of the client that holds the image's exclusive lock, or held it when it died; 0 when there
 * is none. */
int image_clients_lock_owner(struct location *location, const char *image_id, uint64_t *ret_owner,
                             struct error **err);
/* The client that holds the image's exclusive lock, which who writes to it has: its address, to be
 * freed, or NULL when nobody does, or only one that the cluster has let go of. */
int image_clients_writer(struct location *location, const char *image_id, char **ret_address,
                         struct error **err);

/* Whether there is any client, or any but this one. Costs one operation where there is none, while
 * the list takes a dozen: the header is knocked at, with a message that nobody knows, and who
 * watches answers. One who does not answer is one too. NOT_FOUND when there is no header.
 */
int image_clients_any(struct location *location, const char *image_id, bool *ret_any,
                      struct error **err);
int image_clients_any_other(struct location *location, const char *image_id, bool *ret_any,
                            struct error **err);
/* … the ids of all of them. One whose id nobody knows is 0. */
struct image_client_ids {
  uint64_t *items;
  size_t count;
};
int image_clients_ids(struct location *location, const char *image_id,
                      struct image_client_ids *ret_ids, struct error **err);
void image_client_ids_clear(struct image_client_ids *ids);

#endif
