/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/disk_search.h"

#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

/* An image is written as a text: entries apart by blanks, layers by '|', the top one first.
 * "f:PATH" a file, "d:PATH" a directory, "s:PATH>TARGET" a symbolic, "h:PATH>TARGET" a hard link,
 * "p:PATH" a pipe, "S:PATH" a sparse file. */
struct image {
  struct tar_entry entries[64];
  size_t layer_of[64];
  size_t count;
  size_t layers;
};

static enum tar_type
type_of(char letter)
{
  switch (letter) {
  case 'f':
    return TAR_FILE;
  case 'd':
    return TAR_DIRECTORY;
  case 's':
    return TAR_SYMLINK;
  case 'h':
    return TAR_HARDLINK;
  case 'S':
    return TAR_SPARSE;
  default:
    return TAR_OTHER;
  }
}

static void
image_parse(struct image *image, const char *text)
{
  *image = (struct image){.layers = 1};
  for (const char *at = text; *at;) {
    size_t len = strcspn(at, " ");
    if (*at == '|') {
      image->layers++;
    } else if (len > 0) {
      const char *sign = memchr(at, '>', len);
      size_t path_len = sign ? (size_t)(sign - at) - 2 : len - 2;
      image->layer_of[image->count] = image->layers - 1;
      image->entries[image->count++] = (struct tar_entry){
          .type = type_of(*at),
          .path = xstrndup(at + 2, path_len),
          .link = sign ? xstrndup(sign + 1, len - path_len - 3) : NULL,
      };
    }
    at += len + (at[len] == ' ');
  }
}

static void
image_clear(struct image *image)
{
  for (size_t i = 0; i < image->count; i++) {
    free(image->entries[i].path);
    free(image->entries[i].link);
  }
}

/* Reads one layer; *ret_found is the index of the disk's entry, or SIZE_MAX. */
static int
read_layer(struct disk_search *search, const struct image *image, size_t layer, size_t *ret_found,
           struct error **err)
{
  size_t found = SIZE_MAX;
  for (size_t i = 0; i < image->count; i++) {
    bool is_disk;
    if (image->layer_of[i] != layer)
      continue;
    if (disk_search_entry(search, &image->entries[i], &is_disk, err) < 0)
      return -1;
    if (is_disk)
      found = i;
  }
  *ret_found = found;
  return found == SIZE_MAX ? 0 : disk_search_check(search, err);
}

/* Where the disk is, as "LAYER:PATH", or the error's message; to be freed. */
static char *
search_image(const char *path, const char *text)
{
  CLEANUP(image_clear) struct image image;
  image_parse(&image, text);
  CLEANUP(disk_search_freep) struct disk_search *search = disk_search_new(path);
  CLEANUP(error_freep) struct error *err = NULL;
  size_t layer = 0, found;
  for (;;) {
    if (read_layer(search, &image, layer, &found, &err) < 0)
      return xasprintf("%s: %s", error_code_name((int)err->code), err->message);
    if (found != SIZE_MAX) {
      CHECK_STRING(disk_search_path(search), image.entries[found].path);
      return xasprintf("%zu:%s", layer, image.entries[found].path);
    }
    enum disk_search_step step;
    if (disk_search_layer_end(search, layer == image.layers - 1, &step, &err) < 0)
      return xasprintf("%s: %s", error_code_name((int)err->code), err->message);
    if (step == DISK_SEARCH_TOP_LAYER)
      layer = 0;
    else if (step == DISK_SEARCH_NEXT_LAYER)
      layer++;
    REQUIRE(layer < image.layers);
  }
}

struct row {
  const char *path;
  const char *image;
  const char *found; /* the beginning of what search_image() says */
};

static void
check_rows(const struct row *rows, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    CLEANUP(freep) char *found = search_image(rows[i].path, rows[i].image);
    CLEANUP(freep) char *row = xasprintf("%s → %s", rows[i].image, found);
    CHECK_ROW(strstr(found, rows[i].found) == found, row);
  }
}

#define CHECK_ROWS(rows) check_rows((rows), sizeof(rows) / sizeof((rows)[0]))

