/* SPDX-License-Identifier: Apache-2.0 */
/* Sends one request with http_send() and prints the answer as one JSON object. Arguments: see
 * arguments.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/http/arguments.h"

static bool
is_short_text(const struct buffer *body)
{
  for (size_t i = 0; i < body->len; i++) {
    if (body->data[i] < ' ' || body->data[i] > '~')
      return false;
  }
  return body->len < 1024;
}

static void
print(const struct http_response *response)
{
  printf("{\"status\": %ld, \"length\": %zu, \"content_length\": %" PRIu64 ", ", response->status,
         response->body.len, response->content_length == UINT64_MAX ? 0 : response->content_length);
  arguments_print_text("body", is_short_text(&response->body) ? response->body.data : "(data)");
  printf(", ");
  arguments_print_text("location", response->location);
  printf(", ");
  arguments_print_text("url", response->url);
  printf(", ");
  arguments_print_text("www_authenticate", response->www_authenticate);
  printf(", ");
  arguments_print_text("content_type", response->content_type);
  printf("}\n");
}

int
main(int argc, char **argv)
{
  struct arguments arguments;
  arguments_parse(argc, argv, &arguments);
  CLEANUP(http_client_freep)
  struct http_client *client = http_client_new(&arguments.options.http);
  static const char *const headers[] = {"Accept: application/json", NULL};
  const struct http_request request = {.method = arguments.method,
                                       .url = arguments.url,
                                       .headers = headers,
                                       .body = arguments.body,
                                       .body_len = arguments.body ? strlen(arguments.body) : 0,
                                       .has_range = arguments.offset > 0,
                                       .range_offset = arguments.offset,
                                       .range_len = arguments.read_bytes,
                                       .max_body = arguments.max_body};
  struct http_response response = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  if (http_send(client, &request, &response, &err) < 0)
    return arguments_failed(err);
  print(&response);
  http_response_clear(&response);
  return 0;
}
