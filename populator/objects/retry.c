/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/objects/retry.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/kube/kube_time.h"
#include "populator/objects/kinds.h"

#define DOUBLINGS_MAX 8
#define MOMENT_S 2 /* the time is in whole seconds: one of them at least */

bool
retry_may_pass(enum error_code code)
{
  return code == ERROR_UNAVAILABLE || code == ERROR_DEADLINE_EXCEEDED || code == ERROR_ABORTED ||
         code == ERROR_CANCELLED || code == ERROR_RESOURCE_EXHAUSTED || code == ERROR_UNKNOWN;
}

static time_t
pause_s(int64_t failures)
{
  return (time_t)1 << (failures < DOUBLINGS_MAX ? failures : DOUBLINGS_MAX);
}

/* What was asked for until now is done with. */
static void
put_request(const struct kube_object *object, struct json_object *status)
{
  const char *asked = kube_object_annotation(object, ANNOTATION_RETRY);
  if (asked)
    json_put_text(status, asked, "lastRetryRequest");
}

static void
put_time(const struct kube_object *object, time_t at, char text[KUBE_TIME_BYTES],
         struct json_object *status)
{
  json_put_text(status, kube_time_text(at, text), "retryAt");
  put_request(object, status);
}

char *
retry_put(const struct kube_object *object, int64_t failures, const char *reason,
          struct json_object *status)
{
  char at[KUBE_TIME_BYTES];
  put_time(object, time(NULL) + pause_s(failures), at, status);
  return xasprintf("attempt %" PRId64 " failed, the next one is at %s: %s", failures, at, reason);
}

void
retry_pause(const struct kube_object *object, struct json_object *status)
{
  char at[KUBE_TIME_BYTES];
  put_time(object, time(NULL) + MOMENT_S, at, status);
}

void
retry_clear(const struct kube_object *object, struct json_object *status)
{
  json_object_object_add(status, "retryAt", NULL);
  put_request(object, status);
}

bool
retry_is_asked(const struct kube_object *object)
{
  const char *asked = kube_object_annotation(object, ANNOTATION_RETRY);
  const char *done = json_text(object->json, "status", "lastRetryRequest");
  return asked && (!done || strcmp(asked, done) != 0);
}

int64_t
retry_wait_ms(const struct kube_object *object)
{
  struct json_object *seen = json_at(object->json, "status", "observedGeneration");
  time_t at;
  if (kube_time_parse(json_text(object->json, "status", "retryAt"), &at) < 0 ||
      retry_is_asked(object) || (seen && json_object_get_int64(seen) != object->generation))
    return 0;
  struct timespec now;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  int64_t wait_ms = ((int64_t)at - (int64_t)now.tv_sec) * 1000 - now.tv_nsec / 1000000;
  /* A clock may have been wrong when it was written. */
  int64_t longest_ms = (int64_t)pause_s(DOUBLINGS_MAX) * 1000;
  return wait_ms < 0 ? 0 : wait_ms < longest_ms ? wait_ms : longest_ms;
}
