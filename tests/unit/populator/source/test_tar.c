/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/tar.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/source/tar_header.h"
#include "tests/unit/populator/byte_stream.h"
#include "tests/unit/populator/tar_builder.h"
#include "tests/unit/unit.h"

static struct tar *
open_archive(const struct buffer *archive)
{
  return tar_new(byte_stream_new(archive->data, archive->len, 0, 0));
}

/* "file disk/a 5: hello" for each entry, in lines; the content of links is where they lead. */
static int
list(struct tar *tar, bool with_content, struct buffer *ret_text, struct error **err)
{
  static const char *const types[] = {
      [TAR_FILE] = "file",       [TAR_SPARSE] = "sparse",       [TAR_HARDLINK] = "hardlink",
      [TAR_SYMLINK] = "symlink", [TAR_DIRECTORY] = "directory", [TAR_OTHER] = "other",
  };
  for (;;) {
    const struct tar_entry *entry;
    if (tar_next(tar, &entry, err) < 0)
      return -1;
    if (!entry)
      return 0;
    char content[4097] = {0};
    size_t len = 0;
    ssize_t got = 0;
    while (with_content && len < sizeof(content) - 1 &&
           (got = tar_read(tar, content + len, sizeof(content) - 1 - len, err)) > 0)
      len += (size_t)got;
    if (got < 0)
      return -1;
    CLEANUP(freep)
    char *line = xasprintf("%s %s %d: %s\n", types[entry->type], entry->path, (int)entry->size,
                           entry->link ? entry->link : content);
    (void)buffer_append_text(ret_text, line);
  }
}

/* The archive reads as the text, whatever pieces it comes in, and whether content is read or not.
 */
static void
check_reads(const struct buffer *archive, const char *expected)
{
  static const size_t pieces[] = {0, 1, 7, 511, 512, 513};
  for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
    CLEANUP(tar_freep)
    struct tar *tar = tar_new(byte_stream_new(archive->data, archive->len, 0, pieces[i]));
    CLEANUP(buffer_clear) struct buffer text = {0};
    CLEANUP(error_freep) struct error *err = NULL;
    (void)buffer_append_text(&text, "");
    CHECK_NUMBER(list(tar, true, &text, &err), 0);
    CHECK_STRING(err ? err->message : NULL, NULL);
    CHECK_STRING(text.data, expected);
  }
  CHECK_NUMBER(byte_streams_open(), 0);
}

static void
check_fails(const struct buffer *archive, enum error_code code, const char *message)
{
  CLEANUP(tar_freep) struct tar *tar = open_archive(archive);
  CLEANUP(buffer_clear) struct buffer text = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(list(tar, true, &text, &err), -1);
  CHECK_ERROR(&err, code, message);
}

static void
test_entries_of_all_types(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  tar_build(&archive, '5', "./disk/", NULL, NULL);
  tar_build(&archive, '0', "disk/a.img", NULL, "hello");
  tar_build(&archive, '0', "/disk/../disk//empty", NULL, NULL);
  tar_build(&archive, '1', "disk/b", "./disk/a.img", NULL);
  tar_build(&archive, '2', "disk/c", "../disk/a.img", NULL);
  tar_build(&archive, '3', "dev/null", NULL, NULL);
  tar_build(&archive, '6', "fifo", NULL, NULL);
  tar_build(&archive, '7', "contiguous", NULL, "x");
  tar_build_end(&archive);
  check_reads(&archive, "directory disk 0: \n"
                        "file disk/a.img 5: hello\n"
                        "file disk/empty 0: \n"
                        "hardlink disk/b 0: disk/a.img\n"
                        "symlink disk/c 0: ../disk/a.img\n"
                        "other dev/null 0: \n"
                        "other fifo 0: \n"
                        "file contiguous 1: x\n");
}

static void
test_an_empty_archive(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  check_reads(&archive, "");
  tar_build_end(&archive);
  check_reads(&archive, "");
}

static void
test_the_end_may_be_left_out(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  tar_build(&archive, '0', "a", NULL, "hello");
  check_reads(&archive, "file a 5: hello\n");
  (void)buffer_append(&archive, (char[512]){0}, 512);
  check_reads(&archive, "file a 5: hello\n");
}

