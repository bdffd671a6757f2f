/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/volume_id.h"

#include <string.h>
#include <sys/wait.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "tests/unit/unit.h"

#define LONGEST_CLUSTER "01234567-89ab-cdef-0123-456789abcdef"
#define LONGEST_NAMESPACE "abcdefghijklmnopqrstuvwxyz012345"
#define LONGEST_IMAGE "abcdefghijklmnopqrstuvwx"

static const struct {
  const char *text;
  struct volume_id id;
} good_volumes[] = {
    {"1:prod:3::10f4a6b8b4567", {"prod", 3, "", "10f4a6b8b4567"}},
    {"1:prod:3:tenant-a:10f4a6b8b4567", {"prod", 3, "tenant-a", "10f4a6b8b4567"}},
    {"1:c:0::i", {"c", 0, "", "i"}},
    {"1:a.b_c-d:12:A.B_C-D:Z9", {"a.b_c-d", 12, "A.B_C-D", "Z9"}},
    {"1:c:9223372036854775807::i", {"c", INT64_MAX, "", "i"}},
    {"1:" LONGEST_CLUSTER ":1:" LONGEST_NAMESPACE ":" LONGEST_IMAGE,
     {LONGEST_CLUSTER, 1, LONGEST_NAMESPACE, LONGEST_IMAGE}},
    {"1:" LONGEST_CLUSTER ":9223372036854775807:" LONGEST_NAMESPACE ":" LONGEST_IMAGE,
     {LONGEST_CLUSTER, INT64_MAX, LONGEST_NAMESPACE, LONGEST_IMAGE}},
};

#define GOOD_VOLUMES (sizeof(good_volumes) / sizeof(good_volumes[0]))

static void
test_volumes_are_read_and_written_alike(void)
{
  for (size_t i = 0; i < GOOD_VOLUMES; i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct volume_id id;
    memset(&id, 0xff, sizeof(id));
    CHECK_ROW(volume_id_decode(good_volumes[i].text, &id, &err) == 0, good_volumes[i].text);
    CU_ASSERT_PTR_NULL(err);
    CHECK_STRING(id.cluster_id, good_volumes[i].id.cluster_id);
    CHECK_NUMBER(id.pool_id, good_volumes[i].id.pool_id);
    CHECK_STRING(id.name_space, good_volumes[i].id.name_space);
    CHECK_STRING(id.image_id, good_volumes[i].id.image_id);
    CLEANUP(freep) char *text = volume_id_encode(&good_volumes[i].id);
    CHECK_STRING(text, good_volumes[i].text);
    CU_ASSERT(strlen(text) <= VOLUME_ID_MAX);
  }
}

static void
test_snapshots_are_read_and_written_alike(void)
{
  static const struct {
    const char *text;
    struct snapshot_id id;
  } rows[] = {
      {"1:prod:3::10f4@0", {{"prod", 3, "", "10f4"}, 0}},
      {"1:prod:3::10f4@1a", {{"prod", 3, "", "10f4"}, 0x1a}},
      {"1:prod:3:ns:10f4@ffffffffffffffff", {{"prod", 3, "ns", "10f4"}, UINT64_MAX}},
      {"1:" LONGEST_CLUSTER ":99999999999999:" LONGEST_NAMESPACE ":" LONGEST_IMAGE
       "@fffffffffffffffe",
       {{LONGEST_CLUSTER, 99999999999999, LONGEST_NAMESPACE, LONGEST_IMAGE}, UINT64_MAX - 1}},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct snapshot_id id;
    CHECK_ROW(snapshot_id_decode(rows[i].text, &id, &err) == 0, rows[i].text);
    CU_ASSERT(volume_id_equal(&id.volume, &rows[i].id.volume));
    CU_ASSERT(id.snap_id == rows[i].id.snap_id);
    CLEANUP(freep) char *text = snapshot_id_encode(&rows[i].id);
    CHECK_STRING(text, rows[i].text);
    CU_ASSERT(strlen(text) <= VOLUME_ID_MAX);
  }
}

/* Refused with the code and the text in the message; the output stays as it was. */
static void
check_refused(const char *text)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct volume_id id = {"untouched", 42, "untouched", "untouched"};
  const struct volume_id before = id;
  CHECK_ROW(volume_id_decode(text, &id, &err) == -1, text);
  CU_ASSERT(volume_id_equal(&id, &before));
  CLEANUP(freep) char *message = xasprintf("'%.128s' is not a volume id of this driver", text);
  text_make_line(message);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, message);
}

