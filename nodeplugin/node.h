/* SPDX-License-Identifier: Apache-2.0 */
/* What all RPCs of the node plugin share. Set up once by main(), read-only after; each member does
 * its own locking. */
#ifndef NODEPLUGIN_NODE_H
#define NODEPLUGIN_NODE_H

#include <csi.pb-c.h>

#include "csi/rpc/method.h"
#include "lib/base/keyed_lock.h"
#include "lib/base/string_map.h"
#include "lib/ceph/clusters.h"
#include "nodeplugin/mapper.h"
#include "nodeplugin/target_path.h"

struct inline_collector;
struct io_watch;
struct node_labels;

struct node {
  const char *driver_name;
  const char *name;               /* of this node */
  struct target_base kubelet_dir; /* every target lies in there */
  const char *mapper;             /* where a volume does not say: a mapper's name, or "auto" */
  int64_t max_volumes;            /* 0: no limit */
  struct string_map topology;     /* as the command line has it */
  struct node_labels *labels;     /* what the API server has to add; NULL: it is not asked */
  struct mapper_env env;
  struct clusters *clusters;
  struct keyed_locks *locks;
  struct io_watch *io_watch;
  struct inline_collector *collector;
};

/* Without waiting: ABORTED when another call works on the volume. */
struct keyed_lock *node_lock(struct node *node, const char *volume_id, const char *purpose,
                             struct error **err);
/* The same for a path, which no volume's id looks like: two volumes that are mounted there at once
 * would lie on top of each other. */
struct keyed_lock *node_lock_path(struct node *node, const char *path, const char *purpose,
                                  struct error **err);

/* The service, for the RPC server. */
extern const struct rpc_method node_methods[];
extern const size_t node_method_count;

/* One handler an RPC, in the file of its name. */
rpc_handler node_get_capabilities;
rpc_handler node_get_info;
rpc_handler node_stage_volume;
rpc_handler node_unstage_volume;
rpc_handler node_publish_volume;
rpc_handler node_unpublish_volume;
rpc_handler node_get_volume_stats;
rpc_handler node_expand_volume;

#endif
