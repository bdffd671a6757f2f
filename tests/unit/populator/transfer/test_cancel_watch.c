/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/cancel_watch.h"

#include <poll.h>

#include "tests/unit/unit.h"

static void
count(void *context)
{
  atomic_fetch_add((atomic_int *)context, 1);
}

static void
test_it_tells_once_and_soon(void)
{
  struct progress progress = {0};
  atomic_int told = 0;
  struct cancel_watch *watch = cancel_watch_start(&progress, count, &told);
  REQUIRE(watch != NULL);
  (void)poll(NULL, 0, 50);
  CHECK_NUMBER(atomic_load(&told), 0);
  atomic_store(&progress.is_cancelled, true);
  for (int i = 0; i < 500 && atomic_load(&told) == 0; i++)
    (void)poll(NULL, 0, 10);
  (void)poll(NULL, 0, 250);
  CHECK_NUMBER(atomic_load(&told), 1);
  cancel_watch_stop(watch);
}

static void
test_it_tells_nothing_when_it_is_stopped_before(void)
{
  struct progress progress = {0};
  atomic_int told = 0;
  struct cancel_watch *watch = cancel_watch_start(&progress, count, &told);
  cancel_watch_stop(watch);
  atomic_store(&progress.is_cancelled, true);
  (void)poll(NULL, 0, 250);
  CHECK_NUMBER(atomic_load(&told), 0);
  cancel_watch_stop(NULL);
}

UNIT_MAIN("populator/transfer/cancel_watch", UNIT_TEST(test_it_tells_once_and_soon),
          UNIT_TEST(test_it_tells_nothing_when_it_is_stopped_before))
