/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/objects/condition.h"

#include <string.h>

#include "lib/kube/kube_time.h"

#define TYPE "ReadyToUse"

static struct json_object *
find(const struct kube_object *object)
{
  struct json_object *list = json_at(object->json, "status", "conditions");
  for (size_t i = 0; i < json_count(list); i++) {
    const char *type = json_text(json_item(list, i), "type");
    if (type && strcmp(type, TYPE) == 0)
      return json_item(list, i);
  }
  return NULL;
}

struct json_object *
condition_status(const struct kube_object *object, const struct verdict *verdict)
{
  const char *status = verdict->is_ready ? "True" : "False";
  struct json_object *before = find(object);
  const char *was = json_text(before, "status");
  const char *since = json_text(before, "lastTransitionTime");
  char now[KUBE_TIME_BYTES];
  if (!was || !since || strcmp(was, status) != 0)
    since = kube_time_text(time(NULL), now);

  struct json_object *condition = json_object_new_object();
  json_put_text(condition, TYPE, "type");
  json_put_text(condition, status, "status");
  json_put_text(condition, verdict->reason, "reason");
  json_put_text(condition, verdict->message ? verdict->message : "", "message");
  json_put_text(condition, since, "lastTransitionTime");
  json_put_at(condition, json_object_new_int64(object->generation), "observedGeneration");
  struct json_object *conditions = json_object_new_array();
  json_object_array_add(conditions, condition);

  struct json_object *result = json_object_new_object();
  json_put_text(result, verdict->state, "state");
  json_put_at(result, conditions, "conditions");
  json_put_at(result, json_object_new_int64(object->generation), "observedGeneration");
  return result;
}

void
condition_put_ready(const struct verdict *verdict, struct json_object *status)
{
  bool is_bad = strcmp(verdict->state, "Error") == 0;
  json_put_at(status, json_object_new_boolean(verdict->is_ready), "readyToUse");
  json_put_at(status, is_bad ? json_object_new_string(verdict->message) : NULL, "errorMessage");
}

const char *
condition_state(const struct kube_object *object)
{
  const char *state = json_text(object->json, "status", "state");
  return state ? state : "";
}

const char *
condition_message(const struct kube_object *object)
{
  const char *message = json_text(find(object), "message");
  return message ? message : "";
}
