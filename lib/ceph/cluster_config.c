/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/cluster_config.h"

#include <json-c/json.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/strict_json.h"
#include "lib/base/text.h"

/* No cluster has more; a bound for what a broken file can make us do. */
#define CLUSTERS_MAX 1000

DEFINE_CLEANUP(struct json_object *, json_object_put)
DEFINE_CLEANUP(struct json_tokener *, json_tokener_free)

/* The fields that are plain strings, and where each goes. */
static const struct {
  const char *name;
  size_t offset;
} string_fields[] = {
    {"clusterID", offsetof(struct cluster_config, cluster_id)},
    {"confFile", offsetof(struct cluster_config, conf_file)},
    {"user", offsetof(struct cluster_config, user)},
    {"keyFile", offsetof(struct cluster_config, key_file)},
    {"keyring", offsetof(struct cluster_config, keyring)},
};

#define STRING_FIELDS (sizeof(string_fields) / sizeof(string_fields[0]))

static char **
string_field(const struct cluster_config *config, size_t i)
{
  return (char **)(void *)((char *)config + string_fields[i].offset);
}

void
cluster_config_clear(struct cluster_config *config)
{
  for (size_t i = 0; i < STRING_FIELDS; i++)
    free(*string_field(config, i));
  free(config->monitors);
  *config = (struct cluster_config){0};
}

void
cluster_config_copy(struct cluster_config *to, const struct cluster_config *from)
{
  for (size_t i = 0; i < STRING_FIELDS; i++)
    *string_field(to, i) = xstrdup(*string_field(from, i));
  to->monitors = xstrdup(from->monitors);
}

static bool
same(const char *a, const char *b)
{
  return a && b ? strcmp(a, b) == 0 : a == b;
}

bool
cluster_config_equal(const struct cluster_config *a, const struct cluster_config *b)
{
  for (size_t i = 0; i < STRING_FIELDS; i++) {
    if (!same(*string_field(a, i), *string_field(b, i)))
      return false;
  }
  return same(a->monitors, b->monitors);
}

void
cluster_configs_clear(struct cluster_configs *configs)
{
  for (size_t i = 0; i < configs->count; i++)
    cluster_config_clear(&configs->items[i]);
  free(configs->items);
  *configs = (struct cluster_configs){0};
}

/* A string that is not empty and holds no NUL, at which it would silently end. */
static bool
has_text(struct json_object *value)
{
  return json_object_is_type(value, json_type_string) && *json_object_get_string(value) &&
         strlen(json_object_get_string(value)) == (size_t)json_object_get_string_len(value);
}

static int
parse_monitors(struct json_object *array, size_t index, char **ret_monitors, struct error **err)
{
  if (!json_object_is_type(array, json_type_array) || json_object_array_length(array) == 0)
    return error_set(err, ERROR_INVALID_ARGUMENT, "clusters[%zu].monitors: not a list of addresses",
                     index);
  CLEANUP(freep) char *joined = xstrdup("");
  for (size_t i = 0; i < json_object_array_length(array); i++) {
    struct json_object *item = json_object_array_get_idx(array, i);
    if (!has_text(item))
      return error_set(err, ERROR_INVALID_ARGUMENT,
                       "clusters[%zu].monitors[%zu]: not a string with text", index, i);
    char *longer = xasprintf("%s%s%s", joined, i ? "," : "", json_object_get_string(item));
    free(joined);
    joined = longer;
  }
  *ret_monitors = TAKE(joined);
  return 0;
}

static int
parse_field(const char *key, struct json_object *value, size_t index, struct cluster_config *config,
            struct error **err)
{
  if (strcmp(key, "monitors") == 0) {
    free(config->monitors);
    config->monitors = NULL;
    return parse_monitors(value, index, &config->monitors, err);
  }
  for (size_t i = 0; i < STRING_FIELDS; i++) {
    if (strcmp(key, string_fields[i].name) != 0)
      continue;
    if (!has_text(value))
      return error_set(err, ERROR_INVALID_ARGUMENT, "clusters[%zu].%s: not a string with text",
                       index, key);
    free(*string_field(config, i));
    *string_field(config, i) = xstrdup(json_object_get_string(value));
    return 0;
  }
  return error_set(
      err, ERROR_INVALID_ARGUMENT,
      "clusters[%zu].%s: unknown field; known are clusterID, monitors, confFile, user, "
      "keyFile, keyring",
      index, key);
}

