/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/claim.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/memory.h"
#include "tests/ceph/place.h"
#include "tests/ceph/threads.h"

/* Takes the name and checks who has it: NULL when it was free. */
static void
check_take(const char *name, const char *owner, const char *expected)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(freep) char *has = NULL;
  CHECK_NUMBER(claim_take(place.pool, name, owner, &has, &err), 0);
  CHECK_STRING(has, expected);
}

static void
test_a_name_has_one_owner_until_he_drops_it(void)
{
  const char *name = named("claim");
  check_take(name, "a", NULL);
  check_take(name, "a", "a");
  check_take(name, "b", "a");
  CHECK_NUMBER(claim_drop(place.pool, name, "b", NULL), 0); /* not his */
  check_take(name, "b", "a");
  CHECK_NUMBER(claim_drop(place.pool, name, "a", NULL), 0);
  CHECK_NUMBER(claim_drop(place.pool, name, "a", NULL), 0);
  check_take(name, "b", NULL);
  CHECK_NUMBER(claim_drop(place.pool, name, "b", NULL), 0);
}

static void
test_an_owner_is_not_taken_for_one_that_begins_alike(void)
{
  const char *name = named("alike");
  check_take(name, "owner", NULL);
  CHECK_NUMBER(claim_drop(place.pool, name, "own", NULL), 0);
  CHECK_NUMBER(claim_drop(place.pool, name, "owner2", NULL), 0);
  check_take(name, "x", "owner");
  CHECK_NUMBER(claim_drop(place.pool, name, "owner", NULL), 0);
}

static void
test_the_longest_owner_comes_back_whole(void)
{
  const char *name = named("longest");
  char owner[CLAIM_OWNER_MAX + 1];
  memset(owner, 'o', CLAIM_OWNER_MAX);
  owner[CLAIM_OWNER_MAX] = '\0';
  check_take(name, owner, NULL);
  check_take(name, "x", owner);
  CHECK_NUMBER(claim_drop(place.pool, name, owner, NULL), 0);
}

static void
test_a_name_is_passed_on_only_by_its_owner(void)
{
  const char *name = named("pass");
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(claim_pass(place.pool, name, "a", "b", &err), -1);
  CHECK_ERROR(&err, ERROR_ABORTED, name);
  CU_ASSERT_FALSE(has_object(place.pool, "%s", name)); /* nothing was made by trying */
  check_take(name, "a", NULL);
  CHECK_NUMBER(claim_pass(place.pool, name, "c", "d", &err), -1);
  CHECK_ERROR(&err, ERROR_ABORTED, name);
  CHECK_NUMBER(claim_pass(place.pool, name, "a", "b", &err), 0);
  check_take(name, "a", "b");
  CHECK_NUMBER(claim_drop(place.pool, name, "b", NULL), 0);
}

static void
test_a_name_is_found_where_it_is_claimed(void)
{
  const char *name = named("find");
  struct location *items[] = {place.other, place.pool, place.tenant};
  struct locations all = {.items = items, .count = 3};
  CHECK_NUMBER(claim_find(&all, name), -1);
  CHECK_NUMBER(claim_find(&(struct locations){0}, name), -1);
  CLEANUP(freep) char *has = NULL;
  REQUIRE(claim_take(place.tenant, name, "t", &has, NULL) == 0);
  CHECK_NUMBER(claim_find(&all, name), 2);
  REQUIRE(claim_take(place.pool, name, "p", &has, NULL) == 0);
  CU_ASSERT_PTR_NULL(has); /* a name of its own in each place */
  CHECK_NUMBER(claim_find(&all, name), 1);
  CHECK_NUMBER(claim_drop(place.pool, name, "p", NULL), 0);
  CHECK_NUMBER(claim_find(&all, name), 2);
  CHECK_NUMBER(claim_drop(place.tenant, name, "t", NULL), 0);
  CHECK_NUMBER(claim_find(&all, name), -1);
}

#define RACERS 8
#define ROUNDS 20

