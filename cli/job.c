/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/job.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/base/buffer.h"

#define JOB_MAX_BYTES ((size_t)4 << 20)

int
job_read(char **ret_json, size_t *ret_len, struct error **err)
{
  struct buffer text = {.limit = JOB_MAX_BYTES};
  char chunk[16384];
  ssize_t got;
  while ((got = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0 &&
         buffer_append(&text, chunk, (size_t)got))
    ;
  if (got == 0 && text.len > 0) {
    *ret_json = text.data;
    *ret_len = text.len;
    return 0;
  }
  buffer_clear(&text);
  if (got < 0)
    return error_set_errno(err, errno, "read standard input");
  return error_set(err, ERROR_INVALID_ARGUMENT, "%s",
                   got == 0 ? "standard input is empty" : "it is too large");
}

void
job_print_failure(const struct error *failure)
{
  struct json_object *object = json_object_new_object();
  json_object_object_add(object, "event", json_object_new_string("failed"));
  json_object_object_add(object, "code", json_object_new_int((int)failure->code));
  json_object_object_add(object, "reason", json_object_new_string(error_code_name(failure->code)));
  json_object_object_add(object, "message", json_object_new_string(failure->message));
  (void)printf("%s\n", json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
  (void)fflush(stdout);
  json_object_put(object);
}