static void
test_nothing_behind_the_end_is_read(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  tar_build(&archive, '0', "a", NULL, "hello");
  tar_build_end(&archive);
  (void)buffer_append_text(&archive, "this is no archive");
  check_reads(&archive, "file a 5: hello\n");
}

static void
test_links_have_no_content_whatever_they_say(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  tar_build_header(&archive,
                   &(struct tar_fields){.type = '1', .name = "l", .link = "a", .size = 5000});
  tar_build_header(&archive, &(struct tar_fields){.type = '5', .name = "d", .size = 5000});
  tar_build(&archive, '0', "a", NULL, "hello");
  check_reads(&archive, "hardlink l 0: a\ndirectory d 0: \nfile a 5: hello\n");
}

static void
test_types_nobody_knows_are_passed_over(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  tar_build(&archive, 'V', "a volume label", NULL, NULL);
  tar_build(&archive, 'Z', "z", NULL, "with content");
  tar_build(&archive, '0', "a", NULL, "hello");
  check_reads(&archive, "other a volume label 0: \nother z 12: with content\nfile a 5: hello\n");
}

static void
test_old_directories_are_names_with_a_slash(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  tar_build_header(&archive, &(struct tar_fields){.name = "disk/", .is_old = true});
  check_reads(&archive, "directory disk 0: \n");
}

/* ---- headers that speak of the next one --------------------------------------------------------
 */

static void
test_gnu_long_names(void)
{
  char name[1001] = {0};
  memset(name, 'n', 1000);
  CLEANUP(buffer_clear) struct buffer archive = {0};
  tar_build(&archive, 'L', "././@LongLink", NULL, name);
  tar_build(&archive, 'K', "././@LongLink", NULL, "a/very/long/link");
  tar_build(&archive, '2', "short", "short", NULL);
  tar_build(&archive, '0', "next", NULL, NULL);
  CLEANUP(freep)
  char *expected = xasprintf("symlink %s 0: a/very/long/link\nfile next 0: \n", name);
  check_reads(&archive, expected);
}

static void
test_pax_overrides_one_entry(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  tar_build(&archive, 'g', "global", NULL, "18 comment=ignored\n"); /* not even well-formed */
  tar_build_pax(&archive, "path", "disk/a name");
  tar_build_pax(&archive, "size", "5");
  tar_build_header(&archive, &(struct tar_fields){.type = '0', .name = "x", .size = 0});
  tar_build_content(&archive, "hello", 5);
  tar_build(&archive, '0', "b", NULL, "bye");
  tar_build_pax(&archive, "linkpath", "elsewhere");
  tar_build(&archive, '2', "c", "x", NULL);
  check_reads(&archive, "file disk/a name 5: hello\nfile b 3: bye\nsymlink c 0: elsewhere\n");
}

static void
test_pax_at_the_very_end_is_harmless(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  tar_build_pax(&archive, "path", "a");
  tar_build_end(&archive);
  check_reads(&archive, "");
}

static void
test_too_many_headers_in_a_row(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  for (unsigned i = 0; i < 16; i++)
    tar_build_pax(&archive, "path", "a");
  struct buffer longer = {0};
  (void)buffer_append(&longer, archive.data, archive.len);
  tar_build(&archive, '0', "x", NULL, NULL);
  check_reads(&archive, "file a 0: \n");
  tar_build_pax(&longer, "path", "a");
  tar_build(&longer, '0', "x", NULL, NULL);
  check_fails(&longer, ERROR_INVALID_ARGUMENT, "more than 16 headers");
  buffer_clear(&longer);
}

static void
test_absurd_names_are_refused(void)
{
  char name[5001] = {0};
  memset(name, 'n', 5000);
  CLEANUP(buffer_clear) struct buffer archive = {0};
  tar_build(&archive, 'L', "././@LongLink", NULL, name);
  check_fails(&archive, ERROR_INVALID_ARGUMENT, "longer than 4096 bytes");
  buffer_clear(&archive);
  tar_build_header(&archive, &(struct tar_fields){.type = 'x', .name = "x", .size = 1 << 30});
  check_fails(&archive, ERROR_INVALID_ARGUMENT, "longer than 1048576 bytes");
}

/* ---- sparse files ------------------------------------------------------------------------------
 */

