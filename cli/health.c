/* SPDX-License-Identifier: Apache-2.0 */
/* imprint health: how the plugins' clusters fare. */
#include "lib/ceph/health.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>

#include "cli/ceph_flags.h"
#include "cli/command.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/ceph/clusters.h"

static bool is_json;

static const struct flag flags[] = {
    {"json", FLAG_SWITCH, &is_json, NULL, "the result as one JSON object", NULL},
};

static const struct flag_set health_flags = {flags, sizeof(flags) / sizeof(flags[0])};
static const struct flag_set *const sets[] = {&health_flags, &ceph_flags, NULL};

/* "HEALTH_OK, 3 of 3 OSDs up, 12 % of 1.0 TiB used". To be freed. */
static char *
words_of(const struct health *health)
{
  char size[TEXT_BYTES_MAX];
  uint64_t percent = health->bytes_total ? health->bytes_used * 100 / health->bytes_total : 0;
  return xasprintf("%s, %" PRIu64 " of %" PRIu64 " OSDs up, %" PRIu64 " %% of %s used%s%s",
                   health->status, health->osds_up, health->osds, percent,
                   text_of_about_bytes(health->bytes_total, size), *health->checks ? ": " : "",
                   health->checks);
}

static struct json_object *
object_of(const char *id, const struct health *health)
{
  struct json_object *object = json_object_new_object();
  struct json_object *pools = json_object_new_object();
  CLEANUP(freep) char *words = words_of(health);
  for (size_t i = 0; i < health->pools.count; i++)
    (void)json_object_object_add(pools, health->pools.entries[i].key,
                                 json_object_new_string(health->pools.entries[i].value));
  (void)json_object_object_add(object, "id", json_object_new_string(id));
  (void)json_object_object_add(object, "isServing", json_object_new_boolean(health->is_serving));
  (void)json_object_object_add(object, "status", json_object_new_string(health->status));
  (void)json_object_object_add(object, "message", json_object_new_string(words));
  (void)json_object_object_add(object, "bytesTotal", json_object_new_uint64(health->bytes_total));
  (void)json_object_object_add(object, "bytesUsed", json_object_new_uint64(health->bytes_used));
  (void)json_object_object_add(object, "pools", pools);
  return object;
}

static struct json_object *
object_of_failure(const char *id, const struct error *failure)
{
  struct json_object *object = json_object_new_object();
  (void)json_object_object_add(object, "id", json_object_new_string(id));
  (void)json_object_object_add(object, "isServing", json_object_new_boolean(false));
  (void)json_object_object_add(object, "status", json_object_new_string("UNREACHABLE"));
  (void)json_object_object_add(object, "message", json_object_new_string(failure->message));
  return object;
}

/* One that cannot be reached is a finding like others. */
static struct json_object *
look_at(struct clusters *clusters, const char *id)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(cluster_unrefp) struct cluster *cluster = NULL;
  struct health health;
  if (clusters_get(clusters, id, &cluster, &failure) < 0 ||
      health_read(cluster, &health, &failure) < 0)
    return object_of_failure(id, failure);
  struct json_object *object = object_of(id, &health);
  health_clear(&health);
  return object;
}

static void
print(struct json_object *list)
{
  struct json_object *id, *message;
  for (size_t i = 0; i < json_object_array_length(list); i++) {
    struct json_object *object = json_object_array_get_idx(list, i);
    if (json_object_object_get_ex(object, "id", &id) &&
        json_object_object_get_ex(object, "message", &message))
      (void)printf("%s: %s\n", json_object_get_string(id), json_object_get_string(message));
  }
}

static int
run(const struct arguments *arguments, struct error **err)
{
  (void)arguments;
  CLEANUP(clusters_closep) struct clusters *clusters = NULL;
  if (clusters_open(ceph_flags_clusters_file(), NULL, &clusters, err) < 0)
    return error_wrap(err, "health");
  struct cluster_ids ids;
  clusters_ids(clusters, &ids);
  struct json_object *list = json_object_new_array();
  for (size_t i = 0; i < ids.count; i++)
    (void)json_object_array_add(list, look_at(clusters, ids.ids[i]));
  cluster_ids_clear(&ids);
  struct json_object *all = json_object_new_object();
  (void)json_object_object_add(all, "clusters", list);
  if (is_json)
    (void)puts(json_object_to_json_string_ext(all, JSON_C_TO_STRING_PLAIN |
                                                       JSON_C_TO_STRING_NOSLASHESCAPE));
  else
    print(list);
  json_object_put(all);
  return 0;
}

static const struct command_example examples[] = {
    {"The clusters of the plugins", "imprint health --clusters /etc/imprint/clusters.json"},
    {0},
};

const struct command command_health = {
    .name = "health",
    .usage = "",
    .summary = "Tell how the Ceph clusters fare",
    .text = "Of each cluster in the plugins' file: what its monitors say of its health, how many\n"
            "OSDs are up and how full it is, or why it cannot be reached.\n",
    .sets = sets,
    .examples = examples,
    .arguments_min = 0,
    .arguments_max = 0,
    .run = run,
};
