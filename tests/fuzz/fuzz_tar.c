/* SPDX-License-Identifier: Apache-2.0 */
/* A tar archive, as a layer. It reads the same in whatever pieces it comes, and a reader that is
 * saved and restored amid an entry goes on as if nothing had happened; paths are clean; the search
 * for the disk ends. */
#include <string.h>

#include "lib/base/memory.h"
#include "populator/source/disk_search.h"
#include "populator/source/disk_stream.h"
#include "populator/source/image_path.h"
#include "populator/source/tar.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/populator/byte_stream.h"

/* More is not needed to tell two readings apart. */
#define CONTENT_MAX ((size_t)1 << 20)

static void
check_entry(const struct tar_entry *entry)
{
  CLEANUP(freep) char *clean = image_path_clean(entry->path);
  CHECK(strcmp(clean, entry->path) == 0);
  bool is_link = entry->type == TAR_SYMLINK || entry->type == TAR_HARDLINK;
  CHECK(is_link == (entry->link != NULL));
  CHECK(!is_link || entry->size == 0);
  CHECK(entry->size <= INT64_MAX);
}

/* Another reader in place of this one, which is freed. */
static struct tar *
exchange(struct tar *tar, const uint8_t *data, size_t size)
{
  CLEANUP(buffer_clear) struct buffer state = {0};
  tar_save(tar, &state);
  struct wire_reader reader = {.at = state.data, .left = state.len};
  struct tar *other =
      tar_restore(byte_stream_new(data, size, (size_t)tar_position(tar), 0), &reader);
  CHECK(other && !reader.failed && reader.left == 0);
  tar_free(tar);
  return other;
}

/* Types, paths and contents into *text; with_exchange: by a reader that changes all the time. */
static int
read_archive(const uint8_t *data, size_t size, size_t piece, bool with_exchange,
             struct buffer *text)
{
  CLEANUP(tar_freep) struct tar *tar = tar_new(byte_stream_new(data, size, 0, piece));
  CLEANUP(error_freep) struct error *err = NULL;
  const struct tar_entry *entry;
  for (;;) {
    if (tar_next(tar, &entry, &err) < 0)
      break;
    if (!entry)
      return 0;
    check_entry(entry);
    char type = (char)('0' + (int)entry->type);
    (void)buffer_append(text, &type, 1);
    (void)buffer_append_text(text, entry->path);
    char content[700];
    ssize_t got = 1;
    while (got > 0 && text->len < CONTENT_MAX) {
      if (with_exchange)
        tar = exchange(tar, data, size);
      size_t room = CONTENT_MAX - text->len; /* holes have no end */
      got = tar_read(tar, content, room < sizeof(content) ? room : sizeof(content), &err);
      if (got > 0)
        (void)buffer_append(text, content, (size_t)got);
    }
    if (got < 0)
      break;
  }
  CHECK(err && *err->message);
  return -1;
}

static void
search_disk(const uint8_t *data, size_t size, const char *path)
{
  CLEANUP(disk_search_freep) struct disk_search *search = disk_search_new(path);
  CLEANUP(error_freep) struct error *err = NULL;
  enum disk_search_step step = DISK_SEARCH_TOP_LAYER;
  for (unsigned i = 0; i < 64; i++) {
    const struct disk_layer layer = {.archive = byte_stream_new(data, size, 0, 0)};
    CLEANUP(stream_closep) struct stream *stream = NULL;
    struct disk_place place;
    if (disk_stream_open(&layer, search, &place, &stream, &err) < 0)
      return;
    if (stream) {
      struct buffer content = {0};
      CHECK(place.offset <= size);
      CHECK(place.size > CONTENT_MAX || byte_stream_drain(stream, &content, &err) < 0 ||
            content.len == place.size);
      buffer_clear(&content);
      return;
    }
    /* twice the same layer, one on top of the other */
    if (disk_search_layer_end(search, step == DISK_SEARCH_NEXT_LAYER, &step, &err) < 0)
      return;
  }
  CHECK(!"the search does not end");
}

static void
try_archive(const uint8_t *data, size_t size)
{
  CLEANUP(buffer_clear) struct buffer whole = {0};
  CLEANUP(buffer_clear) struct buffer pieces = {0};
  CLEANUP(buffer_clear) struct buffer exchanged = {0};
  int r = read_archive(data, size, 0, false, &whole);
  CHECK(read_archive(data, size, 77, false, &pieces) == r);
  CHECK(read_archive(data, size, 0, true, &exchanged) == r);
  CHECK(whole.len == pieces.len && whole.len == exchanged.len);
  CHECK(whole.len == 0 || memcmp(whole.data, pieces.data, whole.len) == 0);
  CHECK(whole.len == 0 || memcmp(whole.data, exchanged.data, whole.len) == 0);
  search_disk(data, size, NULL);
  search_disk(data, size, "");
  CHECK(byte_streams_open() == 0);
}

/* Puts the right sum into every block, as if it were a header: no mutation would find it. */
static void
repair_sums(uint8_t *data, size_t size)
{
  for (size_t at = 0; at + 512 <= size; at += 512) {
    uint8_t *block = data + at;
    unsigned sum = 0;
    if (!memchr(block, 'u', 512) && block[0] == 0)
      continue; /* zeros end an archive */
    memset(block + 148, ' ', 8);
    for (size_t i = 0; i < 512; i++)
      sum += block[i];
    (void)snprintf((char *)block + 148, 8, "%06o", sum);
  }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  try_archive(data, size);
  CLEANUP(freep) uint8_t *repaired = xcalloc(size + 1, 1);
  memcpy(repaired, data, size);
  repair_sums(repaired, size);
  try_archive(repaired, size);
  return 0;
}
