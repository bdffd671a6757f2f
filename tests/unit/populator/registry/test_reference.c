/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/registry/reference.h"

#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

#define DIGEST "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

static void
test_references_are_taken_apart(void)
{
  static const struct {
    const char *url;
    const char *host, *repository, *tag, *digest;
    const char *version;
    const char *full; /* NULL: the URL itself */
  } rows[] = {
      {"docker://h.x/r", "h.x", "r", NULL, NULL, "latest", "docker://h.x/r:latest"},
      {"docker://h.x/r:1.0", "h.x", "r", "1.0", NULL, "1.0", NULL},
      {"docker://h:5000/r", "h:5000", "r", NULL, NULL, "latest", "docker://h:5000/r:latest"},
      {"docker://h:5000/a/b-c/d_e__f.g:V_1.x-y", "h:5000", "a/b-c/d_e__f.g", "V_1.x-y", NULL,
       "V_1.x-y", NULL},
      {"docker://h.x/r@" DIGEST, "h.x", "r", NULL, DIGEST, DIGEST, NULL},
      {"docker://h.x/r:t@" DIGEST, "h.x", "r", "t", DIGEST, DIGEST, NULL},
      {"docker://127.0.0.1:80/r:t", "127.0.0.1:80", "r", "t", NULL, "t", NULL},
      {"docker://[::1]:5000/r:t", "[::1]:5000", "r", "t", NULL, "t", NULL},
      {"docker://[fe80::1]/r:t", "[fe80::1]", "r", "t", NULL, "t", NULL},
      {"docker://registry.example.com/r:_", "registry.example.com", "r", "_", NULL, "_", NULL},
      {"docker://Host-1.Example/a----b", "Host-1.Example", "a----b", NULL, NULL, "latest",
       "docker://Host-1.Example/a----b:latest"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(reference_clear) struct reference reference = {0};
    CLEANUP(error_freep) struct error *err = NULL;
    CHECK_ROW(reference_parse(rows[i].url, &reference, &err) == 0, rows[i].url);
    if (err)
      continue;
    CHECK_STRING(reference.host, rows[i].host);
    CHECK_STRING(reference.repository, rows[i].repository);
    CHECK_STRING(reference.tag, rows[i].tag);
    CHECK_STRING(reference.digest, rows[i].digest);
    CHECK_STRING(reference_version(&reference), rows[i].version);
    CLEANUP(freep) char *full = reference_url(&reference);
    CHECK_STRING(full, rows[i].full ? rows[i].full : rows[i].url);
  }
}

static void
test_docker_hub_has_several_names(void)
{
  static const struct {
    const char *url;
    const char *server, *full;
  } rows[] = {
      {"docker://docker.io/debian", "registry-1.docker.io",
       "docker://docker.io/library/debian:latest"},
      {"docker://docker.io/a/b:1", "registry-1.docker.io", "docker://docker.io/a/b:1"},
      {"docker://index.docker.io/a/b:1", "registry-1.docker.io", "docker://docker.io/a/b:1"},
      {"docker://debian", "registry-1.docker.io", "docker://docker.io/library/debian:latest"},
      {"docker://debian:12", "registry-1.docker.io", "docker://docker.io/library/debian:12"},
      {"docker://debian@" DIGEST, "registry-1.docker.io",
       "docker://docker.io/library/debian@" DIGEST},
      {"docker://kubevirt/fedora-cloud-registry-disk-demo", "registry-1.docker.io",
       "docker://docker.io/kubevirt/fedora-cloud-registry-disk-demo:latest"},
      {"docker://a/b/c:1", "registry-1.docker.io", "docker://docker.io/a/b/c:1"},
      {"docker://localhost/a:1", "localhost", "docker://localhost/a:1"},
      {"docker://h:5000/a:1", "h:5000", "docker://h:5000/a:1"},
      {"docker://Host/a:1", "Host", "docker://Host/a:1"},
      {"docker://quay.io/a:1", "quay.io", "docker://quay.io/a:1"},
      {"docker://docker.io:443/a:1", "docker.io:443", "docker://docker.io:443/a:1"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(reference_clear) struct reference reference = {0};
    REQUIRE(reference_parse(rows[i].url, &reference, NULL) == 0);
    CHECK_STRING(reference_server(&reference), rows[i].server);
    CLEANUP(freep) char *full = reference_url(&reference);
    CHECK_STRING(full, rows[i].full);
  }
}

static void
test_anything_else_is_refused(void)
{
  static const char *const rows[] = {
      "",
      "docker:",
      "docker://",
      "docker:///r",
      "docker://h/",
      "http://h/r",
      "h/r",
      "docker://h:/r",
      "docker://h:0/r",
      "docker://h:65536/r",
      "docker://h:123456/r",
      "docker://h:5a/r",
      "docker://h h/r",
      "docker://h_h.x/r",
      "docker://-h.x/r",
      "docker://.h/r",
      "docker://h.x-/r",
      "docker://h?x/r",
      "docker://[::1/r",
      "docker://[]/r",
      "docker://[::1]x/r",
      "docker://[::1]5000/r",
      "docker://h/R",
      "docker://h//r",
      "docker://h/r/",
      "docker://h/../r",
      "docker://h/r/..",
      "docker://h/.r",
      "docker://h/r.",
      "docker://h/a..b",
      "docker://h/a___b",
      "docker://h/a_-b",
      "docker://h/r?x",
      "docker://h/r#x",
      "docker://h/r%2e",
      "docker://h/r ",
      "docker://h/r:",
      "docker://h/r:.t",
      "docker://h/r:-t",
      "docker://h/r:t/u",
      "docker://h/r:t?",
      "docker://h/r:t:u",
      "docker://h/r@",
      "docker://h/r@sha256:",
      "docker://h/r@sha256:2cf24dba",
      "docker://h/r@md5:5d41402abc4b2a76b9719d911017c592",
      "docker://h/r@" DIGEST "0",
      "docker://h/r@" DIGEST ":t",
      "docker://h/r\n",
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct reference reference = {.host = (char *)"untouched"};
    CHECK_ROW(reference_parse(rows[i], &reference, &err) == -1, rows[i]);
    CHECK_ROW(err && err->code == ERROR_INVALID_ARGUMENT, rows[i]);
    CHECK_STRING(reference.host, "untouched");
  }
}

static void
test_passwords_are_not_repeated(void)
{
  static const char *const rows[] = {"docker://me:secret@h/r", "docker://me:secret@h.x:5000"};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct reference reference;
    CU_ASSERT_EQUAL(reference_parse(rows[i], &reference, &err), -1);
    REQUIRE(err);
    CU_ASSERT_PTR_NULL(strstr(err->message, "secret"));
  }
}

static void
test_lengths_are_bounded(void)
{
  char name[400];
  memset(name, 'a', sizeof(name));
  static const struct {
    const char *format;
    int max;
  } rows[] = {
      {"docker://A%.*s/r:t", 260}, {"docker://h.x/%.*s:t", 255}, {"docker://h.x/r:%.*s", 128}};
  for (size_t i = 0; i < 3; i++) {
    for (int more = 0; more < 2; more++) {
      CLEANUP(reference_clear) struct reference reference = {0};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
      CLEANUP(freep) char *url = xasprintf(rows[i].format, rows[i].max + more, name);
#pragma GCC diagnostic pop
      CHECK_ROW(reference_parse(url, &reference, NULL) == (more ? -1 : 0), rows[i].format);
    }
  }
}

UNIT_MAIN("populator/registry/reference", UNIT_TEST(test_references_are_taken_apart),
          UNIT_TEST(test_docker_hub_has_several_names), UNIT_TEST(test_anything_else_is_refused),
          UNIT_TEST(test_passwords_are_not_repeated), UNIT_TEST(test_lengths_are_bounded))
