/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/blob_pieces.h"

#include <string.h>

#include "lib/base/memory.h"

#define PIECE_FIRST_BYTES ((size_t)64 << 10)
#define PIECE_MAX_BYTES ((size_t)4 << 20)

struct blob_pieces {
  struct stream stream;
  struct blob_store *store;
  const struct oci_descriptor *blob;
  uint64_t asked; /* bytes of the blob that were asked for */
  char *piece;
  size_t piece_len;
  size_t given;      /* of the piece */
  size_t next_bytes; /* how large the next piece is to be */
};

static int
fetch(struct blob_pieces *pieces, struct error **err)
{
  uint64_t left = pieces->blob->size - pieces->asked;
  size_t len = left < pieces->next_bytes ? (size_t)left : pieces->next_bytes;
  pieces->piece_len = pieces->given = 0;
  pieces->piece = xrealloc(pieces->piece, len, 1);
  if (pieces->store->ops->read_at(pieces->store, pieces->blob, pieces->piece, len, pieces->asked,
                                  err) < 0)
    return -1;
  pieces->asked += len;
  pieces->piece_len = len;
  if (pieces->next_bytes < PIECE_MAX_BYTES)
    pieces->next_bytes *= 2;
  return 0;
}

static ssize_t
pieces_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct blob_pieces *pieces = CONTAINER_OF(stream, struct blob_pieces, stream);
  if (pieces->given == pieces->piece_len) {
    if (len == 0 || pieces->asked == pieces->blob->size)
      return 0;
    if (fetch(pieces, err) < 0)
      return -1;
  }
  size_t left = pieces->piece_len - pieces->given;
  size_t take = len < left ? len : left;
  memcpy(buf, pieces->piece + pieces->given, take);
  pieces->given += take;
  return (ssize_t)take;
}

static void
pieces_close(struct stream *stream)
{
  struct blob_pieces *pieces = CONTAINER_OF(stream, struct blob_pieces, stream);
  free(pieces->piece);
  free(pieces);
}

static const struct stream_ops pieces_ops = {
    .name = BLOB_STREAM_NAME,
    .read = pieces_read,
    .close = pieces_close,
};

struct stream *
blob_pieces_stream(struct blob_store *store, const struct oci_descriptor *blob)
{
  struct blob_pieces *pieces = xcalloc(1, sizeof(*pieces));
  pieces->stream.ops = &pieces_ops;
  pieces->store = store;
  pieces->blob = blob;
  pieces->next_bytes = PIECE_FIRST_BYTES;
  return &pieces->stream;
}
