/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/image_path.h"

#include "lib/base/cleanup.h"
#include "tests/unit/unit.h"

static void
test_paths_are_cleaned(void)
{
  static const struct {
    const char *text;
    const char *clean;
  } rows[] = {
      {"", ""},
      {"/", ""},
      {".", ""},
      {"./", ""},
      {"//", ""},
      {"disk", "disk"},
      {"/disk", "disk"},
      {"./disk/", "disk"},
      {"disk/a.img", "disk/a.img"},
      {"//disk//./a.img", "disk/a.img"},
      {"..", ""},
      {"../..", ""},
      {"../disk/a", "disk/a"},
      {"a/..", ""},
      {"a/../b", "b"},
      {"a/b/../../c", "c"},
      {"a/b/../../../../c", "c"},
      {"a/..b/...", "a/..b/..."},
      {".a/b.", ".a/b."},
      {"a b/\n", "a b/\n"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(freep) char *clean = image_path_clean(rows[i].text);
    CHECK_STRING(clean, rows[i].clean);
  }
}

static void
test_links_are_followed_from_their_folder(void)
{
  static const struct {
    const char *link;
    const char *target;
    const char *place;
  } rows[] = {
      {"disk/latest", "fedora.img", "disk/fedora.img"},
      {"disk/latest", "../images/x", "images/x"},
      {"disk/latest", "/images/x", "images/x"},
      {"disk", "images", "images"},
      {"disk", "../../images", "images"},
      {"a/b/c", "./d/../e", "a/b/e"},
      {"a/b", ".", "a"},
      {"a", ".", ""},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(freep) char *place = image_path_follow(rows[i].link, rows[i].target);
    CHECK_STRING(place, rows[i].place);
  }
}

static void
test_within_means_whole_parts(void)
{
  CU_ASSERT(image_path_is_within("disk", "disk"));
  CU_ASSERT(image_path_is_within("disk/a", "disk"));
  CU_ASSERT(image_path_is_within("disk/a/b", "disk/a"));
  CU_ASSERT(image_path_is_within("anything", ""));
  CU_ASSERT(image_path_is_within("", ""));
  CU_ASSERT_FALSE(image_path_is_within("disk2", "disk"));
  CU_ASSERT_FALSE(image_path_is_within("dis", "disk"));
  CU_ASSERT_FALSE(image_path_is_within("", "disk"));
  CU_ASSERT_FALSE(image_path_is_within("a/disk", "disk"));
}

static void
test_name_is_the_last_part(void)
{
  CHECK_STRING(image_path_name("a/b/c"), "c");
  CHECK_STRING(image_path_name("c"), "c");
  CHECK_STRING(image_path_name(""), "");
}

UNIT_MAIN("populator/source/image_path", UNIT_TEST(test_paths_are_cleaned),
          UNIT_TEST(test_links_are_followed_from_their_folder),
          UNIT_TEST(test_within_means_whole_parts), UNIT_TEST(test_name_is_the_last_part))
