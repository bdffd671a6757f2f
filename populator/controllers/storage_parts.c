/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/storage_parts.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/kube/kube_time.h"
#include "populator/objects/conditions.h"
#include "populator/objects/storage_class.h"
#include "populator/work/volumes.h"

/* A DaemonSet does not tell whether its pods are still starting or have failed. */
#define STARTING_S 600

void
part_clear(struct part *part)
{
  free(part->reason);
  free(part->message);
  *part = (struct part){0};
}

void
part_set(struct part *part, const char *type, enum part_state state, const char *reason,
         char *message)
{
  *part =
      (struct part){.type = type, .state = state, .reason = xstrdup(reason), .message = message};
}

/* ---- Ceph -------------------------------------------------------------------------------------
 */

void
storage_parts_ceph(struct json_object *health, const char *failure, struct part *ret_part)
{
  static const char type[] = "StorageReady";
  struct json_object *clusters = json_at(health, "clusters");
  bool is_serving = json_count(clusters) > 0;
  const char *reason = "HEALTH_OK";
  char *words = xstrdup("");
  for (size_t i = 0; i < json_count(clusters); i++) {
    struct json_object *cluster = json_item(clusters, i);
    const char *status = json_text(cluster, "status");
    char *longer = xasprintf("%s%scluster '%s': %s", words, *words ? "; " : "",
                             json_text(cluster, "id"), json_text(cluster, "message"));
    free(words);
    words = longer;
    is_serving = is_serving && json_flag(cluster, "isServing");
    if (status && strcmp(reason, "HEALTH_OK") == 0)
      reason = status;
  }
  if (failure)
    part_set(ret_part, type, PART_BROKEN, "CannotBeAsked", xstrdup(failure));
  else if (json_count(clusters) == 0)
    part_set(ret_part, type, PART_BROKEN, "NoCluster",
             xstrdup("no Ceph cluster is configured: clusters of the chart"));
  else
    part_set(ret_part, type, is_serving ? PART_OK : PART_BROKEN, reason, xstrdup(words));
  free(words);
}

/* How many copies the pool of a class keeps; NULL: that is not known. */
static const char *
copies_of(struct json_object *health, const struct kube_object *class)
{
  struct json_object *clusters = json_at(health, "clusters");
  const char *id = json_text(class->json, "parameters", "clusterID");
  const char *pool = json_text(class->json, "parameters", "dataPool");
  if (!pool)
    pool = json_text(class->json, "parameters", "pool");
  for (size_t i = 0; pool && i < json_count(clusters); i++) {
    struct json_object *cluster = json_item(clusters, i);
    const char *copies = json_text(json_at(cluster, "pools"), pool);
    if (copies && (!id || strcmp(id, json_text(cluster, "id")) == 0))
      return copies;
  }
  return NULL;
}

bool
storage_parts_replicas(struct populator *populator, const struct kube_object *storage,
                       struct json_object *health, struct part *ret_part)
{
  static const char type[] = "ReplicasMet";
  int64_t wanted = json_number(storage->json, "spec", "storage", "replicas");
  if (wanted == 0 || !health)
    return false;
  CLEANUP(kube_objects_freep)
  struct kube_object **classes = kube_mirror_all(populator->storage_classes, NULL);
  for (size_t i = 0; classes[i]; i++) {
    uint64_t copies;
    const char *text =
        storage_class_is_of(classes[i], populator->driver) ? copies_of(health, classes[i]) : NULL;
    if (!text || text_to_u64(text, 10, &copies) < 0 || copies >= (uint64_t)wanted)
      continue;
    part_set(ret_part, type, PART_BROKEN, "TooFew",
             xasprintf("StorageClass '%s': its pool keeps %s of the %" PRId64 " copies that "
                       "spec.storage.replicas asks for: ceph osd pool set POOL size %" PRId64,
                       classes[i]->name, text, wanted, wanted));
    return true;
  }
  part_set(ret_part, type, PART_OK, "Met", xstrdup(""));
  return true;
}

/* ---- nodes ------------------------------------------------------------------------------------
 */

