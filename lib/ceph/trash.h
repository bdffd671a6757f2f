/* SPDX-License-Identifier: Apache-2.0 */
/* A location's trash: where deleted images wait until nothing depends on them any more.
 * It is the durable queue of what is left to delete. */
#ifndef LIB_CEPH_TRASH_H
#define LIB_CEPH_TRASH_H

#include <stdbool.h>

#include "lib/ceph/location.h"

/* Makes the object that the trash is kept in. It would be made with the first entry; but in a pool
 * that has become full meanwhile no object can be made, and nothing could be deleted. */
int trash_prepare(struct location *location, struct error **err);

/* Moves the image with this name and id; by the id, so that a younger image of the same name is
 * never hit. May be repeated, and done by two at once. Nobody else may have the image open
 * (image_clients_list): librbd's own move asks the image's lock from whoever has it, which costs
 * more than all the rest. */
int trash_move(struct location *location, const char *name, const char *id, struct error **err);

struct trash_entry {
  char *id;
  char *name; /* it had before it was deleted */
};

struct trash {
  struct trash_entry *entries;
  size_t count;
  bool is_being_removed; /* something else is, by librbd; if its process was killed, it will be
                            listed some seconds later */
};

/* The entries whose name begins with prefix and whose time has come. */
int trash_list(struct location *location, const char *prefix, struct trash *ret_trash,
               struct error **err);
void trash_clear(struct trash *trash);
/* A copy of the entry. */
void trash_append(struct trash *trash, const struct trash_entry *entry);

/* Removes the image for good and frees its space. FAILED_PRECONDITION while it has snapshots that
 * are still needed by clones, or while a client has it open. Fine when it is gone. */
int trash_remove(struct location *location, const struct trash_entry *entry, struct error **err);

#endif
