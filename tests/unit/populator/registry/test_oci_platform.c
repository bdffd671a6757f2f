/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/registry/oci_platform.h"

#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

static void
test_platforms_are_taken_apart(void)
{
  static const struct {
    const char *text, *architecture, *variant;
  } rows[] = {
      {"amd64", "amd64", NULL},       {"arm64/v8", "arm64", "v8"}, {"linux/arm/v7", "arm", "v7"},
      {"linux/s390x", "s390x", NULL}, {"x86_64", "amd64", NULL},   {"aarch64", "arm64", NULL},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(oci_platform_clear) struct oci_platform platform = {0};
    CHECK_ROW(oci_platform_parse(rows[i].text, &platform, NULL) == 0, rows[i].text);
    CHECK_STRING(platform.architecture, rows[i].architecture);
    CHECK_STRING(platform.variant, rows[i].variant);
  }
}

static void
test_bad_platforms(void)
{
  static const char *const rows[] = {
      "",      "/",     "amd64/", "/v8", "linux/",
      "a/b/c", "AMD64", "a b",    "a\n", "abcdefghijklmnopqrstuvwxyzabcdefghijkl"};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct oci_platform platform;
    CHECK_ROW(oci_platform_parse(rows[i], &platform, &err) == -1, rows[i]);
    CHECK_ROW(err && err->code == ERROR_INVALID_ARGUMENT, rows[i]);
  }
}

static void
test_this_machine_is_some_platform(void)
{
  CLEANUP(oci_platform_clear) struct oci_platform platform = {0};
  REQUIRE(oci_platform_parse(NULL, &platform, NULL) == 0);
  CU_ASSERT(strlen(platform.architecture) > 0);
#ifdef __x86_64__
  CHECK_STRING(platform.architecture, "amd64");
#endif
}

/* Offers are "os/architecture/variant", apart by blanks; '-' leaves a part out. */
static char *
part(const char **at)
{
  size_t len = strcspn(*at, "/ ");
  char *text = len == 1 && **at == '-' ? NULL : xstrndup(*at, len);
  *at += len + ((*at)[len] == '/');
  return text;
}

static void
index_make(struct oci_index *index, const char *offers)
{
  index->choices = xcalloc(16, sizeof(index->choices[0]));
  for (const char *at = offers; *at; index->count++) {
    struct oci_choice *choice = &index->choices[index->count];
    choice->os = part(&at);
    choice->architecture = part(&at);
    choice->variant = part(&at);
    at += *at == ' ';
  }
}

static void
test_the_best_fit_is_chosen(void)
{
  static const struct {
    const char *platform, *offers;
    int chosen; /* -1: none */
  } rows[] = {
      {"amd64", "linux/arm64/v8 linux/amd64/-", 1},
      {"amd64", "linux/amd64/- linux/amd64/-", 0},
      {"amd64", "linux/amd64/v2 linux/amd64/-", 1},
      {"amd64", "linux/amd64/v2", 0},
      {"amd64", "windows/amd64/- linux/amd64/-", 1},
      {"amd64", "windows/amd64/-", -1},
      {"amd64", "-/amd64/-", 0},
      {"amd64", "unknown/unknown/- linux/amd64/-", 1}, /* attestations stand beside images */
      {"amd64", "linux/arm64/-", -1},
      {"amd64", "-/-/-", 0},
      {"amd64", "-/-/- -/-/-", -1},
      {"arm64", "linux/arm64/v8", 0},
      {"arm64/v8", "linux/arm64/-", 0},
      {"arm64", "linux/arm64/v9 linux/arm64/-", 1},
      {"arm/v7", "linux/arm/v6 linux/arm/v7", 1},
      {"arm/v7", "linux/arm/v5 linux/arm/v6", 0},
      {"arm/v6", "linux/arm/v7", -1},
      {"arm/v7", "linux/arm/- linux/arm/v6", 0},
      {"arm", "linux/arm/v6 linux/arm/v7", 0},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(oci_platform_clear) struct oci_platform platform = {0};
    CLEANUP(oci_index_clear) struct oci_index index = {0};
    const struct oci_choice *choice = NULL;
    index_make(&index, rows[i].offers);
    REQUIRE(oci_platform_parse(rows[i].platform, &platform, NULL) == 0);
    int r = oci_platform_choose(&platform, &index, &choice, NULL);
    CHECK_ROW(r == (rows[i].chosen < 0 ? -1 : 0), rows[i].offers);
    CHECK_ROW(r < 0 || choice == &index.choices[rows[i].chosen], rows[i].offers);
  }
}

static void
test_what_there_is_is_named(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(oci_platform_clear) struct oci_platform platform = {0};
  CLEANUP(oci_index_clear) struct oci_index index = {0};
  const struct oci_choice *choice;
  index_make(&index, "linux/arm64/v8 windows/amd64/-");
  REQUIRE(oci_platform_parse("amd64", &platform, NULL) == 0);
  CU_ASSERT_EQUAL(oci_platform_choose(&platform, &index, &choice, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND,
              "not there for linux/amd64; it is for linux/arm64/v8, windows/amd64");
}

static void
test_configurations_that_fit(void)
{
  CLEANUP(oci_platform_clear) struct oci_platform platform = {0};
  REQUIRE(oci_platform_parse("amd64", &platform, NULL) == 0);
  CU_ASSERT(oci_platform_fits_config(&platform, &(struct oci_config){0}));
  CU_ASSERT(oci_platform_fits_config(&platform, &(struct oci_config){.architecture = (char *)""}));
  CU_ASSERT(
      oci_platform_fits_config(&platform, &(struct oci_config){.architecture = (char *)"amd64"}));
  CU_ASSERT_FALSE(
      oci_platform_fits_config(&platform, &(struct oci_config){.architecture = (char *)"arm64"}));
}

static void
check_config(const char *os, const char *architecture, const char *variant, const char *expected)
{
  const struct oci_config config = {
      .os = (char *)os, .architecture = (char *)architecture, .variant = (char *)variant};
  CLEANUP(freep) char *text = oci_platform_of_config(&config);
  CHECK_ROW(expected ? text && strcmp(text, expected) == 0 : !text, expected ? expected : "-");
}

static void
test_configurations_say_what_they_are_for(void)
{
  check_config("linux", "amd64", NULL, "linux/amd64");
  check_config("linux", "arm64", "v8", "linux/arm64/v8");
  check_config("linux", "amd64", "", "linux/amd64");
  check_config(NULL, "amd64", NULL, "?/amd64");
  check_config("linux", NULL, "v8", NULL);
  check_config("linux", "", NULL, NULL);
}

UNIT_MAIN("populator/registry/oci_platform", UNIT_TEST(test_platforms_are_taken_apart),
          UNIT_TEST(test_bad_platforms), UNIT_TEST(test_this_machine_is_some_platform),
          UNIT_TEST(test_the_best_fit_is_chosen), UNIT_TEST(test_what_there_is_is_named),
          UNIT_TEST(test_configurations_that_fit),
          UNIT_TEST(test_configurations_say_what_they_are_for))