static void
test_the_one_file_below_disk(void)
{
  static const struct row rows[] = {
      {NULL, "d:disk f:disk/fedora.img", "0:disk/fedora.img"},
      {NULL, "f:disk/fedora.img", "0:disk/fedora.img"},
      {NULL, "f:etc/passwd f:disk/deep/er/x f:diskette/y", "0:disk/deep/er/x"},
      {NULL, "f:disk", "0:disk"},
      {NULL, "d:disk p:disk/pipe f:disk/x", "0:disk/x"},
      {NULL, "f:etc/passwd", "NOT_FOUND: the image has no file at '/disk' or below it"},
      {NULL, "d:disk", "NOT_FOUND"},
      {NULL, "", "NOT_FOUND"},
      {NULL, "p:disk/x", "NOT_FOUND"},
      {NULL, "S:other f:disk/x", "0:disk/x"},
  };
  CHECK_ROWS(rows);
}

static void
test_a_path_of_the_users_own(void)
{
  static const struct row rows[] = {
      {"/disk/b", "f:disk/a f:disk/b f:disk/c", "0:disk/b"},
      {"images/", "f:disk/a f:images/b", "0:images/b"},
      {"/images", "f:disk/a", "NOT_FOUND: the image has no file at '/images'"},
      {"/", "d:usr f:usr/x", "0:usr/x"},
      {"", "f:a f:b", "INVALID_ARGUMENT: the image has several files"},
      {"disk/b", "f:disk/bb f:disk/a", "NOT_FOUND"},
  };
  CHECK_ROWS(rows);
}

static void
test_several_are_named(void)
{
  static const struct row rows[] = {
      {NULL, "f:disk/a f:disk/b",
       "INVALID_ARGUMENT: the image has several files at '/disk' where one disk is expected: "
       "'/disk/a', '/disk/b'; say which one by its path"},
      {NULL, "f:disk/a f:disk/a", "INVALID_ARGUMENT: the image has '/disk/a' twice in one layer"},
      {NULL, "f:disk/a h:disk/b>disk/a", "INVALID_ARGUMENT"},
      {NULL, "f:disk/1 f:disk/2 f:disk/3 f:disk/4 f:disk/5 f:disk/6 f:disk/7 f:disk/8 f:disk/9",
       "INVALID_ARGUMENT: the image has several files at '/disk' where one disk is expected: "
       "'/disk/1', '/disk/2', '/disk/3', '/disk/4', '/disk/5', '/disk/6', '/disk/7', '/disk/8' "
       "and more;"},
      {NULL, "f:disk/a s:disk>elsewhere",
       "INVALID_ARGUMENT: a layer of the image has '/disk' both"},
  };
  CHECK_ROWS(rows);
}

static void
test_the_topmost_layer_decides(void)
{
  static const struct row rows[] = {
      {NULL, "f:etc/x | f:disk/a", "1:disk/a"},  {NULL, "f:disk/a | f:disk/a", "0:disk/a"},
      {NULL, "f:disk/b | f:disk/a", "0:disk/b"}, {NULL, " | | f:disk/a", "2:disk/a"},
      {NULL, "f:etc/x | f:etc/y", "NOT_FOUND"},
  };
  CHECK_ROWS(rows);
}

static void
test_whiteouts_hide_what_is_below(void)
{
  static const struct row rows[] = {
      {NULL, "f:disk/.wh.a | f:disk/a f:disk/b", "1:disk/b"},
      {NULL, "f:disk/.wh.a | f:disk/a | f:disk/b", "2:disk/b"},
      {NULL, "f:disk/.wh.a | f:disk/a", "NOT_FOUND"},
      {NULL, "f:disk/.wh.a | f:disk/a/deep f:disk/ab", "1:disk/ab"},
      {NULL, "f:.wh.disk | f:disk/a", "NOT_FOUND"},
      {NULL, "f:.wh.disk f:disk/b | f:disk/a", "0:disk/b"},
      {NULL, "f:disk/b f:.wh.disk | f:disk/a", "0:disk/b"},
      {NULL, "f:disk/.wh..wh..opq | f:disk/a", "NOT_FOUND"},
      {NULL, "f:disk/.wh..wh..opq f:disk/b | f:disk/a", "0:disk/b"},
      {NULL, "f:disk/sub/.wh..wh..opq | f:disk/sub/a f:disk/b", "1:disk/b"},
      {NULL, "f:.wh..wh..opq | f:disk/a", "NOT_FOUND"},
      {NULL, "f:disk/.wh..wh.plnk f:disk/.wh. f:disk/.wh... f:disk/.wh.. | f:disk/a", "1:disk/a"},
      {NULL, "f:etc/.wh.a f:diskette/.wh.b | f:disk/a", "1:disk/a"},
      {NULL, "f:x | f:disk/.wh.a f:disk/b | f:disk/a", "1:disk/b"},
      {"/a/b/c", "f:a/.wh.b | f:a/b/c", "NOT_FOUND"},
      {"/a/b/c", "f:.wh.a f:a/b/c | f:a/b/c", "0:a/b/c"},
  };
  CHECK_ROWS(rows);
}

