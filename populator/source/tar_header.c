/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/tar_header.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"

/* Where the fields stand in the block. */
struct field {
  size_t offset;
  size_t len;
};

static const struct field field_name = {0, 100};
static const struct field field_size = {124, 12};
static const struct field field_checksum = {148, 8};
static const struct field field_type = {156, 1};
static const struct field field_link = {157, 100};
static const struct field field_magic = {257, 8};
static const struct field field_prefix = {345, 155};
static const struct field field_is_extended = {482, 1};     /* of a GNU header of type 'S' */
static const struct field field_real_size = {483, 12};      /* likewise */
static const struct field field_map_is_extended = {504, 1}; /* of the blocks behind it */

/* Maps of holes: pairs of numbers. */
#define MAP_NUMBER_LEN ((size_t)12)
#define MAP_HEADER_OFFSET ((size_t)386)
#define MAP_HEADER_PIECES 4
#define MAP_BLOCK_PIECES 21

bool
tar_header_is_end(const unsigned char block[TAR_BLOCK])
{
  static const unsigned char zeros[TAR_BLOCK];
  return memcmp(block, zeros, TAR_BLOCK) == 0;
}

/* ---- numbers -----------------------------------------------------------------------------------
 */

/* Octal digits, blanks in front, blanks or NULs behind; none at all are a 0. */
static int
decode_octal(const unsigned char *text, size_t len, uint64_t *ret_value)
{
  size_t i = 0;
  uint64_t value = 0;
  while (i < len && text[i] == ' ')
    i++;
  for (; i < len && text[i] >= '0' && text[i] <= '7'; i++)
    value = value * 8 + (uint64_t)(text[i] - '0'); /* 12 digits at most: 36 bits */
  for (; i < len; i++) {
    if (text[i] != ' ' && text[i] != '\0')
      return -1;
  }
  *ret_value = value;
  return 0;
}

/* GNU's way for what does not fit: the top bit set, then a big-endian number in all other bits. One
 * that is negative has the second bit set too. */
static int
decode_base256(const unsigned char *bytes, size_t len, uint64_t *ret_value)
{
  uint64_t value = bytes[0] & 0x7f;
  for (size_t i = 1; i < len; i++) {
    if (value > INT64_MAX >> 8)
      return -1;
    value = value << 8 | bytes[i];
  }
  if (bytes[0] & 0x40 || value > INT64_MAX)
    return -1;
  *ret_value = value;
  return 0;
}

static int
decode_number(const unsigned char *block, struct field field, uint64_t *ret_value)
{
  const unsigned char *text = block + field.offset;
  return text[0] & 0x80 ? decode_base256(text, field.len, ret_value)
                        : decode_octal(text, field.len, ret_value);
}

/* The first pair that is not filled in is the end. */
static int
decode_map(const unsigned char *block, size_t offset, size_t pieces, struct tar_map *map,
           struct error **err)
{
  for (size_t i = 0; i < pieces; i++) {
    const struct field at = {offset + i * 2 * MAP_NUMBER_LEN, MAP_NUMBER_LEN};
    const struct field length = {at.offset + MAP_NUMBER_LEN, MAP_NUMBER_LEN};
    uint64_t piece_at, piece_len;
    if (block[at.offset] == '\0' && block[length.offset] == '\0')
      return 0;
    if (decode_number(block, at, &piece_at) < 0 || decode_number(block, length, &piece_len) < 0)
      return error_set(err, ERROR_INVALID_ARGUMENT,
                       "tar archive: the map of a sparse file is not made of numbers");
    if (tar_map_add(map, piece_at, piece_len, err) < 0)
      return -1;
  }
  return 0;
}

int
tar_header_map(const unsigned char block[TAR_BLOCK], struct tar_map *map, struct error **err)
{
  return decode_map(block, MAP_HEADER_OFFSET, MAP_HEADER_PIECES, map, err);
}

int
tar_header_map_more(const unsigned char block[TAR_BLOCK], struct tar_map *map, bool *ret_goes_on,
                    struct error **err)
{
  *ret_goes_on = block[field_map_is_extended.offset] != 0;
  return decode_map(block, 0, MAP_BLOCK_PIECES, map, err);
}

/* The sum of all bytes, with blanks in place of the sum itself. Some old programs added the bytes
 * as signed characters. */
static bool
is_sum_right(const unsigned char block[TAR_BLOCK])
{
  uint64_t wanted;
  if (decode_octal(block + field_checksum.offset, field_checksum.len, &wanted) < 0)
    return false;
  int64_t plain = 0, as_signed = 0;
  for (size_t i = 0; i < TAR_BLOCK; i++) {
    bool is_sum = i - field_checksum.offset < field_checksum.len;
    plain += is_sum ? ' ' : block[i];
    as_signed += is_sum ? ' ' : (signed char)block[i];
  }
  return (int64_t)wanted == plain || (int64_t)wanted == as_signed;
}

/* ---- headers -----------------------------------------------------------------------------------
 */

/* A text field, which has a NUL at its end only where there is room; returns its length. */
static size_t
copy_text(char *to, const unsigned char *block, struct field field)
{
  size_t len = strnlen((const char *)block + field.offset, field.len);
  memcpy(to, block + field.offset, len);
  to[len] = '\0';
  return len;
}

/* Only ustar proper has a prefix: GNU and the oldest archives keep other things there. */
static void
copy_name(char *to, const unsigned char *block)
{
  size_t at = 0;
  if (memcmp(block + field_magic.offset, "ustar\00000", field_magic.len) == 0)
    at = copy_text(to, block, field_prefix);
  if (at > 0)
    to[at++] = '/';
  (void)copy_text(to + at, block, field_name);
}