/* spec.storage.nodes is a list, or one of them alone. */
static size_t
count_nodes(const struct kube_object *storage)
{
  struct json_object *nodes = json_at(storage->json, "spec", "storage", "nodes");
  return json_object_is_type(nodes, json_type_object) ? 1 : json_count(nodes);
}

static struct json_object *
node_at(const struct kube_object *storage, size_t index)
{
  struct json_object *nodes = json_at(storage->json, "spec", "storage", "nodes");
  return json_object_is_type(nodes, json_type_object) ? nodes : json_item(nodes, index);
}

bool
storage_parts_devices(const struct kube_object *storage, struct part *ret_part)
{
  for (size_t i = 0; i < count_nodes(storage); i++) {
    if (json_count(json_at(node_at(storage, i), "devices")) == 0)
      continue;
    part_set(ret_part, "DevicesManaged", PART_NOTE, "NotByImprint",
             xstrdup("spec.storage.nodes: Imprint makes no OSDs from devices: that is done by Rook "
                     "(CephCluster spec.storage.nodes) or cephadm (ceph orch daemon add osd)"));
    return true;
  }
  return false;
}

static bool
has_driver(const struct kube_object *csi_node, const char *driver)
{
  struct json_object *drivers = json_at(csi_node->json, "spec", "drivers");
  for (size_t i = 0; i < json_count(drivers); i++) {
    const char *name = json_text(json_item(drivers, i), "name");
    if (name && strcmp(name, driver) == 0)
      return true;
  }
  return false;
}

/* What is missing on a node that the spec names; NULL: nothing. To be freed. */
static char *
missing_on(struct populator *populator, const char *name)
{
  CLEANUP(kube_object_releasep) struct kube_object *node = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (!name)
    return xstrdup("spec.storage.nodes: hostname is needed of each");
  if (kube_get(populator->client, &kube_csi_nodes, NULL, name, &node, &failure) < 0)
    return failure->code == ERROR_NOT_FOUND
               ? xasprintf("spec.storage.nodes: there is no node '%.253s'", name)
               : xstrdup(failure->message);
  if (has_driver(node, populator->driver))
    return NULL;
  return xasprintf("node '%s' does not have the driver: does its pod of the node plugin run?",
                   name);
}

/* ---- workloads --------------------------------------------------------------------------------
 */

/* The one of our own namespace with this component; to be put, NULL when there is none. */
static struct json_object *
find_workload(struct populator *populator, const struct kube_kind *kind, const char *component)
{
  struct json_object *list = NULL;
  CLEANUP(freep)
  char *path = kube_kind_path(kind, kube_client_namespace(populator->client), NULL, NULL);
  CLEANUP(freep)
  char *query = xasprintf("labelSelector=app.kubernetes.io/part-of%%3Dimprint,"
                          "app.kubernetes.io/component%%3D%s",
                          component);
  const struct kube_request request = {.path = path, .query = query};
  if (kube_client_send(populator->client, &request, &list, NULL) < 0)
    return NULL;
  struct json_object *found = json_object_get(json_item(json_at(list, "items"), 0));
  json_object_put(list);
  return found;
}

/* Whether the Deployment has ever come to its end as it is now. */
static bool
is_rolled_out(struct json_object *deployment, bool *ret_is_stuck)
{
  struct json_object *list = json_at(deployment, "status", "conditions");
  *ret_is_stuck = false;
  for (size_t i = 0; i < json_count(list); i++) {
    struct json_object *condition = json_item(list, i);
    const char *type = json_text(condition, "type");
    const char *reason = json_text(condition, "reason");
    const char *status = json_text(condition, "status");
    if (!type || !reason || !status || strcmp(type, "Progressing") != 0)
      continue;
    *ret_is_stuck = strcmp(status, "False") == 0;
    return strcmp(reason, "NewReplicaSetAvailable") == 0;
  }
  return false;
}

