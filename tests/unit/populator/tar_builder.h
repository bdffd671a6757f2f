/* SPDX-License-Identifier: Apache-2.0 */
/* Makes tar archives, right ones and wrong ones, in memory. */
#ifndef TESTS_UNIT_POPULATOR_TAR_BUILDER_H
#define TESTS_UNIT_POPULATOR_TAR_BUILDER_H

#include <stdint.h>

#include "lib/base/buffer.h"

/* A header; NULL and 0 leave a field empty. */
struct tar_fields {
  char type;
  const char *name;
  const char *link;
  const char *prefix;   /* of ustar */
  const char *size_raw; /* 12 bytes, in place of the size in octal */
  uint64_t size;
  bool is_gnu;      /* GNU's magic in place of ustar's */
  bool is_old;      /* no magic at all */
  bool is_extended; /* of type 'S' */
  bool wrong_sum;
  bool signed_sum;
};

void tar_build_header(struct buffer *archive, const struct tar_fields *fields);
/* The content and the zeros behind it. */
void tar_build_content(struct buffer *archive, const void *data, size_t len);
/* A whole entry; content may be NULL. */
void tar_build(struct buffer *archive, char type, const char *name, const char *link,
               const char *content);
/* A pax header with one record. */
void tar_build_pax(struct buffer *archive, const char *name, const char *value);
void tar_build_end(struct buffer *archive);

#endif
