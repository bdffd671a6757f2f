/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes in one direction, from the first to the last: a download, a pipe, what a decompressor or an
 * archive reader makes of another stream. Streams stack: each owns the one below it.
 * One thread at a time. */
#ifndef POPULATOR_SOURCE_STREAM_H
#define POPULATOR_SOURCE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/buffer.h"
#include "lib/base/error.h"

struct stream;
struct decoder_memory;

struct stream_ops {
  const char *name; /* "gzip", for messages and for checkpoints */
  /* Up to len bytes, may be short, 0 at the end, -1 on error. An end that comes too early (a
   * truncated file) is an error, never a 0. */
  ssize_t (*read)(struct stream *stream, void *buf, size_t len, struct error **err);
  /* Appends what another process needs to go on behind the last byte read; the lowest stream, the
   * offset to open its source at as a u64. It may read on from the stream below, which is saved
   * after it. RESOURCE_EXHAUSTED: not here, perhaps further on; the stream itself is sound and can
   * be read. NULL where it cannot be done; then an import that is killed starts this stream from
   * its beginning again. */
  int (*save)(struct stream *stream, struct buffer *state, struct error **err);
  /* Passes over exactly len bytes without reading them. NULL where they have to be read. */
  int (*skip)(struct stream *stream, uint64_t len, struct error **err);
  /* Frees the stream and the one below it. */
  void (*close)(struct stream *stream);
  /* Of a decompressor: how many whole files, each with an end of its own, it has read one behind
   * the other: members of gzip, streams of xz, frames of zstd. NULL for all others. */
  uint64_t (*count)(struct stream *stream);
  /* Of a decompressor whose files say how much memory it needs: what it shares with the others of
   * the stack. NULL for all others. */
  struct decoder_memory *(*memory)(struct stream *stream);
};

/* First member of every stream. */
struct stream {
  const struct stream_ops *ops;
  struct stream *below; /* NULL for one that reads a source */
};

ssize_t stream_read(struct stream *stream, void *buf, size_t len, struct error **err);
/* Exactly len bytes; a stream that ends before is an error (ERROR_DATA_LOSS). */
int stream_read_full(struct stream *stream, void *buf, size_t len, struct error **err);
/* As many bytes as there are up to len: less only at the end. */
ssize_t stream_read_most(struct stream *stream, void *buf, size_t len, struct error **err);
/* Passes over exactly len bytes; a stream that ends before is an error (ERROR_DATA_LOSS). */
int stream_skip(struct stream *stream, uint64_t len, struct error **err);
void stream_close(struct stream *stream);
DEFINE_CLEANUP(struct stream *, stream_close)

/* Whether every stream of the stack can be saved. */
bool stream_can_save(const struct stream *stream);
/* Saves the stack, the lowest first, each with its name in front. */
int stream_save(struct stream *stream, struct buffer *state, struct error **err);

#endif
