/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/registry/auth_file.h"

#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

static const struct reference image = {.host = (char *)"h:5000", .repository = (char *)"a/b"};

static int
parse(const char *text, struct credentials *ret_credentials, struct error **err)
{
  return auth_file_parse(text, strlen(text), &image, ret_credentials, err);
}

static void
test_entries_of_every_form(void)
{
  static const struct {
    const char *text;
    const char *user, *password, *identity, *token;
  } rows[] = {
      {"{\"auths\":{\"h:5000\":{\"auth\":\"dXNlcjpwYTpzcw==\"}}}", "user", "pa:ss", NULL, NULL},
      {"{\"auths\":{\"h:5000\":{\"auth\":\"dXNlcjo=\"}}}", "user", "", NULL, NULL},
      {"{\"auths\":{\"h:5000\":{\"username\":\"u\",\"password\":\"p\"}}}", "u", "p", NULL, NULL},
      {"{\"auths\":{\"h:5000\":{\"username\":\"u\",\"password\":\"p\",\"auth\":\"YTpi\"}}}", "a",
       "b", NULL, NULL},
      {"{\"auths\":{\"h:5000\":{\"identitytoken\":\"i\"}}}", NULL, NULL, "i", NULL},
      {"{\"auths\":{\"h:5000\":{\"registrytoken\":\"t\"}}}", NULL, NULL, NULL, "t"},
      {"{\"auths\":{\"h:5000\":{}}}", NULL, NULL, NULL, NULL},
      {"{\"auths\":{\"other\":{\"auth\":\"YTpi\"}}}", NULL, NULL, NULL, NULL},
      {"{\"auths\":{}}", NULL, NULL, NULL, NULL},
      {"{\"credsStore\":\"x\"}", NULL, NULL, NULL, NULL},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(credentials_clear) struct credentials credentials = {0};
    CHECK_ROW(parse(rows[i].text, &credentials, NULL) == 0, rows[i].text);
    CHECK_STRING(credentials.user, rows[i].user);
    CHECK_STRING(credentials.password, rows[i].password);
    CHECK_STRING(credentials.identity_token, rows[i].identity);
    CHECK_STRING(credentials.registry_token, rows[i].token);
  }
}

static void
test_the_entry_that_fits_best(void)
{
  static const struct {
    const char *keys; /* the first of them holds a:b, the second c:d */
    const char *other;
    const char *user;
  } rows[] = {
      {"h:5000", "h:5000/a", "c"},
      {"h:5000/a/b", "h:5000/a", "a"},
      {"h:5000/a/bb", "h:5000", "c"},
      {"h", "h:5000", "c"},
      {"h", "h:50", NULL},
      {"https://h:5000/v1/", "x", "a"},
      {"http://h:5000", "x", "a"},
      {"h:5000/", "x", "a"},
      {"https://h:5000", "h:5000/a", "c"},
      {"", "x", NULL},
      {"h:5000/x", "h:5000/a/b/c", NULL},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(credentials_clear) struct credentials credentials = {0};
    CLEANUP(freep)
    char *text = xasprintf("{\"auths\":{\"%s\":{\"auth\":\"YTpi\"},\"%s\":{\"auth\":\"Yzpk\"}}}",
                           rows[i].keys, rows[i].other);
    CHECK_ROW(parse(text, &credentials, NULL) == 0, text);
    CHECK_ROW(rows[i].user ? credentials.user && strcmp(credentials.user, rows[i].user) == 0
                           : !credentials.user,
              text);
  }
}

static void
test_the_entry_that_docker_makes_for_its_hub(void)
{
  static const struct reference hub = {.host = (char *)"docker.io", .repository = (char *)"a/b"};
  static const char text[] = "{\"auths\":{\"https://index.docker.io/v1/\":{\"auth\":\"YTpi\"}}}";
  CLEANUP(credentials_clear) struct credentials credentials = {0};
  CHECK_NUMBER(auth_file_parse(text, strlen(text), &hub, &credentials, NULL), 0);
  CHECK_STRING(credentials.user, "a");
}

static void
test_bad_files(void)
{
  static const char *const rows[] = {
      "",
      "[]",
      "{\"auths\":[]}",
      "{\"auths\":{\"h:5000\":1}}",
      "{\"auths\":{\"h:5000\":{\"auth\":1}}}",
      "{\"auths\":{\"h:5000\":{\"auth\":\"YWI=\"}}}",  /* no colon */
      "{\"auths\":{\"h:5000\":{\"auth\":\"YT pi\"}}}", /* no base64 */
      "{\"auths\":{\"h:5000\":{\"auth\":\"YTpi=x\"}}}",
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct credentials credentials;
    CHECK_ROW(parse(rows[i], &credentials, &err) == -1, rows[i]);
    CHECK_ROW(err && err->code == ERROR_INVALID_ARGUMENT, rows[i]);
  }
}

static void
test_files_are_read(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(freep) char *path = temp_dir_path(dir, "config.json");
  CLEANUP(credentials_clear) struct credentials credentials = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  CU_ASSERT_EQUAL(auth_file_read(path, &image, &credentials, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "config.json");
  temp_dir_write(dir, "config.json", "{\"auths\":{\"h:5000\":{\"auth\":\"YTpi\"}}}\n");
  CU_ASSERT_EQUAL(auth_file_read(path, &image, &credentials, &err), 0);
  CHECK_STRING(credentials.user, "a");
  temp_dir_write(dir, "config.json", "{");
  CU_ASSERT_EQUAL(auth_file_read(path, &image, &credentials, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "config.json");
}

UNIT_MAIN("populator/registry/auth_file", UNIT_TEST(test_entries_of_every_form),
          UNIT_TEST(test_the_entry_that_fits_best),
          UNIT_TEST(test_the_entry_that_docker_makes_for_its_hub), UNIT_TEST(test_bad_files),
          UNIT_TEST(test_files_are_read))
