/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/parameters.h"

#include <string.h>

#include "csi/volume/image_features.h"
#include "csi/volume/volume_id.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

/* What the sidecars add begins so; it says whose volume it is and changes nothing. */
#define KUBERNETES_PREFIX "csi.storage.k8s.io/"
/* RBD's own limits for the size of an object. */
#define ORDER_MIN 12
#define ORDER_MAX 25
#define STRIPE_COUNT_MAX 1024
#define POOL_NAME_MAX 128

typedef int parse_value(const char *name, const char *value, struct volume_parameters *parameters,
                        struct error **err);

static int
parse_cluster_id(const char *name, const char *value, struct volume_parameters *p,
                 struct error **err)
{
  if (!text_is_plain_name(value, VOLUME_ID_CLUSTER_MAX))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "parameter '%s': at most %d letters, digits, '.', '_', '-', not '%.64s'", name,
                     VOLUME_ID_CLUSTER_MAX, value);
  p->cluster_id = xstrdup(value);
  return 0;
}

static int
check_pool_name(const char *name, const char *value, struct error **err)
{
  if (!*value || strlen(value) > POOL_NAME_MAX || strchr(value, '/') || strchr(value, '@'))
    return error_set(err, ERROR_INVALID_ARGUMENT, "parameter '%s': '%.64s' is not a pool name",
                     name, value);
  return 0;
}

static int
parse_pool(const char *name, const char *value, struct volume_parameters *p, struct error **err)
{
  if (check_pool_name(name, value, err) < 0)
    return -1;
  p->pool = xstrdup(value);
  return 0;
}

static int
parse_data_pool(const char *name, const char *value, struct volume_parameters *p,
                struct error **err)
{
  if (check_pool_name(name, value, err) < 0)
    return -1;
  p->data_pool = xstrdup(value);
  return 0;
}

static int
parse_namespace(const char *name, const char *value, struct volume_parameters *p,
                struct error **err)
{
  if (*value && !text_is_plain_name(value, VOLUME_ID_NAMESPACE_MAX))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "parameter '%s': at most %d letters, digits, '.', '_', '-', not '%.64s'", name,
                     VOLUME_ID_NAMESPACE_MAX, value);
  free(p->name_space);
  p->name_space = xstrdup(value);
  return 0;
}

static int
parse_features(const char *name, const char *value, struct volume_parameters *p, struct error **err)
{
  if (image_features_parse(value, &p->features, err) < 0)
    return error_wrap(err, "parameter '%s'", name);
  return 0;
}

static int
parse_object_size(const char *name, const char *value, struct volume_parameters *p,
                  struct error **err)
{
  uint64_t bytes;
  if (text_to_bytes(value, &bytes) == 0) {
    for (uint64_t order = ORDER_MIN; order <= ORDER_MAX; order++) {
      if (bytes == 1ULL << order) {
        p->order = order;
        return 0;
      }
    }
  }
  return error_set(err, ERROR_INVALID_ARGUMENT,
                   "parameter '%s': a power of two from 4Ki to 32Mi is needed, not '%.64s'", name,
                   value);
}

static int
parse_stripe_unit(const char *name, const char *value, struct volume_parameters *p,
                  struct error **err)
{
  if (text_to_bytes(value, &p->stripe_unit) < 0 || p->stripe_unit < 512 ||
      p->stripe_unit > 1ULL << ORDER_MAX)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "parameter '%s': a size from 512 to 32Mi is needed, not '%.64s'", name, value);
  return 0;
}

static int
parse_stripe_count(const char *name, const char *value, struct volume_parameters *p,
                   struct error **err)
{
  if (text_to_u64(value, 10, &p->stripe_count) < 0 || p->stripe_count < 1 ||
      p->stripe_count > STRIPE_COUNT_MAX)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "parameter '%s': a number from 1 to %d is needed, not '%.64s'", name,
                     STRIPE_COUNT_MAX, value);
  return 0;
}

static int
parse_copy_mode(const char *name, const char *value, struct volume_parameters *p,
                struct error **err)
{
  if (strcmp(value, "cow") == 0)
    p->copy_mode = COPY_MODE_COW;
  else if (strcmp(value, "clone") == 0)
    p->copy_mode = COPY_MODE_CLONE;
  else
    return error_set(err, ERROR_INVALID_ARGUMENT, "parameter '%s': cow or clone, not '%.64s'", name,
                     value);
  return 0;
}

static int
parse_mapper(const char *name, const char *value, struct volume_parameters *p, struct error **err)
{
  static const char *const mappers[] = {"auto", "krbd", "nbd", "fuse"};
  for (size_t i = 0; i < sizeof(mappers) / sizeof(mappers[0]); i++) {
    if (strcmp(value, mappers[i]) == 0) {
      string_map_set(&p->node, name, value);
      return 0;
    }
  }
  return error_set(err, ERROR_INVALID_ARGUMENT,
                   "parameter '%s': auto, krbd, nbd or fuse, not '%.64s'", name, value);
}

/* Checked by the node plugin, which knows what its mapper takes; here only what no option has. */
static int
parse_node_options(const char *name, const char *value, struct volume_parameters *p,
                   struct error **err)
{
  for (const char *c = value; *c; c++) {
    if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
      return error_set(err, ERROR_INVALID_ARGUMENT,
                       "parameter '%s': holds a character that no option has", name);
  }
  string_map_set(&p->node, name, value);
  return 0;
}

