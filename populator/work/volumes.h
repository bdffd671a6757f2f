/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes and snapshots, made and removed by the controller plugin over its socket: the same calls
 * that Kubernetes' own sidecars make. Any thread. */
#ifndef POPULATOR_WORK_VOLUMES_H
#define POPULATOR_WORK_VOLUMES_H

#include "csi/rpc/client.h"
#include "populator/objects/persistent_volume.h"

struct volume_order {
  const char *name; /* the same name gives the same volume, however often it is asked for */
  uint64_t bytes;   /* at least */
  /* How it is to be used, and whose it is; NULL: a disk of our own. */
  const struct kube_object *claim;
  const struct kube_object *storage_class;
  const struct kube_object *attributes_class; /* limits, or NULL */
  /* One of both is to be cloned; neither: blank. */
  const char *snapshot;
  const char *volume;
};

int volumes_create(struct rpc_client *controller, const struct volume_order *order,
                   struct made_volume *ret_volume, struct error **err);
/* What is gone already is gone. */
int volumes_delete(struct rpc_client *controller, const char *handle, struct error **err);
/* *ret_handle is to be freed. */
int volumes_snapshot(struct rpc_client *controller, const char *name, const char *handle,
                     char **ret_handle, struct error **err);
/* Whether the plugin answers. */
int volumes_probe(struct rpc_client *controller, struct error **err);
int volumes_delete_snapshot(struct rpc_client *controller, const char *handle, struct error **err);

#endif
