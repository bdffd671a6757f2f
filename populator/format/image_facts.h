/* SPDX-License-Identifier: Apache-2.0 */
/* What an image file says of itself, for people to read. Unlike the readers that import, it takes
 * what it is told as it is: the file need not be sound, nor of a kind that can be imported. Only a
 * few bytes are looked at, most of them the first ones. */
#ifndef POPULATOR_FORMAT_IMAGE_FACTS_H
#define POPULATOR_FORMAT_IMAGE_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"
#include "populator/format/probe.h"

#define IMAGE_SIZE_UNKNOWN UINT64_MAX

struct image_facts {
  uint64_t virtual_size;   /* of the disk; IMAGE_SIZE_UNKNOWN: it is not said, or not understood */
  uint64_t cluster_size;   /* in which the disk is allocated; 0: it is not */
  char *variant;           /* "version 3", "streamOptimized"; NULL: there is only one */
  const char *compression; /* of clusters that are compressed: "zlib"; NULL: there cannot be any */
  const char *encryption;  /* "LUKS", "AES"; NULL: none */
  char *
      backing_file; /* that the disk depends on; "" when it has no name; NULL: it depends on none */
  char *backing_format; /* NULL: not said */
  char *data_file;      /* that holds the disk in place of this one, as above */
  uint64_t snapshot_count;
  bool is_dirty;
  bool is_corrupt;
  bool has_subclusters;
  bool has_lazy_refcounts;
};

struct image_facts_input {
  /* Up to len bytes from offset on: fewer where the file ends, or where it cannot be looked at. */
  ssize_t (*read)(void *context, void *buf, size_t len, uint64_t offset, struct error **err);
  void *context;
};

/* What it is was probed before. Fails only when reading does. Texts are fit for a terminal. */
int image_facts_read(enum probe_format format, const struct image_facts_input *input,
                     struct image_facts *ret_facts, struct error **err);
void image_facts_clear(struct image_facts *facts);

#endif
