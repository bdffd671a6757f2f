/* SPDX-License-Identifier: Apache-2.0 */
/* Why a reader of our own and not libarchive: an import that is killed must go on in the middle of
 * a layer of many gigabytes, and libarchive's state can be neither saved nor set. What is left of
 * the format once that is needed is small, and here it is read strictly.
 *
 * It never reads ahead: each header block is asked for by itself and content goes straight into the
 * caller's buffer. So the stream below stands exactly where the archive does, and the offset of a
 * file in an uncompressed layer is simply how much was read.
 *
 * The archive is hostile. Names and pax headers are bounded, and so is what may stand around the
 * entry that is wanted: a compressed layer can unfold into petabytes of other entries, and nobody
 * would stop it, while the wanted entry is bounded by the size of the volume. */
#include "populator/source/tar.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/source/image_path.h"
#include "populator/source/tar_header.h"

/* Extended attributes make pax headers large: each may have 64 KiB. */
#define PAX_BYTES_MAX ((size_t)1 << 20)
/* Headers that only speak of the next one, in a row. */
#define EXTRA_HEADERS_MAX 16
/* Blocks of a map of holes. */
#define MAP_BLOCKS_MAX 65536
#define ENTRIES_MAX 10000000
#define PASSED_BYTES_MAX ((uint64_t)256 << 30)
/* In a saved state. */
#define STATE_OVER 1U
#define STATE_SPARSE 2U

struct tar {
  struct stream *below;
  struct tar_entry entry;
  uint64_t position; /* in the archive */
  uint64_t left;     /* of what the archive has of the entry's content */
  uint32_t padding;  /* behind it */
  bool is_sparse;    /* the map tells where that belongs in the content; else it is all of it: */
  uint64_t at;       /* in the content: what comes next */
  uint64_t size;     /* of the content */
  struct tar_map map;
  size_t piece;     /* of the map, at or behind what comes next */
  uint64_t entries; /* seen */
  uint64_t passed;  /* bytes of content that nobody wanted */
  bool is_over;
};

static void
entry_clear(struct tar_entry *entry)
{
  free(entry->path);
  free(entry->link);
  *entry = (struct tar_entry){0};
}

struct tar *
tar_new(struct stream *below)
{
  struct tar *tar = xcalloc(1, sizeof(*tar));
  tar->below = below;
  return tar;
}

void
tar_free(struct tar *tar)
{
  if (!tar)
    return;
  entry_clear(&tar->entry);
  tar_map_clear(&tar->map);
  stream_close(tar->below);
  free(tar);
}

uint64_t
tar_position(const struct tar *tar)
{
  return tar->position;
}

uint64_t
tar_left(const struct tar *tar)
{
  return tar->is_sparse ? tar->size - tar->at : tar->left;
}

struct stream *
tar_below(struct tar *tar)
{
  return tar->below;
}

uint32_t
tar_padding(uint64_t size)
{
  return (uint32_t)(-size & (TAR_BLOCK - 1));
}

/* ---- blocks ------------------------------------------------------------------------------------
 */

/* 1, or 0 when the archive ends in front of it. */
static int
read_block(struct tar *tar, unsigned char block[TAR_BLOCK], struct error **err)
{
  ssize_t got = stream_read_most(tar->below, block, TAR_BLOCK, err);
  if (got < 0)
    return -1;
  if (got > 0 && (size_t)got < TAR_BLOCK)
    return error_set(err, ERROR_DATA_LOSS, "the tar archive is cut off in a header");
  tar->position += (uint64_t)got;
  return got > 0;
}

/* 1, or 0 at the end: two blocks of zeros. Archives without them are common and taken as well. */
static int
read_header(struct tar *tar, struct tar_header *ret_header, struct tar_map *map, struct error **err)
{
  unsigned char block[TAR_BLOCK];
  int r = read_block(tar, block, err);
  if (r <= 0)
    return r;
  if (!tar_header_is_end(block)) {
    bool is_good = tar_header_decode(block, ret_header, err) == 0 &&
                   (ret_header->type != 'S' || tar_header_map(block, map, err) == 0);
    return is_good ? 1 : -1;
  }
  r = read_block(tar, block, err);
  if (r > 0 && !tar_header_is_end(block))
    return error_set(err, ERROR_INVALID_ARGUMENT, "the tar archive has a hole amid its entries");
  return r < 0 ? -1 : 0;
}

static int
pass_over(struct tar *tar, uint64_t len, struct error **err)
{
  if (stream_skip(tar->below, len, err) < 0)
    return error_wrap(err, "tar archive");
  tar->position += len;
  return 0;
}

