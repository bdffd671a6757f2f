/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/kube/watch_event.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/kube/kube_client.h"

static const struct {
  const char *name;
  enum watch_event_type type;
} types[] = {
    {"ADDED", WATCH_PUT},
    {"MODIFIED", WATCH_PUT},
    {"DELETED", WATCH_GONE},
    {"BOOKMARK", WATCH_BOOKMARK},
};

static int
type_of(const char *name, enum watch_event_type *ret_type, struct error **err)
{
  for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
    if (strcmp(types[i].name, name) == 0) {
      *ret_type = types[i].type;
      return 0;
    }
  }
  return error_set(err, ERROR_UNAVAILABLE, "the watch tells of a '%.32s', which is unknown", name);
}

int
watch_event_parse(const char *line, size_t len, struct watch_event *ret_event, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *json = NULL;
  if (json_parse(line, len, &json, err) < 0)
    return error_wrap(err, "a line of the watch");
  const char *name = json_text(json, "type");
  struct json_object *object = json_at(json, "object");
  const char *version = json_text(object, "metadata", "resourceVersion");
  if (name && strcmp(name, "ERROR") == 0)
    return kube_status_error(object, 0, err);
  struct watch_event event = {0};
  if (!name || !version)
    return error_set(err, ERROR_UNAVAILABLE, "a line of the watch is no event");
  if (type_of(name, &event.type, err) < 0)
    return -1;
  event.version = xstrdup(version);
  if (event.type != WATCH_BOOKMARK)
    event.object = kube_object_new(json_object_get(object));
  if (event.type != WATCH_BOOKMARK && !event.object) {
    watch_event_clear(&event);
    return error_set(err, ERROR_UNAVAILABLE, "an object of the watch has no name");
  }
  *ret_event = event;
  return 0;
}

void
watch_event_clear(struct watch_event *event)
{
  kube_object_release(event->object);
  free(event->version);
  *event = (struct watch_event){0};
}
