/* SPDX-License-Identifier: Apache-2.0 */
/* The name of an event is made of what it says, so that saying it again finds it. */
#include "lib/kube/kube_event.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/recent.h"
#include "lib/kube/kube_time.h"
#include "lib/kube/kube_write.h"

#define QUIET_MS 60000
/* Of what was said last, how much is remembered. */
#define RECENT 256
/* The server takes 1024 bytes. */
#define MESSAGE_MAX 1000
#define NAME_MAX_BYTES 200

struct kube_events {
  struct kube_client *client;
  const char *component;
  struct recent *recent;
};

struct saying {
  const struct kube_kind *kind;
  const struct kube_object *about;
  enum kube_event_type type;
  const char *reason;
  const char *message;
  char digest[DIGEST_SHA256_HEX];
};

struct kube_events *
kube_events_new(struct kube_client *client, const char *component)
{
  struct kube_events *events = xcalloc(1, sizeof(*events));
  events->client = client;
  events->component = component;
  events->recent = recent_new(RECENT, QUIET_MS);
  return events;
}

void
kube_events_free(struct kube_events *events)
{
  if (!events)
    return;
  recent_free(events->recent);
  free(events);
}

static struct json_object *
involved(const struct saying *saying)
{
  CLEANUP(freep) char *api_version = kube_kind_api_version(saying->kind);
  struct json_object *object = json_object_new_object();
  json_put_text(object, api_version, "apiVersion");
  json_put_text(object, saying->kind->kind, "kind");
  if (*saying->about->ns)
    json_put_text(object, saying->about->ns, "namespace");
  json_put_text(object, saying->about->name, "name");
  json_put_text(object, saying->about->uid, "uid");
  json_put_text(object, saying->about->version, "resourceVersion");
  return object;
}

static struct json_object *
event_of(const struct kube_events *events, const struct saying *saying, const char *name)
{
  const char *ns = *saying->about->ns ? saying->about->ns : "default";
  char now[KUBE_TIME_BYTES];
  (void)kube_time_text(time(NULL), now);
  struct json_object *event = json_object_new_object();
  json_put_text(event, ns, "metadata", "namespace");
  json_put_text(event, name, "metadata", "name");
  json_put_at(event, involved(saying), "involvedObject");
  json_put_text(event, saying->reason, "reason");
  json_put_text(event, saying->message, "message");
  json_put_text(event, saying->type == KUBE_EVENT_WARNING ? "Warning" : "Normal", "type");
  json_put_text(event, events->component, "source", "component");
  json_put_text(event, now, "firstTimestamp");
  json_put_text(event, now, "lastTimestamp");
  json_put_at(event, json_object_new_int(1), "count");
  json_put_text(event, events->component, "reportingComponent");
  return event;
}

/* It is there: once more. */
static int
count_up(struct kube_events *events, const char *ns, const char *name, struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *event = NULL;
  if (kube_get(events->client, &kube_events, ns, name, &event, err) < 0)
    return -1;
  char now[KUBE_TIME_BYTES];
  CLEANUP(json_object_putp) struct json_object *patch = json_object_new_object();
  json_put_text(patch, kube_time_text(time(NULL), now), "lastTimestamp");
  json_put_at(patch, json_object_new_int64(json_number(event->json, "count") + 1), "count");
  return kube_patch(events->client, &kube_events, event, NULL, patch, err);
}

static int
write_event(struct kube_events *events, const struct saying *saying, struct error **err)
{
  CLEANUP(freep)
  char *name = xasprintf("%.*s.%.16s", NAME_MAX_BYTES, saying->about->name, saying->digest);
  CLEANUP(json_object_putp) struct json_object *event = event_of(events, saying, name);
  CLEANUP(error_freep) struct error *failure = NULL;
  if (kube_create(events->client, &kube_events, event, NULL, &failure) == 0)
    return 0;
  if (failure->code == ERROR_ALREADY_EXISTS)
    return count_up(events, json_text(event, "metadata", "namespace"), name, err);
  return error_set(err, failure->code, "%s", failure->message);
}

void
kube_event_tell(struct kube_events *events, const struct kube_kind *kind,
                const struct kube_object *about, enum kube_event_type type, const char *reason,
                const char *format, ...)
{
  va_list args;
  va_start(args, format);
  CLEANUP(freep) char *message = xvasprintf(format, args);
  va_end(args);
  if (strlen(message) > MESSAGE_MAX)
    message[MESSAGE_MAX] = '\0';
  CLEANUP(freep) char *all = xasprintf("%s\n%s\n%s", about->uid, reason, message);
  struct saying saying = {
      .kind = kind, .about = about, .type = type, .reason = reason, .message = message};
  if (!recent_add(events->recent, all))
    return;
  digest_sha256_hex(all, strlen(all), saying.digest);
  CLEANUP(error_freep) struct error *failure = NULL;
  if (write_event(events, &saying, &failure) < 0)
    log_warn("an event could not be written: %s", failure->message);
}