struct racer {
  char owner[8];
  const char *name;
  int won;
  int failed;
};

static void
make_racers(struct racer racers[RACERS], const char *name)
{
  memset(racers, 0, RACERS * sizeof(racers[0]));
  for (int i = 0; i < RACERS; i++) {
    (void)snprintf(racers[i].owner, sizeof(racers[i].owner), "r%d", i);
    racers[i].name = name;
  }
}

static void
take_once(void *context)
{
  struct racer *racer = context;
  CLEANUP(freep) char *has = NULL;
  if (claim_take(place.pool, racer->name, racer->owner, &has, NULL) < 0)
    racer->failed++;
  else
    racer->won += !has;
}

static void
pass_once(void *context)
{
  struct racer *racer = context;
  CLEANUP(error_freep) struct error *err = NULL;
  if (claim_pass(place.pool, racer->name, "old", racer->owner, &err) == 0)
    racer->won++;
  else
    racer->failed += err->code != ERROR_ABORTED;
}

/* Of all who try at once, one wins, and the others see him. */
static void
check_one_wins(void (*work)(void *), const char *owner_before)
{
  const char *name = named("race");
  for (int round = 0; round < ROUNDS; round++) {
    struct racer racers[RACERS];
    make_racers(racers, name);
    if (owner_before)
      check_take(name, owner_before, NULL);
    threads_run(work, racers, sizeof(racers[0]), RACERS);
    int won = 0;
    const char *winner = NULL;
    for (int i = 0; i < RACERS; i++) {
      CHECK_NUMBER(racers[i].failed, 0);
      won += racers[i].won;
      if (racers[i].won)
        winner = racers[i].owner;
    }
    CHECK_NUMBER(won, 1);
    REQUIRE(winner);
    check_take(name, "late", winner);
    CHECK_NUMBER(claim_drop(place.pool, name, winner, NULL), 0);
  }
}

static void
test_one_of_many_takes_a_name(void)
{
  check_one_wins(take_once, NULL);
}

static void
test_a_name_is_passed_to_one_of_many(void)
{
  check_one_wins(pass_once, "old");
}

/* Takers meet droppers: whoever is told that the name is his has it alone. */
static int inside;

static void
take_and_drop(void *context)
{
  struct racer *racer = context;
  for (int i = 0; i < ROUNDS; i++) {
    CLEANUP(freep) char *has = NULL;
    if (claim_take(place.pool, racer->name, racer->owner, &has, NULL) < 0) {
      racer->failed++;
      continue;
    }
    if (has)
      continue;
    if (__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) != 1)
      racer->failed++;
    racer->won++;
    (void)__atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
    if (claim_drop(place.pool, racer->name, racer->owner, NULL) < 0)
      racer->failed++;
  }
}

static void
test_takers_and_droppers_do_not_overlap(void)
{
  const char *name = named("churn");
  struct racer racers[RACERS];
  make_racers(racers, name);
  threads_run(take_and_drop, racers, sizeof(racers[0]), RACERS);
  int won = 0;
  for (int i = 0; i < RACERS; i++) {
    CHECK_NUMBER(racers[i].failed, 0);
    won += racers[i].won;
  }
  CU_ASSERT(won > 0);
  CU_ASSERT_FALSE(has_object(place.pool, "%s", name));
}

CEPH_MAIN("ceph/claim", UNIT_TEST(test_a_name_has_one_owner_until_he_drops_it),
          UNIT_TEST(test_an_owner_is_not_taken_for_one_that_begins_alike),
          UNIT_TEST(test_the_longest_owner_comes_back_whole),
          UNIT_TEST(test_a_name_is_passed_on_only_by_its_owner),
          UNIT_TEST(test_a_name_is_found_where_it_is_claimed),
          UNIT_TEST(test_one_of_many_takes_a_name), UNIT_TEST(test_a_name_is_passed_to_one_of_many),
          UNIT_TEST(test_takers_and_droppers_do_not_overlap))
