/* SPDX-License-Identifier: Apache-2.0 */
/* A checksum over bytes in order, which can be saved in the middle and gone on with by another
 * process. */
#ifndef POPULATOR_TRANSFER_CHECKSUM_H
#define POPULATOR_TRANSFER_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buffer.h"
#include "lib/base/error.h"
#include "lib/ceph/wire.h"

/* "sha512:" and 128 digits. */
#define CHECKSUM_TEXT_MAX 160
/* In place of one that is wanted: it is to be told, there is none to compare it with. */
#define CHECKSUM_ASKED "sha256"

enum checksum_kind { CHECKSUM_SHA256, CHECKSUM_SHA512 };

struct checksum {
  enum checksum_kind kind;
  /* The hash functions' own state; large enough for each and plain data. */
  union {
    uint64_t align;
    unsigned char bytes[256];
  } state;
};

/* Of the kind that the text "sha256:…" or "sha512:…" asks for; INVALID_ARGUMENT when it is neither.
 */
int checksum_parse(const char *text, enum checksum_kind *ret_kind, struct error **err);
/* The same of a text that a person wrote, with digits of either case. *ret_text has small ones. */
int checksum_from_text(const char *text, char ret_text[CHECKSUM_TEXT_MAX], struct error **err);
/* The kind of a text that was parsed before, or of CHECKSUM_ASKED. */
enum checksum_kind checksum_kind_of(const char *wanted);

void checksum_init(struct checksum *checksum, enum checksum_kind kind);
void checksum_update(struct checksum *checksum, const void *data, size_t len);
/* "sha256:0123…"; the checksum itself can go on. */
void checksum_text(const struct checksum *checksum, char ret_text[CHECKSUM_TEXT_MAX]);
/* DATA_LOSS when it is another one than `wanted`. */
int checksum_check(const struct checksum *checksum, const char *wanted, struct error **err);

void checksum_save(const struct checksum *checksum, struct buffer *state);
/* Marks the reader failed when the state is not one. */
void checksum_restore(struct wire_reader *state, struct checksum *ret_checksum);

#endif
