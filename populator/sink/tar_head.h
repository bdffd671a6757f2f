/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what stands around the files of a tar archive (ustar, with a pax header for what does not
 * fit). Pure, and nothing in it depends on when it is made: the time is the beginning of 1970. */
#ifndef POPULATOR_SINK_TAR_HEAD_H
#define POPULATOR_SINK_TAR_HEAD_H

#include <stdbool.h>

#include "lib/base/buffer.h"

struct tar_head {
  const char *name; /* shorter than 100 bytes; a folder's ends with a slash */
  unsigned mode;
  unsigned owner; /* user and group */
  uint64_t size;
  /* The size is in a pax header whatever it is, so that the length of the head is the same for
   * each; else only one above 8 GiB. */
  bool has_pax_size;
};

/* Everything in front of the file's first byte. */
void tar_head_add(const struct tar_head *entry, struct buffer *archive);
/* What makes a file of this size a whole number of blocks. */
void tar_head_pad(uint64_t size, struct buffer *archive);
/* Behind the last file. */
void tar_head_end(struct buffer *archive);

#endif
