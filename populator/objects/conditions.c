/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/objects/conditions.h"

#include <string.h>

#include "lib/kube/kube_time.h"

struct json_object *
conditions_find(const struct kube_object *object, const char *type)
{
  struct json_object *list = json_at(object->json, "status", "conditions");
  for (size_t i = 0; i < json_count(list); i++) {
    const char *name = json_text(json_item(list, i), "type");
    if (name && strcmp(name, type) == 0)
      return json_item(list, i);
  }
  return NULL;
}

bool
conditions_is_true(const struct kube_object *object, const char *type)
{
  const char *status = json_text(conditions_find(object, type), "status");
  return status && strcmp(status, "True") == 0;
}

static struct json_object *
row_json(const struct kube_object *object, const struct condition_row *row, const char *now)
{
  struct json_object *before = conditions_find(object, row->type);
  const char *status = row->is_true ? "True" : "False";
  const char *was = json_text(before, "status");
  const char *since = json_text(before, "lastTransitionTime");
  struct json_object *condition = json_object_new_object();
  json_put_text(condition, row->type, "type");
  json_put_text(condition, status, "status");
  json_put_text(condition, row->reason, "reason");
  json_put_text(condition, row->message ? row->message : "", "message");
  json_put_text(condition, was && since && strcmp(was, status) == 0 ? since : now,
                "lastTransitionTime");
  return condition;
}

struct json_object *
conditions_json(const struct kube_object *object, const struct condition_row *rows, size_t count)
{
  char now[KUBE_TIME_BYTES];
  (void)kube_time_text(time(NULL), now);
  struct json_object *list = json_object_new_array();
  for (size_t i = 0; i < count; i++)
    json_object_array_add(list, row_json(object, &rows[i], now));
  return list;
}
