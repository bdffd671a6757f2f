/* SPDX-License-Identifier: Apache-2.0 */
/* What all RPCs of the controller share. Set up once by main(), read-only after; each member does
 * its own locking. */
#ifndef CONTROLLERPLUGIN_CONTROLLER_H
#define CONTROLLERPLUGIN_CONTROLLER_H

#include <csi.pb-c.h>
#include <stdatomic.h>

#include "csi/rpc/method.h"
#include "lib/base/keyed_lock.h"
#include "lib/ceph/clusters.h"

struct places;
struct purger;
struct flattener;
struct passing_snapshots;
struct base_images;

struct controller {
  const char *driver_name;
  struct clusters *clusters;
  struct places *places;
  struct purger *purger;
  struct flattener *flattener;
  struct passing_snapshots *passing_snapshots;
  struct base_images *base_images;
  struct keyed_locks *locks;
  atomic_bool is_stopping; /* long work ends early */
};

/* What can be locked; see controller_lock(). */
enum lock_kind {
  LOCK_VOLUME_NAME,   /* a volume being made */
  LOCK_SNAPSHOT_NAME, /* a snapshot being made */
  LOCK_VOLUME, /* a volume by its id: shared by those who need it to stay, exclusive to delete */
  LOCK_CHANGE, /* changes of a volume that exclude each other: growing, publishing */
};

/* Without waiting: ABORTED, naming what is busy and with what, when somebody else has it. */
struct keyed_lock *controller_lock(struct controller *controller, enum lock_kind kind,
                                   const char *key, enum keyed_lock_mode mode, const char *purpose,
                                   struct error **err);

/* The service, for the RPC server. */
extern const struct rpc_method controller_methods[];
extern const size_t controller_method_count;

/* One handler an RPC, in the file of its name. */
rpc_handler controller_get_capabilities;
rpc_handler controller_create_volume;
rpc_handler controller_delete_volume;
rpc_handler controller_publish_volume;
rpc_handler controller_unpublish_volume;
rpc_handler controller_validate_volume;
rpc_handler controller_list_volumes;
rpc_handler controller_get_volume;
rpc_handler controller_get_capacity;
rpc_handler controller_create_snapshot;
rpc_handler controller_delete_snapshot;
rpc_handler controller_list_snapshots;
rpc_handler controller_get_snapshot;
rpc_handler controller_expand_volume;
rpc_handler controller_modify_volume;

#endif
