/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_held.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "tests/format/pack.h"
#include "tests/unit/unit.h"

#define SPACE ((size_t)3 << 20)

static char data[SPACE], buf[SPACE];

static void
test_what_is_held_is_read_without_holes(void)
{
  CLEANUP(qcow2_held_clear) struct qcow2_held held = {0};
  pack_fill(data, SPACE, 1);
  qcow2_held_add(&held, 1000, data + 1000, 500, false);
  qcow2_held_add(&held, 1500, data + 1500, 100, true);
  qcow2_held_add(&held, 1600, data + 1600, 400, false);
  qcow2_held_add(&held, 3000, data + 3000, 1000, false);
  CHECK_NUMBER(held.bytes, 1900);
  CHECK_NUMBER(qcow2_held_read(&held, 0, buf, 100), 0);
  CHECK_NUMBER(qcow2_held_read(&held, 999, buf, 100), 0);
  CHECK_NUMBER(qcow2_held_read(&held, 1000, buf, 5000), 1000);
  CU_ASSERT(memcmp(buf, data + 1000, 1000) == 0);
  CHECK_NUMBER(qcow2_held_read(&held, 1550, buf, 100), 100);
  CU_ASSERT(memcmp(buf, data + 1550, 100) == 0);
  CHECK_NUMBER(qcow2_held_read(&held, 1999, buf, 100), 1);
  CHECK_NUMBER(qcow2_held_read(&held, 2000, buf, 100), 0);
  CHECK_NUMBER(qcow2_held_read(&held, 3999, buf, 100), 1);
  CHECK_NUMBER(qcow2_held_read(&held, 4000, buf, 100), 0);
}

static void
test_long_stretches_are_many_segments(void)
{
  CLEANUP(qcow2_held_clear) struct qcow2_held held = {0};
  pack_fill(data, SPACE, 2);
  for (size_t at = 0; at < SPACE; at += 10000) {
    size_t part = SPACE - at < 10000 ? SPACE - at : 10000;
    qcow2_held_add(&held, at, data + at, part, false);
  }
  CHECK_NUMBER(held.count, SPACE / QCOW2_SEGMENT_MAX);
  CHECK_NUMBER(held.bytes, SPACE);
  CHECK_NUMBER(qcow2_held_read(&held, 0, buf, SPACE), SPACE);
  CU_ASSERT(memcmp(buf, data, SPACE) == 0);
}

static void
test_slack_is_limited_and_does_not_count(void)
{
  CLEANUP(qcow2_held_clear) struct qcow2_held held = {0};
  size_t count = QCOW2_SLACK_MAX + 500;
  for (size_t i = 0; i < count; i++)
    qcow2_held_add(&held, i * 1000, data, 10, true);
  CHECK_NUMBER(held.bytes, 0);
  CHECK_NUMBER(held.slack_count, QCOW2_SLACK_MAX);
  CHECK_NUMBER(qcow2_held_read(&held, 499000, buf, 10), 0);
  CHECK_NUMBER(qcow2_held_read(&held, 500000, buf, 10), 10);
  CHECK_NUMBER(qcow2_held_read(&held, (count - 1) * 1000, buf, 10), 10);
}

/* Against a plain array of what is there. */
static void
test_any_piece_can_be_taken_out(void)
{
  static bool there[SPACE];
  CLEANUP(qcow2_held_clear) struct qcow2_held held = {0};
  size_t end = 0;
  pack_fill(data, SPACE, 3);
  srandom(3);
  memset(there, 0, sizeof(there));
  for (unsigned round = 0; round < 3000; round++) {
    size_t len = 1 + (size_t)random() % 1200;
    if (random() % 2 && end + 2 * len < SPACE) {
      size_t offset = end + (random() % 2 ? 0 : len);
      bool is_slack = random() % 8 == 0;
      qcow2_held_add(&held, offset, data + offset, len, is_slack);
      memset(there + offset, 1, len);
      end = offset + len;
      continue;
    }
    size_t from = end > 0 ? (size_t)random() % end : 0;
    size_t expected = 0;
    while (expected < len && from + expected < end && there[from + expected])
      expected++;
    size_t got = qcow2_held_read(&held, from, buf, len);
    CHECK_NUMBER(got, expected);
    CU_ASSERT(memcmp(buf, data + from, got) == 0);
    qcow2_held_remove(&held, from, len);
    memset(there + from, 0, len);
    CHECK_NUMBER(qcow2_held_read(&held, from, buf, 1), 0);
  }
  size_t bytes = 0, slack = 0, slack_count = 0;
  for (size_t i = 0; i < held.count; i++) {
    const struct qcow2_segment *segment = &held.segments[i];
    *(segment->is_slack ? &slack : &bytes) += segment->len;
    slack_count += segment->is_slack && segment->len > 0;
  }
  CHECK_NUMBER(held.bytes, bytes);
  CHECK_NUMBER(held.slack_count, slack_count);
  size_t all = 0;
  for (size_t i = 0; i < SPACE; i++)
    all += there[i];
  CHECK_NUMBER(bytes + slack, all);
}

UNIT_MAIN("populator/format/qcow2_held", UNIT_TEST(test_what_is_held_is_read_without_holes),
          UNIT_TEST(test_long_stretches_are_many_segments),
          UNIT_TEST(test_slack_is_limited_and_does_not_count),
          UNIT_TEST(test_any_piece_can_be_taken_out))
