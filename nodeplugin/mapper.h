/* SPDX-License-Identifier: Apache-2.0 */
/* A way to turn an RBD image into a block device of this node. One file each: krbd.c, nbd.c,
 * fuse.c; mapper_table.c lists them and chooses.
 *
 * No mapper keeps a record: what is mapped is told by sysfs (and by locks of files, for helpers),
 * so it can be found, and taken away, by a process that knows nothing but the volume's id. */
#ifndef NODEPLUGIN_MAPPER_H
#define NODEPLUGIN_MAPPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "csi/volume/volume_id.h"
#include "lib/ceph/location.h"
#include "nodeplugin/option_list.h"

struct helper_cgroup;
struct mapper;

/* What mappers need to know of this program. */
struct mapper_env {
  const char *run_dir; /* a folder in memory, of root's alone, that outlives the process */
  struct helper_cgroup *helpers; /* where processes that serve volumes go; NULL: nowhere else */
};

/* A volume as a mapper sees it. */
struct map_request {
  const struct volume_id *id;
  struct location *location;
  const char *image_name;
  uint64_t size_bytes;
  bool is_read_only;
  const struct option_list *options; /* of this mapper's map_rules */
};

struct mapping {
  const struct mapper *mapper;
  char *device; /* "/dev/rbd0" */
  dev_t number; /* of it */
  bool is_read_only;
  bool is_alive; /* false: what serves it is gone, and whoever uses the device gets errors */
};

void mapping_clear(struct mapping *mapping);

struct mapper {
  const char *name;
  const struct option_rule *map_rules;   /* what a StorageClass may ask for */
  const struct option_rule *unmap_rules; /* … */

  /* Whether this node can do it at all; if not, `reason` says what is missing. */
  bool (*probe)(const struct mapper_env *env, char *reason, size_t room);
  /* The RBD features that it can serve. */
  uint64_t (*features)(void);
  /* Makes the device, or goes on where an earlier call was cut off. On failure what is half made
   * may stay; unmap() takes it away. */
  int (*map)(const struct mapper_env *env, const struct map_request *request,
             struct mapping *ret_mapping, struct error **err);
  /* The device of a volume, from what this node itself knows; true and *ret_mapping when there is
   * one. */
  bool (*find)(const struct mapper_env *env, const struct volume_id *id,
               struct mapping *ret_mapping);
  /* The address of the Ceph client that serves a volume's device, to be freed; NULL when there is
   * none, or when nobody tells. The cluster may have thrown it out. May be NULL. */
  char *(*client)(const struct volume_id *id);
  /* Takes away the device and all that belongs to it, half made or whole; fine when there is
   * nothing. FAILED_PRECONDITION when it is in use. is_forced: without waiting for writes that do
   * not get through. */
  int (*unmap)(const struct mapper_env *env, const struct volume_id *id, bool is_forced,
               struct error **err);
  /* Has the device look at the image's size anew; the caller waits for it to show. */
  int (*resize)(const struct mapper_env *env, const struct volume_id *id,
                const struct mapping *mapping, uint64_t size_bytes, struct error **err);
};

extern const struct mapper krbd_mapper;
extern const struct mapper nbd_mapper;
extern const struct mapper fuse_mapper;

#endif