void
storage_parts_controller(struct populator *populator, struct part *ret_part)
{
  static const char type[] = "ControllerReady";
  CLEANUP(json_object_putp)
  struct json_object *deployment = find_workload(populator, &kube_deployments, "controller");
  int64_t wanted = json_number(deployment, "spec", "replicas");
  int64_t available = json_number(deployment, "status", "availableReplicas");
  bool is_stuck;
  if (!deployment) {
    part_set(ret_part, type, PART_BROKEN, "NotFound",
             xasprintf("there is no Deployment of the controller in namespace '%s'",
                       kube_client_namespace(populator->client)));
    return;
  }
  bool is_broken = is_rolled_out(deployment, &is_stuck) || is_stuck;
  char *words = xasprintf("%" PRId64 " of %" PRId64 " pods of Deployment '%s' are available",
                          available, wanted, json_text(deployment, "metadata", "name"));
  if (available >= wanted)
    part_set(ret_part, type, PART_OK, "Available", words);
  else
    part_set(ret_part, type, is_broken ? PART_BROKEN : PART_COMING,
             is_broken ? "PodsMissing" : "Deploying", words);
}

static bool
is_young(struct json_object *object)
{
  time_t made;
  const char *text = json_text(object, "metadata", "creationTimestamp");
  return text && kube_time_parse(text, &made) == 0 && time(NULL) - made < STARTING_S;
}

void
storage_parts_nodes(struct populator *populator, const struct kube_object *storage,
                    struct part *ret_part)
{
  static const char type[] = "NodesReady";
  for (size_t i = 0; i < count_nodes(storage); i++) {
    char *missing = missing_on(populator, json_text(node_at(storage, i), "hostname"));
    if (missing) {
      part_set(ret_part, type, PART_BROKEN, "NodeMissing", missing);
      return;
    }
  }
  CLEANUP(json_object_putp)
  struct json_object *set = find_workload(populator, &kube_daemon_sets, "node");
  int64_t wanted = json_number(set, "status", "desiredNumberScheduled");
  int64_t ready = json_number(set, "status", "numberReady");
  if (!set) {
    part_set(ret_part, type, PART_BROKEN, "NotFound",
             xasprintf("there is no DaemonSet of the node plugin in namespace '%s'",
                       kube_client_namespace(populator->client)));
    return;
  }
  char *words = xasprintf("%" PRId64 " of %" PRId64 " pods of DaemonSet '%s' are ready", ready,
                          wanted, json_text(set, "metadata", "name"));
  bool is_coming = json_number(set, "status", "updatedNumberScheduled") < wanted || is_young(set);
  if (wanted > 0 && ready >= wanted)
    part_set(ret_part, type, PART_OK, "Ready", words);
  else
    part_set(ret_part, type, is_coming ? PART_COMING : PART_BROKEN,
             is_coming ? "Deploying" : "PodsMissing", words);
}

/* ---- the rest ---------------------------------------------------------------------------------
 */

void
storage_parts_populator(struct populator *populator, struct part *ret_part)
{
  static const char type[] = "PopulatorReady";
  CLEANUP(error_freep) struct error *failure = NULL;
  if (volumes_probe(populator->controller, &failure) < 0)
    part_set(ret_part, type, PART_BROKEN, "NoController",
             xasprintf("the controller plugin does not answer: %s", failure->message));
  else
    part_set(ret_part, type, PART_OK, "Answers",
             xstrdup(populator->is_without_cdi ? "DataVolumes are left to CDI"
                                               : "DataVolumes are served too"));
}

void
storage_parts_classes(struct populator *populator, struct part *ret_part)
{
  static const char type[] = "ClassesReady";
  CLEANUP(kube_objects_freep)
  struct kube_object **classes = kube_mirror_all(populator->storage_classes, NULL);
  CLEANUP(kube_object_releasep) struct kube_object *driver = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  size_t count = 0;
  for (size_t i = 0; classes[i]; i++)
    count += storage_class_is_of(classes[i], populator->driver);
  if (kube_get(populator->client, &kube_csi_drivers, NULL, populator->driver, &driver, &failure) <
      0)
    part_set(ret_part, type, PART_BROKEN, "NoDriver", xasprintf("CSIDriver: %s", failure->message));
  else if (count == 0)
    part_set(ret_part, type, PART_BROKEN, "NoClass",
             xasprintf("there is no StorageClass of %s: storageClasses of the chart",
                       populator->driver));
  else
    part_set(ret_part, type, PART_OK, "Found", xstrdup(""));
}