/* What nobody read of the entry. */
static int
pass_content(struct tar *tar, struct error **err)
{
  tar->passed += tar->left;
  if (tar->passed > PASSED_BYTES_MAX)
    return error_set(err, ERROR_RESOURCE_EXHAUSTED,
                     "the tar archive holds more than %d GiB that do not belong to the disk",
                     (int)(PASSED_BYTES_MAX >> 30));
  uint64_t len = tar->left + tar->padding;
  tar->left = tar->padding = 0;
  return pass_over(tar, len, err);
}

/* ---- headers that speak of the next one --------------------------------------------------------
 */

/* Their content; a NUL stands behind it. */
static char *
read_extra(struct tar *tar, const struct tar_header *header, size_t max, struct error **err)
{
  if (header->size > max) {
    (void)error_set(err, ERROR_INVALID_ARGUMENT,
                    "tar archive: a header of type '%c' is longer than %zu bytes", header->type,
                    max);
    return NULL;
  }
  CLEANUP(freep) char *data = xcalloc(header->size + 1, 1);
  if (stream_read_full(tar->below, data, header->size, err) < 0) {
    (void)error_wrap(err, "tar archive");
    return NULL;
  }
  tar->position += header->size;
  if (pass_over(tar, tar_padding(header->size), err) < 0)
    return NULL;
  return TAKE(data);
}

/* GNU's long names. */
static int
add_name(struct tar *tar, const struct tar_header *header, char **member, struct error **err)
{
  char *name = read_extra(tar, header, TAR_PATH_MAX, err);
  if (!name)
    return -1;
  free(*member);
  *member = name;
  return 0;
}

/* 1 when it was such a header, 0 when it is an entry. */
static int
add_extra(struct tar *tar, const struct tar_header *header, struct tar_overrides *overrides,
          struct error **err)
{
  switch (header->type) {
  case 'L':
    return add_name(tar, header, &overrides->path, err) < 0 ? -1 : 1;
  case 'K':
    return add_name(tar, header, &overrides->link, err) < 0 ? -1 : 1;
  case 'x':
  case 'g': {
    CLEANUP(freep) char *data = read_extra(tar, header, PAX_BYTES_MAX, err);
    if (!data)
      return -1;
    /* What counts for all entries is never a name or a size: comments, times. */
    if (header->type == 'x' && tar_overrides_add_pax(overrides, data, header->size, err) < 0)
      return -1;
    return 1;
  }
  default:
    return 0;
  }
}

/* ---- entries -----------------------------------------------------------------------------------
 */

static enum tar_type
type_of(const struct tar_header *header, const struct tar_overrides *overrides, const char *name)
{
  size_t len = strlen(name);
  switch (header->type) {
  case '0':
  case '7': /* "contiguous" */
    if (len > 0 && name[len - 1] == '/')
      return TAR_DIRECTORY; /* as the oldest archives had it */
    return overrides->is_sparse ? TAR_SPARSE : TAR_FILE;
  case 'S':
    return TAR_SPARSE;
  case '1':
    return TAR_HARDLINK;
  case '2':
    return TAR_SYMLINK;
  case '5':
    return TAR_DIRECTORY;
  default:
    return TAR_OTHER;
  }
}

/* Links, devices, pipes and directories have no content, whatever their size says: so reads every
 * program that writes layers. */
static bool
has_content(const struct tar_header *header, enum tar_type type)
{
  bool is_node = header->type == '3' || header->type == '4' || header->type == '6';
  return type == TAR_FILE || type == TAR_SPARSE || (type == TAR_OTHER && !is_node);
}

/* ---- maps of holes -----------------------------------------------------------------------------
 */

/* It goes on in blocks between the header and the content. */
static int
read_map_blocks(struct tar *tar, const struct tar_header *header, struct tar_map *map,
                struct error **err)
{
  unsigned char block[TAR_BLOCK];
  bool goes_on = header->is_extended;
  for (size_t i = 0; goes_on && i < MAP_BLOCKS_MAX; i++) {
    int r = read_block(tar, block, err);
    if (r < 0)
      return -1;
    if (r == 0)
      return error_set(err, ERROR_DATA_LOSS, "the tar archive is cut off in a header");
    if (tar_header_map_more(block, map, &goes_on, err) < 0)
      return -1;
  }
  return goes_on ? error_set(err, ERROR_INVALID_ARGUMENT,
                             "tar entry '%s': its map of holes does not end", header->name)
                 : 0;
}

/* The lines of a map that stands in front of the content. */
struct map_lines {
  char block[TAR_BLOCK];
  size_t at; /* in the block */
  bool is_begun;
};

