/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/objects/golden_wish.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/objects/kinds.h"

#define LIST "objects.json"
#define MINUTES 60

static const struct kube_kind *
kind_of(struct json_object *object)
{
  static const struct kube_kind *const known[] = {&data_sources, &data_import_crons};
  const char *kind = json_text(object, "kind");
  for (size_t i = 0; kind && i < sizeof(known) / sizeof(known[0]); i++) {
    if (strcmp(kind, known[i]->kind) == 0)
      return known[i];
  }
  return NULL;
}

static int
read_item(struct json_object *item, size_t index, struct golden_wish *ret_wish, struct error **err)
{
  struct json_object *object = json_at(item, "object");
  *ret_wish = (struct golden_wish){.from = json_text(item, "from"),
                                   .kind = kind_of(object),
                                   .ns = json_text(object, "metadata", "namespace"),
                                   .name = json_text(object, "metadata", "name"),
                                   .object = object};
  const char *missing = !ret_wish->from            ? "from"
                        : !ret_wish->kind          ? "kind DataSource or DataImportCron"
                        : !ret_wish->ns            ? "metadata.namespace"
                        : !ret_wish->name          ? "metadata.name"
                        : !json_at(object, "spec") ? "spec"
                                                   : NULL;
  if (missing)
    return error_set(err, ERROR_INVALID_ARGUMENT, LIST ": entry %zu has no %s", index, missing);
  return 0;
}

static int
read_items(struct golden_wishes *wishes, struct error **err)
{
  if (!json_object_is_type(wishes->json, json_type_array))
    return error_set(err, ERROR_INVALID_ARGUMENT, LIST ": a list is needed");
  wishes->items = xcalloc(json_count(wishes->json) + 1, sizeof(*wishes->items));
  for (; wishes->count < json_count(wishes->json); wishes->count++) {
    if (read_item(json_item(wishes->json, wishes->count), wishes->count,
                  &wishes->items[wishes->count], err) < 0)
      return -1;
  }
  wishes->is_told = true;
  return 0;
}

int
golden_wishes_read(const struct kube_object *config_map, struct golden_wishes *ret_wishes,
                   struct error **err)
{
  const char *text = json_text(config_map->json, "data", LIST);
  CLEANUP(golden_wishes_clear) struct golden_wishes wishes = {0};
  if (text) {
    if (json_parse(text, strlen(text), &wishes.json, err) < 0)
      return error_wrap(err, LIST);
    if (read_items(&wishes, err) < 0)
      return -1;
  }
  *ret_wishes = wishes;
  wishes = (struct golden_wishes){0};
  return 0;
}

void
golden_wishes_clear(struct golden_wishes *wishes)
{
  free(wishes->items);
  json_object_put(wishes->json);
}

const struct golden_wish *
golden_wishes_find(const struct golden_wishes *wishes, const struct kube_kind *kind, const char *ns,
                   const char *name)
{
  for (size_t i = 0; i < wishes->count; i++) {
    const struct golden_wish *wish = &wishes->items[i];
    if (wish->kind == kind && strcmp(wish->ns, ns) == 0 && strcmp(wish->name, name) == 0)
      return wish;
  }
  return NULL;
}

static bool
needs_minute(const struct golden_wish *wish)
{
  return wish->kind == &data_import_crons && !json_text(wish->object, "spec", "schedule");
}

bool
golden_wishes_need_minute(const struct golden_wishes *wishes)
{
  for (size_t i = 0; i < wishes->count; i++) {
    if (needs_minute(&wishes->items[i]))
      return true;
  }
  return false;
}

void
golden_wishes_set_minute(struct golden_wishes *wishes, int minute)
{
  CLEANUP(freep) char *schedule = xasprintf("%d */12 * * *", minute);
  for (size_t i = 0; i < wishes->count; i++) {
    if (needs_minute(&wishes->items[i]))
      json_put_text(wishes->items[i].object, schedule, "spec", "schedule");
  }
}

int
golden_wish_minute(const struct kube_object *config_map)
{
  const char *text = json_text(config_map->json, "data", "minute");
  uint64_t minute;
  if (!text || text_to_u64(text, 10, &minute) < 0 || minute >= MINUTES)
    return GOLDEN_WISH_NO_MINUTE;
  return (int)minute;
}

int
golden_wish_minute_of(const char *uid)
{
  char hex[DIGEST_SHA256_HEX];
  digest_sha256_hex(uid, strlen(uid), hex);
  hex[8] = '\0'; /* far more than is needed for 60 to come about equally often */
  return (int)(strtoul(hex, NULL, 16) % MINUTES);
}
