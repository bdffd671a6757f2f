/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/disk_stream.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/source/verified_stream.h"
#include "tests/unit/populator/byte_stream.h"
#include "tests/unit/populator/tar_builder.h"
#include "tests/unit/unit.h"

/* A layer in memory, with its digest. */
struct layer {
  struct buffer archive;
  struct oci_descriptor blob;
};

static void
layer_seal(struct layer *layer)
{
  layer->blob.digest = oci_digest_of(layer->archive.data, layer->archive.len);
  layer->blob.size = layer->archive.len;
}

static void
layer_clear(struct layer *layer)
{
  buffer_clear(&layer->archive);
  oci_descriptor_clear(&layer->blob);
}

/* /disk/a with "hello", and a file before and one behind it. */
static void
layer_make(struct layer *layer)
{
  tar_build(&layer->archive, '0', "etc/before", NULL, "before");
  tar_build(&layer->archive, '0', "disk/a", NULL, "hello");
  tar_build(&layer->archive, '0', "etc/behind", NULL, "behind");
  tar_build_end(&layer->archive);
  layer_seal(layer);
}

static int
open_disk(const struct layer *layer, struct disk_search *search, struct disk_place *ret_place,
          struct stream **ret_stream, struct error **err)
{
  struct stream *proof;
  struct stream *bytes = byte_stream_new(layer->archive.data, layer->archive.len, 0, 100);
  if (verified_stream_new(bytes, &layer->blob, &proof, err) < 0)
    return -1;
  const struct disk_layer opened = {.archive = proof, .proof = proof};
  return disk_stream_open(&opened, search, ret_place, ret_stream, err);
}

/* The disk's content or the error's message. */
static char *
read_disk(const struct layer *layer)
{
  CLEANUP(disk_search_freep) struct disk_search *search = disk_search_new(NULL);
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(stream_closep) struct stream *stream = NULL;
  struct buffer content = {0};
  struct disk_place place;
  if (open_disk(layer, search, &place, &stream, &err) < 0 ||
      (stream && byte_stream_drain(stream, &content, &err) < 0))
    return xasprintf("%s: %s", error_code_name((int)err->code), err->message);
  if (!stream)
    return xstrdup("none");
  char *text = content.data ? content.data : xstrdup("");
  CHECK_NUMBER(strlen(text), place.size);
  return text;
}

static void
test_the_disk_is_read(void)
{
  CLEANUP(layer_clear) struct layer layer = {0};
  layer_make(&layer);
  CLEANUP(freep) char *content = read_disk(&layer);
  CHECK_STRING(content, "hello");
  CHECK_NUMBER(byte_streams_open(), 0);
}

static void
test_its_place_is_told(void)
{
  CLEANUP(layer_clear) struct layer layer = {0};
  layer_make(&layer);
  CLEANUP(disk_search_freep) struct disk_search *search = disk_search_new(NULL);
  CLEANUP(stream_closep) struct stream *stream = NULL;
  struct disk_place place;
  REQUIRE(open_disk(&layer, search, &place, &stream, NULL) == 0);
  CHECK_NUMBER(place.size, 5);
  CU_ASSERT_EQUAL(memcmp(layer.archive.data + place.offset, "hello", 5), 0);
  CHECK_STRING(disk_search_path(search), "disk/a");
}

static void
test_an_empty_disk(void)
{
  CLEANUP(layer_clear) struct layer layer = {0};
  tar_build(&layer.archive, '0', "disk/a", NULL, NULL);
  layer_seal(&layer);
  CLEANUP(freep) char *content = read_disk(&layer);
  CHECK_STRING(content, "");
}

static void
test_a_layer_without_the_disk_is_checked_to_its_end(void)
{
  CLEANUP(layer_clear) struct layer layer = {0};
  tar_build(&layer.archive, '0', "etc/x", NULL, "x");
  tar_build_end(&layer.archive);
  (void)buffer_append_text(&layer.archive, "and more");
  layer_seal(&layer);
  CLEANUP(freep) char *content = read_disk(&layer);
  CHECK_STRING(content, "none");
  layer.archive.data[layer.archive.len - 1] = 'x';
  CLEANUP(freep) char *damaged = read_disk(&layer);
  CU_ASSERT_PTR_NOT_NULL(strstr(damaged, "DATA_LOSS"));
}

/* Wherever a byte of the layer is wrong, the disk is never complete. */
static void
test_damage_anywhere_fails_the_disk(void)
{
  CLEANUP(layer_clear) struct layer layer = {0};
  layer_make(&layer);
  for (size_t i = 0; i < layer.archive.len; i += 37) {
    layer.archive.data[i] ^= 1;
    CLEANUP(freep) char *content = read_disk(&layer);
    CHECK_ROW(strstr(content, "DATA_LOSS") == content ||
                  strstr(content, "INVALID_ARGUMENT") == content,
              content);
    layer.archive.data[i] ^= 1;
  }
}

/* Before its last byte is handed out: a reader that knows the size stops there. */
static void
test_damage_behind_the_disk_keeps_its_last_byte_back(void)
{
  CLEANUP(layer_clear) struct layer layer = {0};
  layer_make(&layer);
  layer.archive.data[layer.archive.len - 1] = 'x';
  CLEANUP(disk_search_freep) struct disk_search *search = disk_search_new(NULL);
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(stream_closep) struct stream *stream = NULL;
  struct disk_place place;
  char content[5];
  REQUIRE(open_disk(&layer, search, &place, &stream, NULL) == 0);
  CHECK_NUMBER(stream_read(stream, content, 4, &err), 4);
  CHECK_NUMBER(stream_read(stream, content, 1, &err), -1);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "digest");
}