/* The next entry of the archive has this path, and reads as "\0\0holes\0\0". */
static void
check_holes(struct tar *tar, const char *path)
{
  const struct tar_entry *entry;
  char content[32];
  size_t len = 0;
  REQUIRE(tar_next(tar, &entry, NULL) == 0 && entry);
  CU_ASSERT(entry->type == TAR_SPARSE);
  CHECK_STRING(entry->path, path);
  CHECK_NUMBER(entry->size, 9);
  for (ssize_t got = 1; got > 0 && len < sizeof(content); len += (size_t)got) {
    got = tar_read(tar, content + len, 2, NULL);
    REQUIRE(got >= 0);
  }
  CHECK_NUMBER(len, 9);
  CU_ASSERT(memcmp(content, "\0\0holes\0\0", 9) == 0);
  CHECK_NUMBER(tar_left(tar), 0);
}

static void
add_sparse(struct buffer *archive, const char *const records[][2], const char *content)
{
  CLEANUP(buffer_clear) struct buffer pax = {0};
  for (size_t i = 0; records[i][0]; i++) {
    size_t len = strlen(records[i][0]) + strlen(records[i][1]) + 5; /* of two digits */
    CLEANUP(freep) char *record = xasprintf("%zu %s=%s\n", len, records[i][0], records[i][1]);
    (void)buffer_append_text(&pax, record);
  }
  tar_build(archive, 'x', "x", NULL, pax.data);
  CLEANUP(buffer_clear) struct buffer stored = {0};
  static const char zeros[TAR_BLOCK];
  if (*content) { /* a map in front of it */
    (void)buffer_append_text(&stored, content);
    (void)buffer_append(&stored, zeros, TAR_BLOCK - stored.len);
  }
  (void)buffer_append_text(&stored, "holes");
  tar_build_header(archive, &(struct tar_fields){.type = '0', .name = "s", .size = stored.len});
  tar_build_content(archive, stored.data, stored.len);
}

/* Archives of GNU tar itself, those of its own kind too, are read in tests/registry. */
static void
test_sparse_files_have_their_holes(void)
{
  static const char *const pairs[][2] = {{"GNU.sparse.size", "9"},
                                         {"GNU.sparse.offset", "2"},
                                         {"GNU.sparse.numbytes", "5"},
                                         {NULL, NULL}};
  static const char *const list[][2] = {{"GNU.sparse.size", "9"},
                                        {"GNU.sparse.name", "real"},
                                        {"GNU.sparse.map", "2,3,5,2,9,0"},
                                        {NULL, NULL}};
  static const char *const inside[][2] = {{"GNU.sparse.major", "1"},
                                          {"GNU.sparse.name", "in"},
                                          {"GNU.sparse.realsize", "9"},
                                          {NULL, NULL}};
  CLEANUP(buffer_clear) struct buffer archive = {0};
  add_sparse(&archive, pairs, "");
  add_sparse(&archive, list, "");
  add_sparse(&archive, inside, "2\n2\n4\n6\n1\n");
  tar_build(&archive, '0', "a", NULL, "hello");
  CLEANUP(tar_freep)
  struct tar *tar = tar_new(byte_stream_new(archive.data, archive.len, 0, 0));
  check_holes(tar, "s");
  check_holes(tar, "real");
  check_holes(tar, "in");
  const struct tar_entry *entry;
  REQUIRE(tar_next(tar, &entry, NULL) == 0 && entry);
  CHECK_STRING(entry->path, "a");
  CLEANUP(buffer_clear) struct buffer broken = {0};
  add_sparse(&broken, inside, "99\n2\n");
  check_fails(&broken, ERROR_INVALID_ARGUMENT, "not made of numbers");
}