/* A number on a line of its own, out of the blocks in front of the content. */
static int
read_number(struct tar *tar, struct map_lines *lines, uint64_t *ret_number, struct error **err)
{
  char digits[24];
  for (size_t len = 0; len < sizeof(digits);) {
    if (!lines->is_begun || lines->at == TAR_BLOCK) {
      if (tar->left < TAR_BLOCK || read_block(tar, (unsigned char *)lines->block, err) != 1)
        break;
      tar->left -= TAR_BLOCK;
      lines->at = 0;
      lines->is_begun = true;
    }
    char c = lines->block[lines->at++];
    digits[len++] = c == '\n' ? '\0' : c;
    if (c != '\n')
      continue;
    if (text_to_u64(digits, 10, ret_number) == 0)
      return 0;
    break;
  }
  return err && *err ? -1
                     : error_set(err, ERROR_INVALID_ARGUMENT,
                                 "tar archive: the map of a sparse file is not made of numbers");
}

/* How many pieces there are, and of each its offset and its length. */
static int
read_map_lines(struct tar *tar, struct tar_map *map, struct error **err)
{
  struct map_lines lines = {.at = 0};
  uint64_t count, offset, len;
  if (read_number(tar, &lines, &count, err) < 0)
    return -1;
  for (uint64_t i = 0; i < count; i++) {
    if (read_number(tar, &lines, &offset, err) < 0 || read_number(tar, &lines, &len, err) < 0 ||
        tar_map_add(map, offset, len, err) < 0)
      return -1;
  }
  return 0;
}

/* The entry is one with holes; the map so far is that of its headers. Takes it. */
static int
begin_sparse(struct tar *tar, const struct tar_header *header,
             const struct tar_overrides *overrides, struct tar_map *map, struct error **err)
{
  tar->is_sparse = true;
  tar->map = *map;
  *map = (struct tar_map){0};
  tar->size = overrides->has_real_size ? overrides->real_size : header->real_size;
  tar->entry.size = tar->size;
  if (header->type == 'S' && read_map_blocks(tar, header, &tar->map, err) < 0)
    return -1;
  if (overrides->is_map_inside && read_map_lines(tar, &tar->map, err) < 0)
    return -1;
  return tar_map_check(&tar->map, tar->size, tar->left, err);
}

/* ---- the beginning of an entry -----------------------------------------------------------------
 */

static int
begin_entry(struct tar *tar, const struct tar_header *header, struct tar_overrides *overrides,
            struct error **err)
{
  if (++tar->entries > ENTRIES_MAX)
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "the tar archive has more than %d entries",
                     ENTRIES_MAX);
  const char *plain = overrides->path ? overrides->path : header->name;
  const char *name = overrides->real_path ? overrides->real_path : plain;
  const char *link = overrides->link ? overrides->link : header->link;
  struct tar_entry *entry = &tar->entry;
  entry->type = type_of(header, overrides, name);
  entry->path = image_path_clean(name);
  if (entry->type == TAR_HARDLINK)
    entry->link = image_path_clean(link);
  else if (entry->type == TAR_SYMLINK)
    entry->link = xstrdup(link);
  if (has_content(header, entry->type))
    entry->size = overrides->has_size ? overrides->size : header->size;
  tar->left = entry->size;
  tar->padding = tar_padding(entry->size);
  if (entry->type == TAR_SPARSE && begin_sparse(tar, header, overrides, &overrides->map, err) < 0)
    return error_wrap(err, "'%s'", entry->path);
  return 0;
}

int
tar_next(struct tar *tar, const struct tar_entry **ret_entry, struct error **err)
{
  if (pass_content(tar, err) < 0)
    return -1;
  entry_clear(&tar->entry);
  tar_map_clear(&tar->map);
  tar->is_sparse = false;
  tar->at = tar->size = tar->piece = 0;
  CLEANUP(tar_overrides_clear) struct tar_overrides overrides = {0};
  for (unsigned extra = 0; !tar->is_over && extra <= EXTRA_HEADERS_MAX; extra++) {
    struct tar_header header;
    int r = read_header(tar, &header, &overrides.map, err);
    if (r < 0)
      return -1;
    if (r == 0) {
      tar->is_over = true;
      break;
    }
    r = add_extra(tar, &header, &overrides, err);
    if (r < 0)
      return -1;
    if (r > 0)
      continue;
    if (begin_entry(tar, &header, &overrides, err) < 0)
      return -1;
    *ret_entry = &tar->entry;
    return 0;
  }
  if (!tar->is_over)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "the tar archive has more than %d headers in front of an entry",
                     EXTRA_HEADERS_MAX);
  *ret_entry = NULL;
  return 0;
}