int
tar_header_decode(const unsigned char block[TAR_BLOCK], struct tar_header *ret_header,
                  struct error **err)
{
  if (!is_sum_right(block))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "not a tar archive, or a damaged one: the sum of a header is wrong");
  struct tar_header header = {.type = (char)block[field_type.offset]};
  copy_name(header.name, block);
  (void)copy_text(header.link, block, field_link);
  if (decode_number(block, field_size, &header.size) < 0)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "tar entry '%s': its size is not a number, negative or too large",
                     header.name);
  if (header.type == '\0')
    header.type = '0';
  header.is_extended = header.type == 'S' && block[field_is_extended.offset] != 0;
  if (header.type == 'S' && decode_number(block, field_real_size, &header.real_size) < 0)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "tar entry '%s': its size with holes is not a number", header.name);
  *ret_header = header;
  return 0;
}

/* ---- pax ---------------------------------------------------------------------------------------
 */

static int
bad_record(const char *what, struct error **err)
{
  return error_set(err, ERROR_INVALID_ARGUMENT, "tar archive: a pax record %s", what);
}

/* Copies a value that becomes a string. An empty one takes back what was said before. */
static int
set_text(char **member, const char *value, size_t len, struct error **err)
{
  if (memchr(value, '\0', len))
    return bad_record("holds a NUL", err);
  if (len >= TAR_PATH_MAX)
    return bad_record("has a path that is too long", err);
  free(*member);
  *member = len > 0 ? xstrndup(value, len) : NULL;
  return 0;
}

/* An empty one takes back what was said before. */
static int
set_number(bool *has_number, uint64_t *number, const char *value, size_t len, struct error **err)
{
  char digits[24];
  if (len >= sizeof(digits) || memchr(value, '\0', len))
    return bad_record("has a size that is no number", err);
  memcpy(digits, value, len);
  digits[len] = '\0';
  *has_number = len > 0;
  *number = 0;
  if (len > 0 && (text_to_u64(digits, 10, number) < 0 || *number > INT64_MAX))
    return bad_record("has a size that is no number, negative or too large", err);
  return 0;
}

static int
add_piece(struct tar_overrides *overrides, const char *value, size_t len, struct error **err)
{
  bool has_len;
  uint64_t piece_len;
  if (set_number(&has_len, &piece_len, value, len, err) < 0)
    return -1;
  if (!overrides->has_offset || !has_len)
    return bad_record("has a piece of a sparse file without its offset or length", err);
  overrides->has_offset = false;
  return tar_map_add(&overrides->map, overrides->offset, piece_len, err);
}

/* "GNU.sparse.…", of which the rest is `name`. */
static int
add_sparse(struct tar_overrides *overrides, const char *name, const char *value, size_t len,
           struct error **err)
{
  overrides->is_sparse = true;
  if (strcmp(name, "size") == 0 || strcmp(name, "realsize") == 0)
    return set_number(&overrides->has_real_size, &overrides->real_size, value, len, err);
  if (strcmp(name, "offset") == 0)
    return set_number(&overrides->has_offset, &overrides->offset, value, len, err);
  if (strcmp(name, "numbytes") == 0)
    return add_piece(overrides, value, len, err);
  if (strcmp(name, "map") == 0)
    return tar_map_add_list(&overrides->map, value, len, err);
  if (strcmp(name, "name") == 0)
    return set_text(&overrides->real_path, value, len, err);
  if (strcmp(name, "major") == 0) {
    overrides->is_map_inside = len == 1 && value[0] == '1';
    return len == 1 && (value[0] == '0' || value[0] == '1')
               ? 0
               : bad_record("has a sparse file of a version that is not known", err);
  }
  return 0;
}

static int
add_record(struct tar_overrides *overrides, const char *record, size_t len, struct error **err)
{
  const char *sign = memchr(record, '=', len);
  if (!sign || sign == record)
    return bad_record("has no name", err);
  size_t name_len = (size_t)(sign - record);
  const char *value = sign + 1;
  size_t value_len = len - name_len - 1;
  if (name_len == 4 && memcmp(record, "path", 4) == 0)
    return set_text(&overrides->path, value, value_len, err);
  if (name_len == 8 && memcmp(record, "linkpath", 8) == 0)
    return set_text(&overrides->link, value, value_len, err);
  if (name_len == 4 && memcmp(record, "size", 4) == 0)
    return set_number(&overrides->has_size, &overrides->size, value, value_len, err);
  static const char sparse[] = "GNU.sparse.";
  size_t sparse_len = sizeof(sparse) - 1;
  if (name_len < sparse_len || memcmp(record, sparse, sparse_len) != 0)
    return 0;
  CLEANUP(freep) char *name = xstrndup(record + sparse_len, name_len - sparse_len);
  return add_sparse(overrides, name, value, value_len, err);
}

int
tar_overrides_add_pax(struct tar_overrides *overrides, const char *data, size_t len,
                      struct error **err)
{
  while (len > 0) {
    size_t record_len = 0, digits = 0;
    for (; digits < len && digits < 8 && data[digits] >= '0' && data[digits] <= '9'; digits++)
      record_len = record_len * 10 + (size_t)(data[digits] - '0');
    if (digits == 0 || digits == len || data[digits] != ' ' || record_len > len ||
        record_len < digits + 2 || data[record_len - 1] != '\n')
      return bad_record("does not say its own length", err);
    if (add_record(overrides, data + digits + 1, record_len - digits - 2, err) < 0)
      return -1;
    data += record_len;
    len -= record_len;
  }
  return 0;
}

void
tar_overrides_clear(struct tar_overrides *overrides)
{
  free(overrides->path);
  free(overrides->link);
  free(overrides->real_path);
  tar_map_clear(&overrides->map);
  *overrides = (struct tar_overrides){0};
}