static void
test_a_second_disk_behind_the_first(void)
{
  CLEANUP(layer_clear) struct layer layer = {0};
  tar_build(&layer.archive, '0', "disk/a", NULL, "hello");
  tar_build(&layer.archive, '0', "disk/b", NULL, "bye");
  layer_seal(&layer);
  CLEANUP(freep) char *content = read_disk(&layer);
  CU_ASSERT_PTR_NOT_NULL(strstr(content, "several files"));
}

static void
test_an_archive_without_a_digest(void)
{
  CLEANUP(layer_clear) struct layer layer = {0};
  layer_make(&layer);
  CLEANUP(disk_search_freep) struct disk_search *search = disk_search_new("");
  CLEANUP(stream_closep) struct stream *stream = NULL;
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(buffer_clear) struct buffer content = {0};
  struct disk_place place;
  const struct disk_layer plain = {
      .archive = byte_stream_new(layer.archive.data, layer.archive.len, 0, 0)};
  REQUIRE(disk_stream_open(&plain, search, &place, &stream, NULL) == 0);
  CHECK_NUMBER(byte_stream_drain(stream, &content, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "'/etc/before', '/disk/a', '/etc/behind'");
}

/* ---- going on ----------------------------------------------------------------------------------
 */

/* Takes what stream_save() wrote apart, as container_disk.c does. */
static int
restore_disk(const struct layer *layer, struct disk_search *search, const struct buffer *state,
             struct stream **ret_stream, struct error **err)
{
  struct wire_reader reader = {.at = state->data, .left = state->len};
  struct stream *proof;
  reader.at += sizeof("blob");
  reader.left -= sizeof("blob");
  uint64_t position = wire_get_u64(&reader);
  reader.at += sizeof("verified");
  reader.left -= sizeof("verified");
  struct stream *bytes =
      byte_stream_new(layer->archive.data, layer->archive.len, (size_t)position, 0);
  if (verified_stream_restore(bytes, &layer->blob, &reader, &proof, err) < 0)
    return -1;
  reader.at += sizeof("disk");
  reader.left -= sizeof("disk");
  const struct disk_layer opened = {.archive = proof, .proof = proof};
  disk_search_found(search, "disk/a");
  if (disk_stream_restore(&opened, search, &reader, ret_stream, err) < 0)
    return -1;
  CHECK_NUMBER(reader.left, 0);
  return 0;
}

static void
test_another_process_goes_on(void)
{
  CLEANUP(layer_clear) struct layer layer = {0};
  layer_make(&layer);
  for (size_t read = 0; read <= 5; read++) {
    CLEANUP(disk_search_freep) struct disk_search *search = disk_search_new(NULL);
    CLEANUP(stream_closep) struct stream *first = NULL;
    CLEANUP(stream_closep) struct stream *second = NULL;
    CLEANUP(buffer_clear) struct buffer state = {0};
    struct disk_place place;
    char content[6] = {0};
    REQUIRE(open_disk(&layer, search, &place, &first, NULL) == 0);
    CHECK_NUMBER(stream_read_most(first, content, read, NULL), read);
    CU_ASSERT(stream_can_save(first));
    REQUIRE(stream_save(first, &state, NULL) == 0);
    REQUIRE(restore_disk(&layer, search, &state, &second, NULL) == 0);
    CHECK_NUMBER(stream_read_most(second, content + read, 6, NULL), 5 - read);
    CHECK_STRING(content, "hello");
  }
  CHECK_NUMBER(byte_streams_open(), 0);
}

static void
test_the_rest_behind_a_disk_read_elsewhere(void)
{
  CLEANUP(layer_clear) struct layer layer = {0};
  layer_make(&layer);
  CLEANUP(disk_search_freep) struct disk_search *search = disk_search_new(NULL);
  CLEANUP(stream_closep) struct stream *stream = NULL;
  struct disk_place place;
  REQUIRE(open_disk(&layer, search, &place, &stream, NULL) == 0);
  stream_close(TAKE(stream));
  struct checksum checksum;
  size_t end = (size_t)(place.offset + place.size);
  checksum_init(&checksum, CHECKSUM_SHA256);
  checksum_update(&checksum, layer.archive.data, end);
  for (unsigned i = 0; i < 2; i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct stream *proof;
    struct stream *bytes = byte_stream_new(layer.archive.data, layer.archive.len, end, 0);
    REQUIRE(verified_stream_resume(bytes, &layer.blob, end, &checksum, &proof, NULL) == 0);
    const struct disk_layer rest = {.archive = proof, .proof = proof};
    disk_search_found(search, "disk/a");
    CHECK_NUMBER(disk_stream_check_rest(&rest, place.size, search, &err), i == 0 ? 0 : -1);
    checksum_update(&checksum, "x", 1); /* the second time the disk was another one */
  }
  CHECK_NUMBER(byte_streams_open(), 0);
}

UNIT_MAIN("populator/source/disk_stream", UNIT_TEST(test_the_disk_is_read),
          UNIT_TEST(test_its_place_is_told), UNIT_TEST(test_an_empty_disk),
          UNIT_TEST(test_a_layer_without_the_disk_is_checked_to_its_end),
          UNIT_TEST(test_damage_anywhere_fails_the_disk),
          UNIT_TEST(test_damage_behind_the_disk_keeps_its_last_byte_back),
          UNIT_TEST(test_a_second_disk_behind_the_first),
          UNIT_TEST(test_an_archive_without_a_digest), UNIT_TEST(test_another_process_goes_on),
          UNIT_TEST(test_the_rest_behind_a_disk_read_elsewhere))