static int
check_cluster(const struct cluster_config *config, size_t index, struct error **err)
{
  if (!config->cluster_id || !text_is_plain_name(config->cluster_id, CLUSTER_ID_MAX))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "clusters[%zu].clusterID: needed, at most %d letters, digits, '.', '_', '-'",
                     index, CLUSTER_ID_MAX);
  if (!config->monitors == !config->conf_file)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "clusters[%zu] ('%s'): one of monitors and confFile is needed", index,
                     config->cluster_id);
  if (config->key_file && config->keyring)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "clusters[%zu] ('%s'): keyFile and keyring exclude each other", index,
                     config->cluster_id);
  return 0;
}

static int
parse_cluster(struct json_object *object, size_t index, struct cluster_config *config,
              struct error **err)
{
  if (!json_object_is_type(object, json_type_object))
    return error_set(err, ERROR_INVALID_ARGUMENT, "clusters[%zu]: not an object", index);
  json_object_object_foreach(object, key, value)
  {
    if (parse_field(key, value, index, config, err) < 0)
      return -1;
  }
  if (!config->user)
    config->user = xstrdup("admin");
  return check_cluster(config, index, err);
}

static int
parse_clusters(struct json_object *array, struct cluster_configs *configs, struct error **err)
{
  size_t count = json_object_array_length(array);
  if (count == 0 || count > CLUSTERS_MAX)
    return error_set(err, ERROR_INVALID_ARGUMENT, "clusters: has %zu entries, wants 1 to %d", count,
                     CLUSTERS_MAX);
  configs->items = xcalloc(count, sizeof(configs->items[0]));
  configs->count = count;
  for (size_t i = 0; i < count; i++) {
    if (parse_cluster(json_object_array_get_idx(array, i), i, &configs->items[i], err) < 0)
      return -1;
    for (size_t j = 0; j < i; j++) {
      if (strcmp(configs->items[i].cluster_id, configs->items[j].cluster_id) == 0)
        return error_set(err, ERROR_INVALID_ARGUMENT,
                         "clusters[%zu].clusterID: '%s' is that of clusters[%zu] already", i,
                         configs->items[i].cluster_id, j);
    }
  }
  return 0;
}

static int
check_root(struct json_object *root, struct error **err)
{
  json_object_object_foreach(root, key, value)
  {
    (void)value;
    if (strcmp(key, "clusters") != 0)
      return error_set(err, ERROR_INVALID_ARGUMENT, "'%.64s': unknown field; known is clusters",
                       key);
  }
  return 0;
}

int
cluster_configs_parse(const char *json, size_t len, struct cluster_configs *ret_configs,
                      struct error **err)
{
  CLEANUP(json_tokener_freep) struct json_tokener *tokener = json_tokener_new();
  json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
  CLEANUP(json_object_putp)
  struct json_object *root = json_tokener_parse_ex(tokener, json, (int)len);
  enum json_tokener_error failure = json_tokener_get_error(tokener);
  if (failure != json_tokener_success) /* without one, no root means the value null */
    return error_set(err, ERROR_INVALID_ARGUMENT, "not valid JSON near byte %zu: %s",
                     json_tokener_get_parse_end(tokener),
                     failure == json_tokener_continue ? "it ends too early"
                                                      : json_tokener_error_desc(failure));
  struct json_object *array;
  if (strict_json_check(json, len, root, err) < 0)
    return -1;
  if (!json_object_is_type(root, json_type_object) ||
      !json_object_object_get_ex(root, "clusters", &array) ||
      !json_object_is_type(array, json_type_array))
    return error_set(err, ERROR_INVALID_ARGUMENT, "wants an object with a list 'clusters'");
  struct cluster_configs configs = {0};
  if (check_root(root, err) < 0)
    return -1;
  if (parse_clusters(array, &configs, err) < 0) {
    cluster_configs_clear(&configs);
    return -1;
  }
  *ret_configs = configs;
  return 0;
}