/* Of what the archive has of the content. */
static ssize_t
read_stored(struct tar *tar, void *buf, size_t len, struct error **err)
{
  if (tar->left < len)
    len = (size_t)tar->left;
  ssize_t got = stream_read(tar->below, buf, len, err);
  if (got < 0)
    return -1;
  if (got == 0)
    return error_set(err, ERROR_DATA_LOSS,
                     "the tar archive is cut off %llu bytes before the end "
                     "of '%s'",
                     (unsigned long long)tar->left, tar->entry.path ? tar->entry.path : "an entry");
  tar->left -= (uint64_t)got;
  tar->position += (uint64_t)got;
  return got;
}

/* A piece, or zeros up to the next one. */
static ssize_t
read_sparse(struct tar *tar, void *buf, size_t len, struct error **err)
{
  const struct tar_piece *piece = tar->piece < tar->map.count ? &tar->map.pieces[tar->piece] : NULL;
  bool is_hole = !piece || tar->at < piece->offset;
  uint64_t end = !piece ? tar->size : is_hole ? piece->offset : piece->offset + piece->len;
  size_t n = end - tar->at < len ? (size_t)(end - tar->at) : len;
  ssize_t got = (ssize_t)n;
  if (is_hole)
    memset(buf, 0, n);
  else
    got = read_stored(tar, buf, n, err);
  if (got < 0)
    return -1;
  tar->at += (uint64_t)got;
  if (!is_hole && tar->at == end)
    tar->piece++;
  return got;
}

ssize_t
tar_read(struct tar *tar, void *buf, size_t len, struct error **err)
{
  if (tar_left(tar) == 0 || len == 0)
    return 0;
  return tar->is_sparse ? read_sparse(tar, buf, len, err) : read_stored(tar, buf, len, err);
}

/* ---- going on in another process ---------------------------------------------------------------
 */

void
tar_save(const struct tar *tar, struct buffer *state)
{
  buffer_append_u64(state, tar->position);
  buffer_append_u64(state, tar->left);
  buffer_append_u32(state, tar->padding);
  buffer_append_u64(state, tar->entries);
  buffer_append_u64(state, tar->passed);
  buffer_append_u32(state, (tar->is_over ? STATE_OVER : 0) | (tar->is_sparse ? STATE_SPARSE : 0));
  if (!tar->is_sparse)
    return;
  buffer_append_u64(state, tar->at);
  buffer_append_u64(state, tar->size);
  buffer_append_u32(state, (uint32_t)(tar->map.count - tar->piece));
  for (size_t i = tar->piece; i < tar->map.count; i++) {
    buffer_append_u64(state, tar->map.pieces[i].offset);
    buffer_append_u64(state, tar->map.pieces[i].len);
  }
}

/* What is left of the map, the first piece of which may have been read in part. */
static void
restore_map(struct tar *tar, struct wire_reader *state)
{
  tar->at = wire_get_u64(state);
  tar->size = wire_get_u64(state);
  uint32_t count = wire_get_u32(state);
  uint64_t stored = tar->left;
  for (uint32_t i = 0; i < count && !state->failed; i++) {
    uint64_t offset = wire_get_u64(state);
    uint64_t len = wire_get_u64(state);
    if (i == 0 && offset < tar->at)
      stored += tar->at - offset;
    if (tar_map_add(&tar->map, offset, len, NULL) < 0 || (i == 0 && tar->at >= offset + len))
      state->failed = true;
  }
  if (tar->at > tar->size || tar->map.count != count ||
      tar_map_check(&tar->map, tar->size, stored, NULL) < 0)
    state->failed = true;
}

struct tar *
tar_restore(struct stream *below, struct wire_reader *state)
{
  struct tar saved = {.below = below};
  saved.position = wire_get_u64(state);
  saved.left = wire_get_u64(state);
  saved.padding = wire_get_u32(state);
  saved.entries = wire_get_u64(state);
  saved.passed = wire_get_u64(state);
  uint32_t flags = wire_get_u32(state);
  saved.is_over = (flags & STATE_OVER) != 0;
  saved.is_sparse = (flags & STATE_SPARSE) != 0;
  if (saved.left > INT64_MAX || saved.padding >= TAR_BLOCK || saved.entries > ENTRIES_MAX ||
      saved.passed > PASSED_BYTES_MAX)
    state->failed = true;
  if (saved.is_sparse && !state->failed)
    restore_map(&saved, state);
  if (state->failed) {
    tar_map_clear(&saved.map);
    return NULL;
  }
  struct tar *tar = tar_new(below);
  *tar = saved;
  return tar;
}
