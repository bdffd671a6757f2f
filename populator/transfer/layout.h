/* SPDX-License-Identifier: Apache-2.0 */
/* Where the content of an image lies in a file that can be read anywhere. The chunk engine
 * (import_chunks.h) asks it piece by piece; qcow2 and raw answer. */
#ifndef POPULATOR_TRANSFER_LAYOUT_H
#define POPULATOR_TRANSFER_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

/* No encoded extent, in the file or decoded, is longer; a plain one reaches at most this far beyond
 * the end of the piece of the file that was asked for. */
#define LAYOUT_OVERHANG_MAX ((size_t)(2 << 20) + 4096)

struct layout_extent {
  uint64_t virtual_offset;
  uint64_t file_offset;
  uint32_t file_len;
  uint32_t len;      /* of the content */
  bool is_encoded;   /* decode() makes content of it; else the bytes are the content */
  uint64_t internal; /* the layout's own */
};

/* Encoded extents that are decoded at once, at most. */
#define LAYOUT_PIECES_MAX 64

/* An encoded extent, its bytes, and room for its content. */
struct layout_piece {
  const struct layout_extent *extent;
  const void *bytes;
  void *content;
};

struct layout_extents {
  struct layout_extent *items; /* in the order of the file */
  size_t count;
  size_t room;
};

struct layout;

struct layout_ops {
  const char *name; /* "qcow2" */
  /* The extents whose bytes begin in [first, end) of the file. Holes and zeros have none. Replaces
   * what is in *extents, whose memory is used again. Any number of threads at once. */
  int (*extents)(struct layout *layout, uint64_t first, uint64_t end,
                 struct layout_extents *extents, struct error **err);
  /* The content of encoded extents: exactly extent->len bytes of each. The more of them at once,
   * the faster. Any number of threads at once. */
  int (*decode)(struct layout *layout, const struct layout_piece *pieces, size_t count,
                struct error **err);
  void (*close)(struct layout *layout);
};

/* First member of every layout. */
struct layout {
  const struct layout_ops *ops;
  uint64_t virtual_size;
};

void layout_extents_add(struct layout_extents *extents, const struct layout_extent *extent);
void layout_extents_clear(struct layout_extents *extents);
void layout_close(struct layout *layout);
DEFINE_CLEANUP(struct layout *, layout_close)

#endif
