/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/inline_record.h"

#include <stdio.h>
#include <string.h>

#include "csi/volume/record.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

#define KEY_NODE "imprint.inline.node"
#define KEY_TARGET "imprint.inline.target"
#define KEY_SEEN "imprint.inline.seen"
#define KEY_NAME "imprint.name"

/* The common record, of what a pod may ask for. */
static void
fill(const struct inline_record *inline_record, const struct inline_request *request,
     struct volume_parameters *parameters, struct record *ret_record)
{
  char size[24];
  if (*request->mapper)
    string_map_set(&parameters->settings, "mapper", request->mapper);
  if (request->size_bytes) {
    (void)snprintf(size, sizeof(size), "%llu", (unsigned long long)request->size_bytes);
    string_map_set(&parameters->settings, "size", size);
  }
  string_map_set(&parameters->labels, "csi.storage.k8s.io/pod.namespace", request->pod_namespace);
  string_map_set(&parameters->labels, "csi.storage.k8s.io/pod.name", request->pod_name);
  *ret_record = (struct record){
      .name = inline_record->volume_id, .source = inline_record->source, .parameters = parameters};
}

void
inline_record_write(const struct inline_record *inline_record, const struct inline_request *request,
                    const char *image_id, struct string_map *metadata)
{
  struct volume_parameters parameters = {0};
  struct record record;
  fill(inline_record, request, &parameters, &record);
  record_write_ready(&record, image_id, metadata);
  volume_parameters_clear(&parameters);
  string_map_set(metadata, KEY_NODE, inline_record->node);
  string_map_set(metadata, KEY_TARGET, inline_record->target);
  inline_record_write_seen(inline_record->seen_s, metadata);
}

int
inline_record_compare(const struct inline_record *inline_record,
                      const struct inline_request *request, const struct string_map *metadata,
                      struct error **err)
{
  struct volume_parameters parameters = {0};
  struct record record;
  fill(inline_record, request, &parameters, &record);
  int r = record_compare(&record, metadata, err);
  volume_parameters_clear(&parameters);
  return r;
}

static const char *
value_of(const struct string_map *metadata, const char *key)
{
  const char *value = string_map_get(metadata, key);
  return value ? value : "";
}

void
inline_record_read(const struct string_map *metadata, struct inline_record *ret_record)
{
  uint64_t seen_s = 0;
  if (text_to_u64(value_of(metadata, KEY_SEEN), 10, &seen_s) < 0 || seen_s > INT64_MAX)
    seen_s = 0;
  *ret_record = (struct inline_record){.volume_id = value_of(metadata, KEY_NAME),
                                       .source = record_source(metadata),
                                       .node = value_of(metadata, KEY_NODE),
                                       .target = value_of(metadata, KEY_TARGET),
                                       .seen_s = (int64_t)seen_s};
}

void
inline_record_write_seen(int64_t seen_s, struct string_map *metadata)
{
  CLEANUP(freep) char *text = xasprintf("%lld", (long long)seen_s);
  string_map_set(metadata, KEY_SEEN, text);
}

enum inline_fate
inline_record_fate(const struct inline_record *record, const char *node, int64_t now_s,
                   int64_t expiry_s)
{
  if (strcmp(record->node, node) == 0)
    return INLINE_FATE_OWN;
  return now_s - record->seen_s > expiry_s ? INLINE_FATE_EXPIRED : INLINE_FATE_OTHER;
}