static void
test_maps_that_make_no_sense(void)
{
  static const struct {
    const char *map;
    const char *text;
  } rows[] = {
      {"0,4", "more or less"},
      {"0,6", "more or less"},
      {"5,5", "beyond the end"},
      {"4,1,2,4", "not in order"},
      {"0,2,1,3", "not in order"},
      {"0,5,", NULL},
      {"0,x", "list of numbers"},
      {"0", "list of numbers"},
      {"9223372036854775807,5", "too large"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct tar_map map = {0};
    bool is_bad = tar_map_add_list(&map, rows[i].map, strlen(rows[i].map), &err) < 0 ||
                  tar_map_check(&map, 9, 5, &err) < 0;
    CHECK_ROW(is_bad == (rows[i].text != NULL), rows[i].map);
    CHECK_ROW(!err || strstr(err->message, rows[i].text), rows[i].map);
    tar_map_clear(&map);
  }
}

static void
test_a_map_of_holes_that_does_not_end(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  tar_build_header(&archive, &(struct tar_fields){
                                 .type = 'S', .name = "s", .is_gnu = true, .is_extended = true});
  char map[512] = {[504] = 1};
  (void)buffer_append(&archive, map, sizeof(map));
  check_fails(&archive, ERROR_DATA_LOSS, "cut off in a header");
  for (unsigned i = 0; i < 65536; i++)
    (void)buffer_append(&archive, map, sizeof(map));
  check_fails(&archive, ERROR_INVALID_ARGUMENT, "map of holes does not end");
}

/* ---- broken archives ---------------------------------------------------------------------------
 */

static void
test_every_truncation_is_noticed(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  tar_build_pax(&archive, "path", "disk/a");
  tar_build(&archive, '0', "x", NULL, "hello");
  for (size_t len = 1; len < archive.len; len++) {
    CLEANUP(tar_freep) struct tar *tar = tar_new(byte_stream_new(archive.data, len, 0, 0));
    CLEANUP(buffer_clear) struct buffer text = {0};
    CLEANUP(error_freep) struct error *err = NULL;
    CLEANUP(freep) char *row = xasprintf("%zu bytes", len);
    int r = list(tar, true, &text, &err);
    /* between the pax header and its file the archive may end */
    CHECK_ROW(r == (len == 1024 ? 0 : -1), row);
    CHECK_ROW(r == 0 || (err && err->code == ERROR_DATA_LOSS), row);
  }
}

static void
test_a_hole_amid_the_entries(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  (void)buffer_append(&archive, (char[512]){0}, 512);
  tar_build(&archive, '0', "a", NULL, "hello");
  check_fails(&archive, ERROR_INVALID_ARGUMENT, "hole amid its entries");
}

static void
test_what_is_no_archive(void)
{
  char noise[2048];
  for (size_t i = 0; i < sizeof(noise); i++)
    noise[i] = (char)(i * 7 + 1);
  const struct buffer archive = {.data = noise, .len = sizeof(noise)};
  check_fails(&archive, ERROR_INVALID_ARGUMENT, "not a tar archive");
}

static void
test_what_nobody_wants_is_bounded(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  tar_build_header(
      &archive,
      &(struct tar_fields){.type = '0', .name = "a", .size_raw = "\x80\0\0\0\0\0\0\x40\0\0\0\1"});
  CLEANUP(tar_freep) struct tar *tar = open_archive(&archive);
  CLEANUP(error_freep) struct error *err = NULL;
  const struct tar_entry *entry;
  REQUIRE(tar_next(tar, &entry, &err) == 0);
  CHECK_NUMBER(entry->size, ((int64_t)256 << 30) + 1);
  CHECK_NUMBER(tar_next(tar, &entry, &err), -1);
  CHECK_ERROR(&err, ERROR_RESOURCE_EXHAUSTED, "more than 256 GiB");
}

/* ---- reading and going on ----------------------------------------------------------------------
 */

static void
test_positions_are_those_of_the_archive(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  tar_build(&archive, '5', "disk", NULL, NULL);
  tar_build_pax(&archive, "path", "disk/a");
  tar_build(&archive, '0', "x", NULL, "hello");
  CLEANUP(tar_freep) struct tar *tar = open_archive(&archive);
  const struct tar_entry *entry;
  REQUIRE(tar_next(tar, &entry, NULL) == 0);
  CHECK_NUMBER(tar_position(tar), 512);
  REQUIRE(tar_next(tar, &entry, NULL) == 0);
  CHECK_NUMBER(tar_position(tar), 4 * 512);
  CHECK_NUMBER(tar_left(tar), 5);
  CU_ASSERT_EQUAL(memcmp(archive.data + tar_position(tar), "hello", 5), 0);
  char byte;
  CHECK_NUMBER(tar_read(tar, &byte, 1, NULL), 1);
  CHECK_NUMBER(tar_position(tar), 4 * 512 + 1);
  CHECK_NUMBER(tar_left(tar), 4);
}

/* From every byte of an entry, another reader goes on. */
static void
test_another_reader_goes_on(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  tar_build(&archive, '0', "a", NULL, "hello");
  tar_build(&archive, '0', "b", NULL, "bye");
  tar_build_end(&archive);
  for (size_t read = 0; read <= 5; read++) {
    CLEANUP(tar_freep) struct tar *first = open_archive(&archive);
    CLEANUP(buffer_clear) struct buffer state = {0};
    const struct tar_entry *entry;
    char content[6] = {0};
    REQUIRE(tar_next(first, &entry, NULL) == 0);
    CHECK_NUMBER(tar_read(first, content, read, NULL), read);
    tar_save(first, &state);

    struct wire_reader reader = {.at = state.data, .left = state.len};
    struct stream *below =
        byte_stream_new(archive.data, archive.len, (size_t)tar_position(first), 0);
    CLEANUP(tar_freep) struct tar *second = tar_restore(below, &reader);
    REQUIRE(second);
    CHECK_NUMBER(reader.left, 0);
    CHECK_NUMBER(tar_read(second, content + read, 5, NULL), 5 - read);
    CHECK_STRING(content, "hello");
    CLEANUP(buffer_clear) struct buffer text = {0};
    CHECK_NUMBER(list(second, true, &text, NULL), 0);
    CHECK_STRING(text.data, "file b 3: bye\n");
  }
}

static void
test_a_state_that_is_none(void)
{
  CLEANUP(buffer_clear) struct buffer archive = {0};
  CLEANUP(buffer_clear) struct buffer state = {0};
  tar_build(&archive, '0', "a", NULL, "hello");
  CLEANUP(tar_freep) struct tar *tar = open_archive(&archive);
  tar_save(tar, &state);
  CLEANUP(stream_closep) struct stream *below = byte_stream_new("", 0, 0, 0);
  for (size_t len = 0; len < state.len; len++) {
    struct wire_reader reader = {.at = state.data, .left = len};
    CU_ASSERT_PTR_NULL(tar_restore(below, &reader));
    CU_ASSERT(reader.failed);
  }
  static const size_t numbers[] = {8, 16, 20, 28}; /* left, padding, entries, passed */
  for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
    CLEANUP(buffer_clear) struct buffer damaged = {0};
    (void)buffer_append(&damaged, state.data, state.len);
    memset(damaged.data + numbers[i], 0xff, numbers[i] == 16 ? 4 : 8);
    struct wire_reader reader = {.at = damaged.data, .left = damaged.len};
    CU_ASSERT_PTR_NULL(tar_restore(below, &reader));
    CU_ASSERT(reader.failed);
  }
}

