/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_response.h"

#include <stdlib.h>

#include "lib/http/http_error.h"

void
http_response_clear(struct http_response *response)
{
  buffer_clear(&response->body);
  free(response->etag);
  free(response->last_modified);
  free(response->content_type);
  free(response->content_encoding);
  free(response->location);
  free(response->url);
  free(response->www_authenticate);
  free(response->docker_digest);
  free(response->upload_range);
  *response = (struct http_response){0};
}

int
http_status_error(const struct http_request *request, const struct http_response *response,
                  struct error **err)
{
  CLEANUP(freep) char *label = http_request_label(request);
  return http_status_error_set(err, response->status, label, &response->body);
}
