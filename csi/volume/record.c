/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/record.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"

#define KEY_COPYING "imprint.copying"
#define KEY_NAME "imprint.name"
#define KEY_SOURCE "imprint.source"
#define SET_PREFIX "imprint.set."
#define LABEL_PREFIX "imprint.label."
#define KUBERNETES_PREFIX "csi.storage.k8s.io/"

static void
set_prefixed(struct string_map *metadata, const char *prefix, const char *key, const char *value)
{
  CLEANUP(freep) char *name = xasprintf("%s%s", prefix, key);
  string_map_set(metadata, name, value);
}

static void
write_request(const struct record *record, struct string_map *metadata)
{
  string_map_set(metadata, KEY_NAME, record->name);
  if (*record->source)
    string_map_set(metadata, KEY_SOURCE, record->source);
  const struct string_map *settings = &record->parameters->settings;
  for (size_t i = 0; i < settings->count; i++)
    set_prefixed(metadata, SET_PREFIX, settings->entries[i].key, settings->entries[i].value);
  const struct string_map *labels = &record->parameters->labels;
  for (size_t i = 0; i < labels->count; i++)
    set_prefixed(metadata, LABEL_PREFIX, labels->entries[i].key + strlen(KUBERNETES_PREFIX),
                 labels->entries[i].value);
}

void
record_write_ready(const struct record *record, const char *image_id, struct string_map *metadata)
{
  write_request(record, metadata);
  string_map_set(metadata, RECORD_READY, image_id);
}

void
record_write_copying(const struct record *record, const char *image_id, struct string_map *metadata)
{
  write_request(record, metadata);
  string_map_set(metadata, KEY_COPYING, image_id);
}

void
record_write_flattening(const char *image_id, struct string_map *metadata)
{
  string_map_set(metadata, RECORD_FLATTENING, image_id);
}

static bool
is_marked(const struct string_map *metadata, const char *key, const char *image_id)
{
  const char *id = string_map_get(metadata, key);
  return id && strcmp(id, image_id) == 0;
}

bool
record_is_ready(const struct string_map *metadata, const char *image_id)
{
  return is_marked(metadata, RECORD_READY, image_id);
}

bool
record_is_copying(const struct string_map *metadata, const char *image_id)
{
  return is_marked(metadata, KEY_COPYING, image_id);
}

bool
record_is_flattening(const struct string_map *metadata, const char *image_id)
{
  return is_marked(metadata, RECORD_FLATTENING, image_id);
}

const char *
record_source(const struct string_map *metadata)
{
  const char *source = string_map_get(metadata, KEY_SOURCE);
  return source ? source : "";
}

static int
differs(struct error **err, const char *what, const char *there, const char *asked)
{
  return error_set(err, ERROR_ALREADY_EXISTS, "%s was '%.128s', now '%.128s' is asked for", what,
                   there && *there ? there : "none", asked && *asked ? asked : "none");
}

/* Where an empty value is allowed it means what leaving it out means. */
static int
compare_setting(const char *name, const char *there, const char *asked, struct error **err)
{
  if (strcmp(there ? there : "", asked ? asked : "") == 0)
    return 0;
  CLEANUP(freep) char *what = xasprintf("its parameter '%s'", name);
  return differs(err, what, there, asked);
}

int
record_compare(const struct record *record, const struct string_map *metadata, struct error **err)
{
  const char *name = string_map_get(metadata, KEY_NAME);
  if (!name || strcmp(name, record->name) != 0)
    return differs(err, "its name", name, record->name);
  if (strcmp(record_source(metadata), record->source) != 0)
    return differs(err, "its content source", record_source(metadata), record->source);
  const struct string_map *settings = &record->parameters->settings;
  for (size_t i = 0; i < settings->count; i++) {
    const struct string_map_entry *asked = &settings->entries[i];
    CLEANUP(freep) char *key = xasprintf(SET_PREFIX "%s", asked->key);
    if (compare_setting(asked->key, string_map_get(metadata, key), asked->value, err) < 0)
      return -1;
  }
  for (size_t i = 0; i < metadata->count; i++) {
    const struct string_map_entry *there = &metadata->entries[i];
    if (!text_starts_with(there->key, SET_PREFIX))
      continue;
    const char *setting = there->key + strlen(SET_PREFIX);
    if (compare_setting(setting, there->value, string_map_get(settings, setting), err) < 0)
      return -1;
  }
  return 0;
}

void
record_list_inherited(const struct string_map *metadata, struct string_map *ret_keys)
{
  for (size_t i = 0; i < metadata->count; i++) {
    const char *key = metadata->entries[i].key;
    if (text_starts_with(key, "imprint.") || text_starts_with(key, "conf_rbd_qos_"))
      string_map_set(ret_keys, key, "");
  }
}

void
record_list_copying(struct string_map *ret_keys)
{
  string_map_set(ret_keys, KEY_COPYING, "");
}

void
record_volume_context(const struct string_map *metadata, struct string_map *context)
{
  static const char *const passed_on[] = {"clusterID",  "pool",        "namespace",   "mapper",
                                          "mapOptions", "mkfsOptions", "unmapOptions"};
  for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++) {
    CLEANUP(freep) char *key = xasprintf(SET_PREFIX "%s", passed_on[i]);
    const char *value = string_map_get(metadata, key);
    if (value)
      string_map_set(context, passed_on[i], value);
  }
}
