/* SPDX-License-Identifier: Apache-2.0 */
/* The content of an image that is read front to back: pieces of the disk, in the order in which the
 * file holds them. raw and qcow2 answer; the stream engine (import_stream.h) asks. One thread. */
#ifndef POPULATOR_TRANSFER_CONTENT_STREAM_H
#define POPULATOR_TRANSFER_CONTENT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buffer.h"
#include "lib/base/error.h"
#include "populator/source/stream.h"

/* Room that next() is given. */
#define CONTENT_ROOM_BYTES ((size_t)7 << 20)

struct content_piece {
  uint64_t offset;  /* on the disk */
  size_t len;       /* 0: the end */
  const char *data; /* in the room that was given, or, good until the next call, elsewhere */
  bool is_zero;     /* all of it; not every piece of zeros is known to be one */
};

struct content_stream;

struct content_stream_ops {
  const char *name; /* "qcow2" */
  /* The next piece, which ends where an object of RBD ends if that can be. At the end everything
   * has been checked that the format and the streams below can check: a file that ends too early is
   * an error. */
  int (*next)(struct content_stream *content, char *room, struct content_piece *ret_piece,
              struct error **err);
  /* Appends what another process needs to go on behind the last piece; the streams below are saved
   * after it. */
  int (*save)(struct content_stream *content, struct buffer *state, struct error **err);
  /* Frees it with the streams below. */
  void (*close)(struct content_stream *content);
};

#define CONTENT_SIZE_UNKNOWN UINT64_MAX

/* First member of every content stream. */
struct content_stream {
  const struct content_stream_ops *ops;
  uint64_t virtual_size; /* CONTENT_SIZE_UNKNOWN: the end tells (raw in a compressed file) */
  struct stream *below;  /* what it reads from; the content owns it */
};

void content_stream_close(struct content_stream *content);
DEFINE_CLEANUP(struct content_stream *, content_stream_close)

#endif
