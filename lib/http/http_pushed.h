/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a request that is pushed piece by piece, as whoever makes it gets on. curl asks for
 * more when it has sent what it had; when there is nothing yet, it is paused until the next piece.
 * Belongs to lib/http. */
#ifndef LIB_HTTP_HTTP_PUSHED_H
#define LIB_HTTP_HTTP_PUSHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_pushed {
  uint64_t len;     /* of the whole body */
  uint64_t given;   /* of it, to curl */
  const char *data; /* the piece under way: what curl has not taken of it */
  size_t data_len;
  bool is_wanted; /* curl has asked for the body: nobody refused before it was sent */
  bool is_paused; /* curl has asked when there was nothing */
};

/* curl's read callback; `arg` is the pushed. */
size_t http_pushed_read(char *buf, size_t size, size_t count, void *arg);

#endif
