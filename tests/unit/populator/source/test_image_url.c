/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/image_url.h"

#include "tests/unit/unit.h"

static void
test_what_is_named(void)
{
  static const struct {
    const char *text;
    const char *pool;
    const char *name_space;
    const char *name;
    const char *snapshot;
  } table[] = {{"rbd:p/i", "p", "", "i", NULL},
               {"rbd:p/i@s", "p", "", "i", "s"},
               {"rbd:p/n/i", "p", "n", "i", NULL},
               {"RBD:p/n/i@s.1", "p", "n", "i", "s.1"}};
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
    struct image_url url = {0};
    CHECK_ROW(image_url_is(table[i].text), table[i].text);
    REQUIRE(image_url_parse(table[i].text, &url, NULL) == 0);
    CHECK_STRING(url.pool, table[i].pool);
    CHECK_STRING(url.name_space, table[i].name_space);
    CHECK_STRING(url.name, table[i].name);
    CHECK_STRING(url.snapshot, table[i].snapshot);
    image_url_clear(&url);
  }
}

static void
test_what_names_nothing(void)
{
  static const char *const bad[] = {"rbd:",       "rbd:p",       "rbd:/i",
                                    "rbd:p/",     "rbd:p//i",    "rbd:p/i@",
                                    "rbd:p/i@a@", "rbd:p/i@a/b", "rbd:a/b/c/d"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct image_url url;
    CHECK_ROW(image_url_parse(bad[i], &url, &err) == -1, bad[i]);
    CHECK_ROW(err && err->code == ERROR_INVALID_ARGUMENT, bad[i]);
  }
  CU_ASSERT_FALSE(image_url_is("rbd"));
  CU_ASSERT_FALSE(image_url_is("nbd:p/i"));
}

UNIT_MAIN("populator/source/image_url", UNIT_TEST(test_what_is_named),
          UNIT_TEST(test_what_names_nothing))
