/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of a tar archive that say what follows: ustar headers with the extensions of GNU, and
 * the records of pax. Pure: bytes in, values out, everything checked. */
#ifndef POPULATOR_SOURCE_TAR_HEADER_H
#define POPULATOR_SOURCE_TAR_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#define TAR_BLOCK ((size_t)512)
/* prefix, '/', name, NUL */
#define TAR_HEADER_NAME_MAX (155 + 1 + 100 + 1)
/* The longest path that a Linux system opens, with its NUL. */
#define TAR_PATH_MAX ((size_t)4096)

struct tar_header {
  char type; /* as in the archive: '0' … '7', 'x', 'g', 'L', 'K', 'S' …; '\0' is made '0' */
  char name[TAR_HEADER_NAME_MAX];
  char link[100 + 1];
  uint64_t size;    /* at most INT64_MAX */
  bool is_extended; /* of type 'S': a block that goes on with the map of holes follows */
};

/* Whether the block holds zeros only: two of them end an archive. */
bool tar_header_is_end(const unsigned char block[TAR_BLOCK]);
/* INVALID_ARGUMENT when the block is not a header. */
int tar_header_decode(const unsigned char block[TAR_BLOCK], struct tar_header *ret_header,
                      struct error **err);
/* Whether such a block of a map of holes is followed by another one. */
bool tar_header_map_goes_on(const unsigned char block[TAR_BLOCK]);

/* What stands in front of a header and counts in place of its fields; NULL and false: nothing. */
struct tar_overrides {
  char *path;
  char *link;
  bool has_size;
  uint64_t size;
  bool is_sparse;
};

/* The records of a pax header ("27 path=…\n") on top of what is there. */
int tar_overrides_add_pax(struct tar_overrides *overrides, const char *data, size_t len,
                          struct error **err);
void tar_overrides_clear(struct tar_overrides *overrides);

#endif
