/* SPDX-License-Identifier: Apache-2.0 */
/* GetCapacity: what the pool of a StorageClass can still take; without one, the best of all pools.
 */
#include "controllerplugin/controller.h"
#include "csi/volume/capability.h"
#include "csi/volume/capacity.h"
#include "csi/volume/parameters.h"
#include "csi/volume/proto_map.h"
#include "lib/base/memory.h"
#include "lib/ceph/location.h"

/* The one who asked named something that is not there: his argument is at fault. */
static int
blame_parameter(const char *name, struct error **err)
{
  if (err && (*err)->code == ERROR_NOT_FOUND)
    (*err)->code = ERROR_INVALID_ARGUMENT;
  return error_wrap(err, "parameter '%s'", name);
}

static int
capacity_of_pool(struct controller *controller, const struct volume_parameters *parameters,
                 uint64_t *ret_bytes, struct error **err)
{
  CLEANUP(cluster_unrefp) struct cluster *cluster = NULL;
  CLEANUP(location_closep) struct location *location = NULL;
  const char *pool = parameters->data_pool ? parameters->data_pool : parameters->pool;
  if (clusters_get(controller->clusters, parameters->cluster_id, &cluster, err) < 0)
    return blame_parameter("clusterID", err);
  if (location_open(cluster, pool, "", &location, err) < 0)
    return blame_parameter(parameters->data_pool ? "dataPool" : "pool", err);
  return cluster_pool_available(cluster, pool, ret_bytes, err);
}

/* Pools share their disks, so of one cluster the largest counts; of several clusters, the sum. */
static int
capacity_of_all(struct controller *controller, uint64_t *ret_bytes, struct error **err)
{
  struct cluster_ids ids;
  clusters_ids(controller->clusters, &ids);
  int r = 0;
  *ret_bytes = 0;
  for (size_t i = 0; r == 0 && i < ids.count; i++) {
    CLEANUP(cluster_unrefp) struct cluster *cluster = NULL;
    struct pool_names pools = {0};
    uint64_t best = 0;
    r = clusters_get(controller->clusters, ids.ids[i], &cluster, err);
    if (r == 0)
      r = cluster_rbd_pools(cluster, &pools, err);
    for (size_t p = 0; r == 0 && p < pools.count; p++) {
      uint64_t bytes = 0;
      if (cluster_pool_available(cluster, pools.names[p], &bytes, NULL) == 0 && bytes > best)
        best = bytes;
    }
    pool_names_clear(&pools);
    *ret_bytes += best;
  }
  cluster_ids_clear(&ids);
  return r;
}

static Google__Protobuf__Int64Value *
int64_value(int64_t value)
{
  Google__Protobuf__Int64Value *message = xcalloc(1, sizeof(*message));
  google__protobuf__int64_value__init(message);
  message->value = value;
  return message;
}

int
controller_get_capacity(void *context, const ProtobufCMessage *message, ProtobufCMessage *response,
                        struct error **err)
{
  const Csi__V1__GetCapacityRequest *request = (const Csi__V1__GetCapacityRequest *)message;
  Csi__V1__GetCapacityResponse *answer = (Csi__V1__GetCapacityResponse *)response;
  uint64_t bytes = 0;
  if (request->n_volume_capabilities > 0 &&
      capabilities_check(request->volume_capabilities, request->n_volume_capabilities, NULL) < 0)
    return 0; /* of what we cannot make there is room for none */
  if (request->n_parameters == 0) {
    if (capacity_of_all(context, &bytes, err) < 0)
      return -1;
  } else {
    struct string_map given = {0};
    struct volume_parameters parameters;
    PROTO_MAP_READ(&given, request->parameters, request->n_parameters);
    int r = volume_parameters_parse(&given, &parameters, err);
    string_map_clear(&given);
    if (r < 0)
      return -1;
    r = capacity_of_pool(context, &parameters, &bytes, err);
    volume_parameters_clear(&parameters);
    if (r < 0)
      return -1;
  }
  answer->available_capacity = (int64_t)bytes;
  answer->maximum_volume_size = int64_value((int64_t)CAPACITY_MAX_BYTES);
  answer->minimum_volume_size = int64_value((int64_t)CAPACITY_UNIT_BYTES);
  return 0;
}