/* A whiteout is for the layers below its own, not for those above. */
static void
test_a_lower_whiteout_hides_nothing_above(void)
{
  static const struct row rows[] = {
      {NULL, "f:disk/a | f:.wh.disk | f:disk/b", "0:disk/a"},
      {NULL, "f:x | f:disk/a f:disk/.wh.b | f:.wh.disk", "1:disk/a"},
  };
  CHECK_ROWS(rows);
}

/* Of a file that was removed for the sake of a folder, archives show nothing but the folder. */
static void
test_a_folder_takes_the_place_of_a_file(void)
{
  static const struct row rows[] = {
      {NULL, "d:disk | f:disk", "NOT_FOUND"},
      {NULL, "d:disk d:disk/a | f:disk", "NOT_FOUND"},
      {NULL, "d:disk/a | f:disk", "NOT_FOUND"},
      {NULL, "d:disk/a | f:disk/a f:disk/b", "1:disk/b"},
      {NULL, "d:disk/a | s:disk/a>b f:disk/c", "1:disk/c"},
      {NULL, "d:disk | s:disk>/images f:images/x", "NOT_FOUND"},
      {NULL, "d:disk/a | d:disk/a f:disk/a/x", "1:disk/a/x"},
      {NULL, "d:disk/a | f:disk/a | f:disk/a/x", "NOT_FOUND"},
      {NULL, "d:disk/a | f:x | f:disk/a | f:disk/b", "3:disk/b"},
      {"/a/b", "d:a | s:a>c f:c/b", "NOT_FOUND"},
      {"/a/b", "f:a/x | s:a>c f:c/b", "1:c/b"}, /* it may have gone through the link */
  };
  CHECK_ROWS(rows);
}

/* Whoever looks for others beside the disk that was found does not see them either. */
static void
test_a_file_below_a_folder_is_no_other(void)
{
  static const struct tar_entry upper = {.type = TAR_FILE, .path = (char *)"disk/b"};
  static const struct tar_entry lower = {.type = TAR_FILE, .path = (char *)"disk"};
  CLEANUP(disk_search_freep) struct disk_search *search = disk_search_new(NULL);
  CLEANUP(error_freep) struct error *err = NULL;
  bool is_disk;
  REQUIRE(disk_search_entry(search, &upper, &is_disk, &err) == 0);
  CU_ASSERT_TRUE(is_disk);
  CLEANUP(disk_search_freep) struct disk_search *below = disk_search_below(search, true);
  CU_ASSERT_TRUE(disk_search_go_below(below));
  REQUIRE(disk_search_entry(below, &lower, &is_disk, &err) == 0);
  CU_ASSERT_FALSE(disk_search_has_other(below));
}

static void
test_what_replaces_a_file_hides_it(void)
{
  static const struct row rows[] = {
      {NULL, "p:disk/a | f:disk/a f:disk/b", "1:disk/b"},
      {NULL, "p:disk | f:disk/a", "NOT_FOUND"},
      {"/disk/a/b", "f:disk/a | f:disk/a/b", "NOT_FOUND"},
  };
  CHECK_ROWS(rows);
}

static void
test_hard_links_are_followed_in_their_layer(void)
{
  static const struct row rows[] = {
      {NULL, "f:images/x h:disk/a>images/x", "0:images/x"},
      {NULL, "h:disk/a>images/x f:images/x", "0:images/x"},
      {NULL, "f:y | f:images/x h:disk/a>images/x", "1:images/x"},
      {NULL, "f:.wh.images | f:images/x h:disk/a>images/x", "1:images/x"},
      {NULL, "f:disk/.wh.b | f:disk/b h:disk/a>disk/b", "1:disk/b"},
      {NULL, "h:disk/a>x h:disk/b>x f:x", "INVALID_ARGUMENT: the image has several"},
      {NULL, "h:disk/a>x", "NOT_FOUND: the image has no file at '/x', to which its '/disk' leads"},
      {NULL, "h:disk/a>disk/a", "INVALID_ARGUMENT: the links of the image lead from '/disk' on"},
  };
  CHECK_ROWS(rows);
}