static void
test_decode_rejects_other_spellings(void)
{
  static const char *const rows[] = {
      "",
      "1",
      ":",
      "0001-0009-rook-ceph-0000000000000001-b0285c97",
      "2:prod:3::10f4",
      "01:prod:3::10f4",
      " 1:prod:3::10f4",
      "1:prod:3::10f4 ",
      "1:prod:3::10f4\n",
      "1:prod:03::10f4",
      "1:prod:00::10f4",
      "1:prod:+3::10f4",
      "1:prod:-3::10f4",
      "1:prod:-1::10f4",
      "1:prod:0x3::10f4",
      "1:prod:3a::10f4",
      "1:prod: 3::10f4",
      "1:prod:::10f4",
      "1:prod:9223372036854775808::10f4",
      "1:prod:18446744073709551616::10f4",
      "1:prod:100000000000000000000000::10f4",
      "1::3::10f4",
      "1:prod:3::",
      "1:prod:3:10f4",
      "1:prod:3",
      "1:prod:3:::10f4",
      "1:prod:3:ns:10f4:x",
      "1:pr/od:3::10f4",
      "1:-prod:3::10f4",
      "1:.:3::10f4",
      "1:prod:3:../x:10f4",
      "1:prod:3:n s:10f4",
      "1:prod:3:.ns:10f4",
      "1:prod:3::10f4/x",
      "1:prod:3::10f4@1",
      "1:prod:3::-10f4",
      "1:pr\xc3\xb6"
      "d:3::10f4",
      "1:prod:3::10\xff"
      "f4",
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    check_refused(rows[i]);
}

static void
test_decode_rejects_parts_that_are_too_long(void)
{
  check_refused("1:" LONGEST_CLUSTER "x:1::i");
  check_refused("1:c:1:" LONGEST_NAMESPACE "x:i");
  check_refused("1:c:1::" LONGEST_IMAGE "x");
  char text[1000];
  memset(text, 'a', sizeof(text));
  memcpy(text, "1:c:1::", 7);
  text[sizeof(text) - 1] = '\0';
  check_refused(text);
  memset(text, ':', sizeof(text) - 1);
  check_refused(text);
}

static void
test_decode_rejects_every_truncation(void)
{
  static const char whole[] = "1:prod:37:tenant:10f4a6";
  for (size_t len = 0; len < sizeof(whole) - 1; len++) {
    CLEANUP(freep) char *text = xstrndup(whole, len);
    struct volume_id id;
    /* Only the image id can be shorter and still be one; then it names another image. */
    bool is_other = len > strlen("1:prod:37:tenant:");
    CHECK_ROW((volume_id_decode(text, &id, NULL) == 0) == is_other, text);
  }
}

static void
test_snapshot_decode_rejects_other_spellings(void)
{
  static const char *const rows[] = {
      "",
      "@",
      "@1",
      "1:prod:3::10f4",
      "1:prod:3::10f4@",
      "1:prod:3::10f4@01",
      "1:prod:3::10f4@00",
      "1:prod:3::10f4@1A",
      "1:prod:3::10f4@0x1",
      "1:prod:3::10f4@g",
      "1:prod:3::10f4@-1",
      "1:prod:3::10f4@1@2",
      "1:prod:3::10f4@1 ",
      "1:prod:3::10f4@10000000000000000",
      "1:prod:3::@1",
      "1:prod:3@1",
      "1:pr@od:3::10f4",
      "1:" LONGEST_CLUSTER ":9223372036854775807:" LONGEST_NAMESPACE ":" LONGEST_IMAGE
      "@ffffffffffffffff",
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct snapshot_id id;
    CHECK_ROW(snapshot_id_decode(rows[i], &id, &err) == -1, rows[i]);
    CLEANUP(freep) char *message = xasprintf("'%.128s' is not a snapshot id", rows[i]);
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, message);
  }
}

static void
test_a_long_text_is_cut_in_the_message(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  char text[5000];
  memset(text, 'x', sizeof(text));
  text[sizeof(text) - 1] = '\0';
  struct volume_id id;
  CU_ASSERT_EQUAL(volume_id_decode(text, &id, &err), -1);
  REQUIRE(err);
  CU_ASSERT(strlen(err->message) < 200);
}

static void
test_equal_compares_every_part(void)
{
  const struct volume_id id = {"c", 1, "n", "i"};
  static const struct volume_id others[] = {{"d", 1, "n", "i"},
                                            {"c", 2, "n", "i"},
                                            {"c", 1, "m", "i"},
                                            {"c", 1, "", "i"},
                                            {"c", 1, "n", "j"}};
  struct volume_id same = {"c", 1, "n", "i"};
  same.cluster_id[5] = 'x'; /* behind the end: not part of it */
  CU_ASSERT(volume_id_equal(&id, &same));
  for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
    CU_ASSERT_FALSE(volume_id_equal(&id, &others[i]));
}

/* A handle that cannot be read back would be a volume that nobody can delete. */
static bool
encoding_aborts(const struct snapshot_id *id, bool is_volume)
{
  pid_t pid = fork();
  if (pid == 0) {
    (void)close(STDERR_FILENO);
    free(is_volume ? volume_id_encode(&id->volume) : snapshot_id_encode(id));
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void
test_encoding_what_cannot_be_read_back_aborts(void)
{
  static const struct snapshot_id bad_volume = {{"c", -1, "", "i"}, 1};
  static const struct snapshot_id bad_name = {{"c/d", 1, "", "i"}, 1};
  static const struct snapshot_id too_long = {
      {LONGEST_CLUSTER, INT64_MAX, LONGEST_NAMESPACE, LONGEST_IMAGE}, UINT64_MAX};
  CU_ASSERT(encoding_aborts(&bad_volume, true));
  CU_ASSERT(encoding_aborts(&bad_name, true));
  CU_ASSERT(encoding_aborts(&bad_volume, false));
  CU_ASSERT_FALSE(encoding_aborts(&too_long, true));
  CU_ASSERT(encoding_aborts(&too_long, false));
}

UNIT_MAIN("csi/volume/volume_id", UNIT_TEST(test_volumes_are_read_and_written_alike),
          UNIT_TEST(test_snapshots_are_read_and_written_alike),
          UNIT_TEST(test_decode_rejects_other_spellings),
          UNIT_TEST(test_decode_rejects_parts_that_are_too_long),
          UNIT_TEST(test_decode_rejects_every_truncation),
          UNIT_TEST(test_snapshot_decode_rejects_other_spellings),
          UNIT_TEST(test_a_long_text_is_cut_in_the_message),
          UNIT_TEST(test_equal_compares_every_part),
          UNIT_TEST(test_encoding_what_cannot_be_read_back_aborts))
