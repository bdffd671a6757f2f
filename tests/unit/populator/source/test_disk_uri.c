/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/disk_uri.h"

#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

static void
test_urls_are_taken_apart(void)
{
  static const struct {
    const char *text;
    const char *host, *port, *path, *export_name;
    bool is_tls;
  } rows[] = {
      {"nbd://example.com", "example.com", "10809", NULL, "", false},
      {"nbd://example.com/", "example.com", "10809", NULL, "", false},
      {"nbd://example.com:/x", "example.com", "10809", NULL, "x", false},
      {"nbd://example.com:10810/disk", "example.com", "10810", NULL, "disk", false},
      {"nbd://192.0.2.1/a/b", "192.0.2.1", "10809", NULL, "a/b", false},
      {"nbds://[fd00::1]:99/a%20b", "fd00::1", "99", NULL, "a b", true},
      {"nbds://[fd00::1]", "fd00::1", "10809", NULL, "", true},
      {"NBD://example.com/X", "example.com", "10809", NULL, "X", false},
      {"nbd+unix:///?socket=/run/a.sock", NULL, NULL, "/run/a.sock", "", false},
      {"nbd+unix:///disk?socket=/run/a%20b", NULL, NULL, "/run/a b", "disk", false},
      {"nbd+unix://?socket=/a", NULL, NULL, "/a", "", false},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct disk_uri uri;
    REQUIRE(disk_uri_parse(rows[i].text, &uri, NULL) == 0);
    CHECK_STRING(uri.label, rows[i].text);
    CHECK_STRING(uri.host, rows[i].host);
    CHECK_STRING(uri.port, rows[i].port);
    CHECK_STRING(uri.path, rows[i].path);
    CHECK_STRING(uri.export_name, rows[i].export_name);
    CHECK_ROW(uri.is_tls == rows[i].is_tls, rows[i].text);
    disk_uri_clear(&uri);
  }
}

static void
test_what_is_no_such_url_is_refused(void)
{
  static const char *const rows[] = {"",
                                     "nbd:",
                                     "nbd:example.com",
                                     "nbd://",
                                     "nbd:///disk",
                                     "nbd://:10809/",
                                     "http://example.com",
                                     "nbd://user@example.com/",
                                     "nbd://user:secret@example.com/",
                                     "nbd://example.com:0/",
                                     "nbd://example.com:65536/",
                                     "nbd://example.com:x/",
                                     "nbd://[fd00::1/",
                                     "nbd://[fd00::1]x/",
                                     "nbd://fd00::1/",
                                     "nbd://exa mple/",
                                     "nbd://exa%20mple/",
                                     "nbd://example.com/%zz",
                                     "nbd://example.com/%00",
                                     "nbd://example.com/#x",
                                     "nbd://example.com/?tls-psk-file=/etc/x",
                                     "nbds+unix:///?socket=/a",
                                     "nbd+unix:///",
                                     "nbd+unix:///?socket=",
                                     "nbd+unix:///?socket=a",
                                     "nbd+unix:///?path=/a",
                                     "nbd+unix:///?socket=/a&tls-certificates=/b",
                                     "nbd+unix://host/?socket=/a",
                                     "nbd+vsock://2/",
                                     "nbd+ssh://example.com/"};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct disk_uri uri;
    struct error *err = NULL;
    CHECK_ROW(disk_uri_parse(rows[i], &uri, &err) == -1, rows[i]);
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "is not like nbd://");
  }
}

static void
test_a_password_is_not_quoted(void)
{
  struct disk_uri uri;
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(disk_uri_parse("nbd://user:secret@example.com/", &uri, &err), -1);
  CU_ASSERT(err && !strstr(err->message, "secret"));
}

static void
test_names_have_limits(void)
{
  char name[4200];
  memset(name, 'x', sizeof(name));
  struct disk_uri uri;
  CLEANUP(freep) char *fits = xasprintf("nbd://example.com/%.4096s", name);
  CLEANUP(freep) char *too_long = xasprintf("nbd://example.com/%.4097s", name);
  CLEANUP(freep) char *path_fits = xasprintf("nbd+unix:///?socket=/%.106s", name);
  CLEANUP(freep) char *path_too_long = xasprintf("nbd+unix:///?socket=/%.107s", name);
  REQUIRE(disk_uri_parse(fits, &uri, NULL) == 0);
  disk_uri_clear(&uri);
  CHECK_NUMBER(disk_uri_parse(too_long, &uri, NULL), -1);
  REQUIRE(disk_uri_parse(path_fits, &uri, NULL) == 0);
  disk_uri_clear(&uri);
  CHECK_NUMBER(disk_uri_parse(path_too_long, &uri, NULL), -1);
}

UNIT_MAIN("populator/source/disk_uri", UNIT_TEST(test_urls_are_taken_apart),
          UNIT_TEST(test_what_is_no_such_url_is_refused), UNIT_TEST(test_a_password_is_not_quoted),
          UNIT_TEST(test_names_have_limits))
