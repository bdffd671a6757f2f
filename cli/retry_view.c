/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/retry_view.h"

#include <json-c/json.h>
#include <stdio.h>
#include <unistd.h>

/* One that is cured by the next attempt is nobody's concern. */
#define TOLD_FROM 2

static void
tell_person(unsigned attempt, const char *message)
{
  const char *cleared = isatty(STDERR_FILENO) ? "\r\033[K" : ""; /* of the line of progress */
  if (attempt >= TOLD_FROM)
    (void)fprintf(stderr, "%simprint: attempt %u failed, once more: %s\n", cleared, attempt,
                  message);
}

static void
tell_program(unsigned attempt, const char *message)
{
  struct json_object *object = json_object_new_object();
  (void)json_object_object_add(object, "event", json_object_new_string("retry"));
  (void)json_object_object_add(object, "attempt", json_object_new_uint64(attempt));
  (void)json_object_object_add(object, "message", json_object_new_string(message));
  (void)printf("%s\n", json_object_to_json_string_ext(object, JSON_C_TO_STRING_NOSLASHESCAPE));
  (void)fflush(stdout);
  json_object_put(object);
}

http_retry_listener *
retry_view(bool is_json)
{
  return is_json ? tell_program : tell_person;
}
