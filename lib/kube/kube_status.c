/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "lib/kube/kube_client.h"

static const struct {
  const char *reason;
  enum error_code code;
} reasons[] = {
    {"NotFound", ERROR_NOT_FOUND},
    {"AlreadyExists", ERROR_ALREADY_EXISTS},
    {"Conflict", ERROR_ABORTED},
    {"Expired", ERROR_OUT_OF_RANGE},
    {"Gone", ERROR_OUT_OF_RANGE},
    {"Invalid", ERROR_INVALID_ARGUMENT},
    {"BadRequest", ERROR_INVALID_ARGUMENT},
    {"Forbidden", ERROR_PERMISSION_DENIED},
    {"Unauthorized", ERROR_UNAUTHENTICATED},
    {"MethodNotAllowed", ERROR_UNIMPLEMENTED},
};

static const struct {
  long status;
  enum error_code code;
} statuses[] = {
    {400, ERROR_INVALID_ARGUMENT}, {401, ERROR_UNAUTHENTICATED}, {403, ERROR_PERMISSION_DENIED},
    {404, ERROR_NOT_FOUND},        {405, ERROR_UNIMPLEMENTED},   {409, ERROR_ABORTED},
    {410, ERROR_OUT_OF_RANGE},     {415, ERROR_UNIMPLEMENTED},   {422, ERROR_INVALID_ARGUMENT},
};

static enum error_code
code_of(const char *reason, long http_status)
{
  for (size_t i = 0; reason && i < sizeof(reasons) / sizeof(reasons[0]); i++) {
    if (strcmp(reasons[i].reason, reason) == 0)
      return reasons[i].code;
  }
  for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
    if (statuses[i].status == http_status)
      return statuses[i].code;
  }
  return ERROR_UNAVAILABLE;
}

int
kube_status_error(struct json_object *status, long http_status, struct error **err)
{
  const char *message = json_text(status, "message");
  long code = json_number(status, "code") ? (long)json_number(status, "code") : http_status;
  if (message && *message)
    return error_set(err, code_of(json_text(status, "reason"), code), "%s", message);
  return error_set(err, code_of(json_text(status, "reason"), code),
                   "the API server answers with status %ld", code);
}
