/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/image_name.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "tests/unit/unit.h"

#define EIGHTY "01234567890123456789012345678901234567890123456789012345678901234567890123456789"

static void
test_a_plain_name_stays_readable(void)
{
  CLEANUP(freep) char *volume = image_name_of_volume("pvc-b0285c97-a0ce");
  CHECK_STRING(volume, "imprint.v.pvc-b0285c97-a0ce");
  CLEANUP(freep) char *snapshot = image_name_of_snapshot("snapshot-1");
  CHECK_STRING(snapshot, "imprint.s.snapshot-1");
  CLEANUP(freep) char *longest = image_name_of_volume(EIGHTY);
  CHECK_STRING(longest, "imprint.v." EIGHTY);
}

static void
test_any_other_name_is_hashed(void)
{
  static const char *const names[] = {"a b", "a/b", "a@b", "\xc3\xa9", "-a", ".", "", EIGHTY "0"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    CLEANUP(freep) char *volume = image_name_of_volume(names[i]);
    CLEANUP(freep) char *snapshot = image_name_of_snapshot(names[i]);
    CHECK_ROW(text_starts_with(volume, "imprint.v-sha256."), names[i]);
    CHECK_ROW(text_starts_with(snapshot, "imprint.s-sha256."), names[i]);
    CHECK_NUMBER(strlen(volume), strlen("imprint.v-sha256.") + 64);
    CHECK_STRING(strrchr(volume, '.'), strrchr(snapshot, '.'));
  }
  CLEANUP(freep) char *known = image_name_of_volume("a b");
  CHECK_STRING(known, "imprint.v-sha256."
                      "c8687a08aa5d6ed2044328fa6a697ab8e96dc34291e8c2034ae8c38e6fcc6d65");
}

static int
by_text(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A request's name may be anything, also what we would make of another one. */
static void
test_different_requests_never_share_a_name(void)
{
  static const char *const requests[] = {
      "a",
      "A",
      "a b",
      "v",
      "v.a",
      "imprint.v.a",
      "imprint.v.a b",
      "-sha256.c8687a08aa5d6ed2044328fa6a697ab8e96dc34291e8c2034ae8c38e6fcc6d65",
      "sha256.c8687a08aa5d6ed2044328fa6a697ab8e96dc34291e8c2034ae8c38e6fcc6d65",
      "v-sha256.c8687a08aa5d6ed2044328fa6a697ab8e96dc34291e8c2034ae8c38e6fcc6d65",
      "c8687a08aa5d6ed2044328fa6a697ab8e96dc34291e8c2034ae8c38e6fcc6d65",
      EIGHTY,
      EIGHTY "0",
      EIGHTY "1",
  };
  enum { REQUESTS = sizeof(requests) / sizeof(requests[0]) };
  char *names[5 * REQUESTS];
  size_t count = 0;
  for (size_t i = 0; i < REQUESTS; i++) {
    names[count++] = image_name_of_volume(requests[i]);
    names[count++] = image_name_of_snapshot(requests[i]);
    names[count++] = image_name_of_deleted(requests[i]);
    names[count++] = image_name_of_claim(requests[i]);
    names[count++] = image_name_of_inline(requests[i]);
  }
  qsort(names, count, sizeof(names[0]), by_text);
  for (size_t i = 1; i < count; i++)
    CHECK_ROW(strcmp(names[i - 1], names[i]) != 0, names[i]);
  for (size_t i = 0; i < count; i++)
    free(names[i]);
}

static void
test_names_fit_what_krbd_takes(void)
{
  static const char *const requests[] = {"a", EIGHTY, EIGHTY "0", EIGHTY EIGHTY};
  for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
    CLEANUP(freep) char *name = image_name_of_volume(requests[i]);
    CU_ASSERT(strlen(name) <= 96);
    CU_ASSERT(text_is_plain_name(name, 96));
  }
}

static void
test_prefixes_tell_what_a_name_is_of(void)
{
  CLEANUP(freep) char *volume = image_name_of_volume("x");
  CLEANUP(freep) char *hashed = image_name_of_volume("x y");
  CLEANUP(freep) char *snapshot = image_name_of_snapshot("x");
  CLEANUP(freep) char *deleted = image_name_of_deleted("10f4");
  CLEANUP(freep) char *inline_volume = image_name_of_inline("csi-1");
  CHECK_STRING(deleted, "imprint.d.10f4");
  CHECK_STRING(inline_volume, "imprint.e.csi-1");
  const char *const all[] = {volume, hashed, snapshot, deleted, inline_volume};
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    CHECK_ROW(text_starts_with(all[i], IMAGE_NAME_PREFIX), all[i]);
    CHECK_ROW(text_starts_with(all[i], IMAGE_NAME_VOLUME_PREFIX) == (i < 2), all[i]);
    CHECK_ROW(text_starts_with(all[i], IMAGE_NAME_SNAPSHOT_PREFIX) == (i == 2), all[i]);
    CHECK_ROW(text_starts_with(all[i], IMAGE_NAME_DELETED_PREFIX) == (i == 3), all[i]);
    CHECK_ROW(text_starts_with(all[i], IMAGE_NAME_INLINE_PREFIX) == (i == 4), all[i]);
  }
}

UNIT_MAIN("csi/volume/image_name", UNIT_TEST(test_a_plain_name_stays_readable),
          UNIT_TEST(test_any_other_name_is_hashed),
          UNIT_TEST(test_different_requests_never_share_a_name),
          UNIT_TEST(test_names_fit_what_krbd_takes),
          UNIT_TEST(test_prefixes_tell_what_a_name_is_of))
