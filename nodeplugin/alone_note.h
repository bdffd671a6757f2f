/* SPDX-License-Identifier: Apache-2.0 */
/* That a volume is this node's alone, and by which Ceph clients: the file RUN_DIR/alone.<image id>.
 *
 * The kernel knows the device and not who serves it, and the cluster knows clients and not their
 * nodes. When a helper has died, this is what tells its watch and its lock from those of another
 * node that has taken the volume over meanwhile. Without the file nothing is known, as for volumes
 * that others may have too. */
#ifndef NODEPLUGIN_ALONE_NOTE_H
#define NODEPLUGIN_ALONE_NOTE_H

#include "nodeplugin/mapper.h"

/* A helper that is replaced without having written leaves the lock to the one before it; of longer
 * rows the newest count. */
#define ALONE_NOTE_CLIENTS_MAX 8

struct alone_note {
  uint64_t written; /* what the device had counted before anybody wrote: io_watch_written() */
  uint64_t clients[ALONE_NOTE_CLIENTS_MAX]; /* that served it, one behind the other */
  size_t client_count;
  bool is_taken; /* another node has had it: what this one holds back must not be written */
};

/* False when there is none. */
bool alone_note_read(const struct mapper_env *env, const struct volume_id *id,
                     struct alone_note *ret_note);
int alone_note_write(const struct mapper_env *env, const struct volume_id *id,
                     const struct alone_note *note, struct error **err);
/* Fine when there is none. */
void alone_note_remove(const struct mapper_env *env, const struct volume_id *id);

bool alone_note_has(const struct alone_note *note, uint64_t client);
void alone_note_add(struct alone_note *note, uint64_t client);

#endif
