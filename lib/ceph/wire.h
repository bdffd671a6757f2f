/* SPDX-License-Identifier: Apache-2.0 */
/* Ceph's encoding of numbers, strings and versioned structures: little-endian, lengths in 32 bits.
 * This is what the rbd object class on the OSD speaks (see header.h for why we speak it too). A
 * reader never goes past its end: the first bad read marks it failed and all further ones give
 * zeros. */
#ifndef LIB_CEPH_WIRE_H
#define LIB_CEPH_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire_writer {
  char *data;
  size_t len;
};

void wire_put_u8(struct wire_writer *w, uint8_t value);
void wire_put_u32(struct wire_writer *w, uint32_t value);
void wire_put_u64(struct wire_writer *w, uint64_t value);
void wire_put_string(struct wire_writer *w, const char *s);
/* A versioned structure: the version it is written with, the oldest that can read it, its fields.
 */
void wire_put_struct(struct wire_writer *w, uint8_t version, uint8_t compat,
                     const struct wire_writer *body);
void wire_writer_clear(struct wire_writer *w);

struct wire_reader {
  const char *at;
  size_t left;
  bool failed;
};

uint8_t wire_get_u8(struct wire_reader *r);
uint32_t wire_get_u32(struct wire_reader *r);
uint64_t wire_get_u64(struct wire_reader *r);
/* A copy with a NUL behind it; NULL when the reader failed. */
char *wire_get_string(struct wire_reader *r);
/* Enters a versioned structure: *ret_body reads its fields, r goes on behind it. Fields that a
 * newer release added at the end are thus passed over. */
void wire_get_struct(struct wire_reader *r, struct wire_reader *ret_body);

#endif
