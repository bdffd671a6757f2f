/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/upload/answer.h"

#include <inttypes.h>

#include "lib/base/memory.h"

#define RETRY_AFTER_S "5"

static unsigned
status_of(enum error_code code)
{
  switch (code) {
  case ERROR_INVALID_ARGUMENT:
    return 400;
  case ERROR_UNAUTHENTICATED:
    return 401;
  case ERROR_PERMISSION_DENIED:
    return 403;
  case ERROR_NOT_FOUND:
    return 404;
  case ERROR_UNIMPLEMENTED:
    return 405;
  case ERROR_FAILED_PRECONDITION:
  case ERROR_ABORTED:
    return 409;
  case ERROR_OUT_OF_RANGE:
    return 413;
  case ERROR_DATA_LOSS:
    return 422;
  case ERROR_UNAVAILABLE:
  case ERROR_RESOURCE_EXHAUSTED:
  case ERROR_DEADLINE_EXCEEDED:
  case ERROR_CANCELLED:
    return 503;
  default:
    return 500;
  }
}

void
answer_json(struct http_call *call, unsigned status, struct json_object *object)
{
  CLEANUP(freep)
  char *text =
      xasprintf("%s\n", json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
                                                                   JSON_C_TO_STRING_NOSLASHESCAPE));
  json_object_put(object);
  http_call_answer(call, status, "application/json", text);
}

void
answer_number(struct http_call *call, const char *name, uint64_t value)
{
  CLEANUP(freep) char *text = xasprintf("%" PRIu64, value);
  http_call_set_header(call, name, text);
}

void
answer_error_as(struct http_call *call, unsigned status, const char *methods,
                const struct error *failure)
{
  struct json_object *object = json_object_new_object();
  json_put_text(object, error_code_name(failure->code), "error");
  json_put_text(object, failure->message, "message");
  if (status == 401)
    http_call_set_header(call, "WWW-Authenticate", "Bearer");
  if (status == 405)
    http_call_set_header(call, "Allow", methods);
  if (status == 503 || failure->code == ERROR_ABORTED)
    http_call_set_header(call, "Retry-After", RETRY_AFTER_S);
  answer_json(call, status, object);
}

void
answer_error(struct http_call *call, const char *methods, const struct error *failure)
{
  answer_error_as(call, status_of(failure->code), methods, failure);
}