/* A password in it would stand on the image for everybody to read. */
static int
parse_image_source(const char *name, const char *value, struct volume_parameters *p,
                   struct error **err)
{
  static const char *const schemes[] = {"https://", "http://", "docker://",
                                        "s3://",    "nbd://",  "nbds://"};
  for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
    const char *host = value + strlen(schemes[i]);
    if (!text_starts_with(value, schemes[i]))
      continue;
    if (memchr(host, '@', strcspn(host, "/?#")))
      return error_set(err, ERROR_INVALID_ARGUMENT,
                       "parameter '%s': user and password belong into a Secret, see "
                       "docs/storageclass.md",
                       name);
    p->image_source = xstrdup(value);
    return 0;
  }
  return error_set(err, ERROR_INVALID_ARGUMENT,
                   "parameter '%s': http://, https://, docker://, s3://, nbd:// or nbds://, not "
                   "'%.64s'",
                   name, value);
}

static int
parse_image_endpoint(const char *name, const char *value, struct volume_parameters *p,
                     struct error **err)
{
  if (!text_starts_with(value, "https://") && !text_starts_with(value, "http://"))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "parameter '%s': the URL of an S3 store is needed, not '%.64s'", name, value);
  p->image_endpoint = xstrdup(value);
  return 0;
}

static const struct {
  const char *name;
  parse_value *parse;
} known[] = {
    {"clusterID", parse_cluster_id},      {"copyMode", parse_copy_mode},
    {"dataPool", parse_data_pool},        {"imageEndpoint", parse_image_endpoint},
    {"imageFeatures", parse_features},    {"imageSource", parse_image_source},
    {"mapOptions", parse_node_options},   {"mapper", parse_mapper},
    {"mkfsOptions", parse_node_options},  {"namespace", parse_namespace},
    {"objectSize", parse_object_size},    {"pool", parse_pool},
    {"stripeCount", parse_stripe_count},  {"stripeUnit", parse_stripe_unit},
    {"unmapOptions", parse_node_options},
};

#define KNOWN (sizeof(known) / sizeof(known[0]))

const char *const *
volume_parameter_names(void)
{
  static const char *names[KNOWN + 1];
  for (size_t i = 0; i < KNOWN; i++)
    names[i] = known[i].name;
  return names;
}

static int
parse_one(const struct string_map_entry *entry, struct volume_parameters *p, struct error **err)
{
  if (text_starts_with(entry->key, KUBERNETES_PREFIX)) {
    string_map_set(&p->labels, entry->key, entry->value);
    return 0;
  }
  for (size_t i = 0; i < KNOWN; i++) {
    if (strcmp(entry->key, known[i].name) != 0)
      continue;
    string_map_set(&p->settings, entry->key, entry->value);
    return known[i].parse(entry->key, entry->value, p, err);
  }
  return error_set(err, ERROR_INVALID_ARGUMENT,
                   "parameter '%.64s' is not known: see docs/storageclass.md for those that are",
                   entry->key);
}

/* What no single parameter can tell. */
static int
check_together(const struct volume_parameters *p, struct error **err)
{
  if (!p->pool)
    return error_set(err, ERROR_INVALID_ARGUMENT, "parameter 'pool' is needed");
  if (!p->stripe_unit != !p->stripe_count)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "parameters 'stripeUnit' and 'stripeCount' go together: '%s' is missing",
                     p->stripe_unit ? "stripeCount" : "stripeUnit");
  uint64_t object_bytes = 1ULL << (p->order ? p->order : 22);
  if (p->stripe_unit && (p->stripe_unit > object_bytes || object_bytes % p->stripe_unit != 0))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "parameter 'stripeUnit': %llu does not divide the object size %llu",
                     (unsigned long long)p->stripe_unit, (unsigned long long)object_bytes);
  return 0;
}

int
volume_parameters_parse(const struct string_map *given, struct volume_parameters *ret_parameters,
                        struct error **err)
{
  struct volume_parameters p = {.features = IMAGE_FEATURES_DEFAULT, .name_space = xstrdup("")};
  int r = 0;
  for (size_t i = 0; i < given->count && r == 0; i++)
    r = parse_one(&given->entries[i], &p, err);
  if (r == 0)
    r = check_together(&p, err);
  if (r < 0) {
    volume_parameters_clear(&p);
    return -1;
  }
  *ret_parameters = p;
  return 0;
}

void
volume_parameters_clear(struct volume_parameters *p)
{
  free(p->cluster_id);
  free(p->pool);
  free(p->data_pool);
  free(p->name_space);
  free(p->image_source);
  free(p->image_endpoint);
  string_map_clear(&p->settings);
  string_map_clear(&p->labels);
  string_map_clear(&p->node);
  *p = (struct volume_parameters){0};
}

int
snapshot_parameters_check(const struct string_map *given, struct error **err)
{
  for (size_t i = 0; i < given->count; i++) {
    if (!text_starts_with(given->entries[i].key, KUBERNETES_PREFIX))
      return error_set(err, ERROR_INVALID_ARGUMENT,
                       "parameter '%.64s' is not known: a VolumeSnapshotClass of this driver takes "
                       "none",
                       given->entries[i].key);
  }
  return 0;
}
