/* SPDX-License-Identifier: Apache-2.0 */
/* A path at which a volume is said to be, staged or published: looked at without following a link,
 * and held to be that volume's. */
#ifndef NODEPLUGIN_PUBLISHED_PATH_H
#define NODEPLUGIN_PUBLISHED_PATH_H

#include "nodeplugin/node.h"
#include "nodeplugin/target_path.h"

struct published_path {
  struct volume_id id;
  struct mapping mapping;
  struct target_path target;
  bool is_block;
  bool is_super_read_only; /* the filesystem is, while the device is not: it has found an error */
  char fs_type[16];        /* "" for a block volume */
  char *writable_at; /* another path, where the path itself is read-only; NULL when there is none */
};

/* NOT_FOUND when the volume has no device here, or is not at this path. staging_path, "" when it is
 * not known, is where a block volume has a folder and nothing in it. */
int published_path_open(struct node *node, const char *volume_id, const char *path,
                        const char *staging_path, struct published_path *ret_path,
                        struct error **err);
void published_path_clear(struct published_path *path);

#endif
