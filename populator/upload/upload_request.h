/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a request, read strictly: whatever is not understood is refused, never guessed. */
#ifndef POPULATOR_UPLOAD_UPLOAD_REQUEST_H
#define POPULATOR_UPLOAD_UPLOAD_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "populator/controllers/upload_kind.h"

/* Fields as they were sent; NULL: not at all. */
struct upload_head {
  const char *method;
  const char *path; /* decoded */
  const char *authorization;
  const char *content_length;
  const char *transfer_encoding;
  const char *content_range;
  const char *checksum;
  const char *prefer;
};

struct upload_request {
  const struct upload_kind *kind; /* of what it is sent to */
  char *ns;
  char *name;        /* of an image, or … */
  bool is_export;    /* … of an export, which is asked for */
  bool is_head;      /* … but not its bytes */
  const char *token; /* in the head */
  bool is_put;       /* else it is asked how far the upload is */
  /* Of a PUT: bytes first to first + length - 1 of a file of `total` bytes. */
  uint64_t first;
  uint64_t length;
  uint64_t total;
  const char *checksum; /* "sha256:…", in the head, or NULL */
  unsigned wait_s;      /* for the image to be ready, before it is answered */
};

#define UPLOAD_WAIT_MAX_S 600

/* Whether a PUT does not tell how much is sent: then it is refused, with INVALID_ARGUMENT. */
bool upload_request_lacks_length(const struct upload_head *head);

/* NOT_FOUND for another path, UNIMPLEMENTED for another method, UNAUTHENTICATED without a token,
 * INVALID_ARGUMENT naming the field. */
int upload_request_parse(const struct upload_head *head, struct upload_request *ret_request,
                         struct error **err);
void upload_request_clear(struct upload_request *request);

#endif