static void
test_symbolic_links_are_followed_from_the_top(void)
{
  static const struct row rows[] = {
      {NULL, "s:disk>images f:images/x", "0:images/x"},
      {NULL, "f:images/x | s:disk>/images", "0:images/x"},
      {NULL, "s:disk>images | f:images/x f:disk/y", "1:images/x"},
      {NULL, "s:disk/latest>../images/x f:images/x", "0:images/x"},
      {NULL, "s:disk/latest>a f:disk/a", "0:disk/a"},
      {NULL, "f:disk/a s:disk/latest>a", "0:disk/a"},
      {NULL, "s:disk/latest>a | f:disk/a f:disk/.wh.b | f:disk/b", "1:disk/a"},
      {"/disk/latest", "f:disk/a f:disk/b s:disk/latest>b", "0:disk/b"},
      {"/a/b/c", "s:a>x | s:x/b>../y | f:y/c", "2:y/c"},
      {NULL, "s:disk/1>x s:disk/2>y f:x f:y", "INVALID_ARGUMENT: the image has several"},
      {NULL, "s:disk>disk", "INVALID_ARGUMENT: the links of the image lead from '/disk' on"},
      {NULL, "s:disk>a s:a>disk", "INVALID_ARGUMENT: the links"},
      {NULL, "s:disk/a>../nowhere", "NOT_FOUND: the image has no file at '/nowhere', to which"},
      {NULL, "s:disk/a>../../../../etc/shadow f:etc/shadow", "0:etc/shadow"}, /* the image's own */
  };
  CHECK_ROWS(rows);
}

static void
test_a_layer_can_be_read_again(void)
{
  CLEANUP(image_clear) struct image image;
  image_parse(&image, "f:disk/.wh.a | f:disk/a f:disk/b");
  CLEANUP(disk_search_freep) struct disk_search *search = disk_search_new(NULL);
  enum disk_search_step step;
  size_t found;
  REQUIRE(read_layer(search, &image, 0, &found, NULL) == 0);
  REQUIRE(disk_search_layer_end(search, false, &step, NULL) == 0);
  for (unsigned i = 0; i < 3; i++) {
    REQUIRE(read_layer(search, &image, 1, &found, NULL) == 0);
    CHECK_NUMBER(found, 2);
    disk_search_read_again(search);
  }
}

/* As another process does that only reads the rest of the layer. */
static void
test_a_disk_that_was_found_before(void)
{
  CLEANUP(disk_search_freep) struct disk_search *search = disk_search_new(NULL);
  CLEANUP(error_freep) struct error *err = NULL;
  bool is_disk;
  disk_search_found(search, "disk/a");
  CHECK_STRING(disk_search_path(search), "disk/a");
  CU_ASSERT_EQUAL(disk_search_check(search, &err), 0);
  const struct tar_entry other = {.type = TAR_FILE, .path = (char *)"disk/b"};
  REQUIRE(disk_search_entry(search, &other, &is_disk, &err) == 0);
  CU_ASSERT_FALSE(is_disk);
  CU_ASSERT_EQUAL(disk_search_check(search, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "'/disk/a', '/disk/b'");
}

static void
test_what_is_hidden_is_bounded(void)
{
  CLEANUP(disk_search_freep) struct disk_search *search = disk_search_new(NULL);
  CLEANUP(error_freep) struct error *err = NULL;
  const struct tar_entry mark = {.type = TAR_FILE, .path = (char *)"disk/.wh.a"};
  bool is_disk;
  for (unsigned i = 0; i < 65536; i++)
    REQUIRE(disk_search_entry(search, &mark, &is_disk, &err) == 0);
  CU_ASSERT_EQUAL(disk_search_entry(search, &mark, &is_disk, &err), -1);
  CHECK_ERROR(&err, ERROR_RESOURCE_EXHAUSTED, "more than 65536 files");
}

UNIT_MAIN("populator/source/disk_search", UNIT_TEST(test_the_one_file_below_disk),
          UNIT_TEST(test_a_path_of_the_users_own), UNIT_TEST(test_several_are_named),
          UNIT_TEST(test_the_topmost_layer_decides), UNIT_TEST(test_whiteouts_hide_what_is_below),
          UNIT_TEST(test_a_lower_whiteout_hides_nothing_above),
          UNIT_TEST(test_a_folder_takes_the_place_of_a_file),
          UNIT_TEST(test_a_file_below_a_folder_is_no_other),
          UNIT_TEST(test_what_replaces_a_file_hides_it),
          UNIT_TEST(test_hard_links_are_followed_in_their_layer),
          UNIT_TEST(test_symbolic_links_are_followed_from_the_top),
          UNIT_TEST(test_a_layer_can_be_read_again), UNIT_TEST(test_a_disk_that_was_found_before),
          UNIT_TEST(test_what_is_hidden_is_bounded))
