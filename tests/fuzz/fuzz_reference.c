/* SPDX-License-Identifier: Apache-2.0 */
/* The URL of an image. What is taken can be written and read again, and holds nothing that would
 * need quoting in the path of a URL. */
#include <stdbool.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/registry/reference.h"
#include "tests/fuzz/fuzz.h"

#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

static bool
same(const char *a, const char *b)
{
  return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool
is_made_of(const char *text, const char *set)
{
  return !text[strspn(text, set)];
}

/* Written and read again, it is the same. */
static void
check_round_trip(const struct reference *reference)
{
  CLEANUP(reference_clear) struct reference again = {0};
  CLEANUP(freep) char *full = reference_url(reference);
  CHECK(reference_parse(full, &again, NULL) == 0);
  CHECK(same(reference->host, again.host));
  CHECK(same(reference->repository, again.repository));
  CHECK(same(reference->digest, again.digest));
  CHECK(same(reference_version(reference), reference_version(&again)));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  CLEANUP(freep) char *url = xstrndup((const char *)data, size);
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(reference_clear) struct reference reference = {0};
  if (reference_parse(url, &reference, &err) < 0) {
    CHECK(err && err->code == ERROR_INVALID_ARGUMENT && *err->message);
    return 0;
  }
  CHECK(*reference.host && is_made_of(reference.host, PLAIN "[]:"));
  CHECK(*reference.repository && is_made_of(reference.repository, PLAIN "/"));
  CHECK(!strstr(reference.repository, "..") && !strstr(reference.repository, "//"));
  CHECK(!reference.tag || (*reference.tag && is_made_of(reference.tag, PLAIN)));
  CHECK(is_made_of(reference_version(&reference), PLAIN ":"));
  check_round_trip(&reference);
  return 0;
}