UNIT_MAIN("populator/source/tar", UNIT_TEST(test_entries_of_all_types),
          UNIT_TEST(test_an_empty_archive), UNIT_TEST(test_the_end_may_be_left_out),
          UNIT_TEST(test_nothing_behind_the_end_is_read),
          UNIT_TEST(test_links_have_no_content_whatever_they_say),
          UNIT_TEST(test_types_nobody_knows_are_passed_over),
          UNIT_TEST(test_old_directories_are_names_with_a_slash), UNIT_TEST(test_gnu_long_names),
          UNIT_TEST(test_pax_overrides_one_entry), UNIT_TEST(test_pax_at_the_very_end_is_harmless),
          UNIT_TEST(test_too_many_headers_in_a_row), UNIT_TEST(test_absurd_names_are_refused),
          UNIT_TEST(test_sparse_files_have_their_holes), UNIT_TEST(test_maps_that_make_no_sense),
          UNIT_TEST(test_a_map_of_holes_that_does_not_end),
          UNIT_TEST(test_every_truncation_is_noticed), UNIT_TEST(test_a_hole_amid_the_entries),
          UNIT_TEST(test_what_is_no_archive), UNIT_TEST(test_what_nobody_wants_is_bounded),
          UNIT_TEST(test_positions_are_those_of_the_archive),
          UNIT_TEST(test_another_reader_goes_on), UNIT_TEST(test_a_state_that_is_none))
