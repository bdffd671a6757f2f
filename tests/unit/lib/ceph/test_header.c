/* SPDX-License-Identifier: Apache-2.0 */
/* What needs no cluster; the rest is tested against a real one. */
#include "lib/ceph/header.h"

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

static void
add_snap(struct snaps *snaps, uint64_t id, enum snap_kind kind, const char *name)
{
  snaps->items = xrealloc(snaps->items, snaps->count + 1, sizeof(snaps->items[0]));
  snaps->items[snaps->count++] = (struct snap){.id = id, .kind = kind, .name = xstrdup(name)};
}

static void
test_snapshots_are_found_by_id_and_by_the_users_name(void)
{
  struct snaps snaps = {0};
  CU_ASSERT_PTR_NULL(snaps_find(&snaps, 1));
  CU_ASSERT_PTR_NULL(snaps_find_name(&snaps, "a"));
  add_snap(&snaps, 9, SNAP_KIND_TRASH, "a"); /* its name is free again */
  add_snap(&snaps, 4, SNAP_KIND_USER, "a");
  add_snap(&snaps, 2, SNAP_KIND_GROUP, "b");
  add_snap(&snaps, 1, SNAP_KIND_OTHER, "c");
  CU_ASSERT_PTR_EQUAL(snaps_find(&snaps, 9), &snaps.items[0]);
  CU_ASSERT_PTR_EQUAL(snaps_find(&snaps, 1), &snaps.items[3]);
  CU_ASSERT_PTR_NULL(snaps_find(&snaps, 3));
  CU_ASSERT_PTR_EQUAL(snaps_find_name(&snaps, "a"), &snaps.items[1]);
  CU_ASSERT_PTR_NULL(snaps_find_name(&snaps, "b"));
  CU_ASSERT_PTR_NULL(snaps_find_name(&snaps, "c"));
  CU_ASSERT_PTR_NULL(snaps_find_name(&snaps, "A"));
  snaps_clear(&snaps);
  CHECK_NUMBER(snaps.count, 0);
  snaps_clear(&snaps);
}

UNIT_MAIN("lib/ceph/header", UNIT_TEST(test_snapshots_are_found_by_id_and_by_the_users_name))
