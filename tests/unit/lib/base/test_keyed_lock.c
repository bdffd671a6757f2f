/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/keyed_lock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>

#include "tests/unit/unit.h"

static void
test_an_exclusive_key_is_held_by_one(void)
{
  CLEANUP(keyed_locks_freep) struct keyed_locks *locks = keyed_locks_new();
  struct keyed_lock *lock = keyed_lock_try(locks, "v1", KEYED_LOCK_EXCLUSIVE, "first", NULL);
  REQUIRE(lock);
  CU_ASSERT_PTR_NULL(keyed_lock_try(locks, "v1", KEYED_LOCK_EXCLUSIVE, "second", NULL));
  CU_ASSERT_PTR_NULL(keyed_lock_try(locks, "v1", KEYED_LOCK_SHARED, "second", NULL));
  keyed_lock_release(lock);
  lock = keyed_lock_try(locks, "v1", KEYED_LOCK_EXCLUSIVE, "second", NULL);
  CU_ASSERT_PTR_NOT_NULL(lock);
  keyed_lock_release(lock);
}

static void
test_a_shared_key_is_held_by_many_and_by_no_exclusive_one(void)
{
  CLEANUP(keyed_locks_freep) struct keyed_locks *locks = keyed_locks_new();
  struct keyed_lock *held[3];
  for (int i = 0; i < 3; i++) {
    held[i] = keyed_lock_try(locks, "v1", KEYED_LOCK_SHARED, "clone", NULL);
    REQUIRE(held[i]);
  }
  for (int i = 0; i < 3; i++) {
    CU_ASSERT_PTR_NULL(keyed_lock_try(locks, "v1", KEYED_LOCK_EXCLUSIVE, "delete", NULL));
    keyed_lock_release(held[i]);
  }
  struct keyed_lock *lock = keyed_lock_try(locks, "v1", KEYED_LOCK_EXCLUSIVE, "delete", NULL);
  CU_ASSERT_PTR_NOT_NULL(lock);
  keyed_lock_release(lock);
}

static void
test_other_keys_are_free(void)
{
  CLEANUP(keyed_locks_freep) struct keyed_locks *locks = keyed_locks_new();
  struct keyed_lock *one = keyed_lock_try(locks, "v1", KEYED_LOCK_EXCLUSIVE, "x", NULL);
  struct keyed_lock *longer = keyed_lock_try(locks, "v11", KEYED_LOCK_EXCLUSIVE, "x", NULL);
  struct keyed_lock *empty = keyed_lock_try(locks, "", KEYED_LOCK_EXCLUSIVE, "x", NULL);
  CU_ASSERT(one && longer && empty);
  keyed_lock_release(one);
  keyed_lock_release(longer);
  keyed_lock_release(empty);
}

static void
test_two_tables_know_nothing_of_each_other(void)
{
  CLEANUP(keyed_locks_freep) struct keyed_locks *a = keyed_locks_new();
  CLEANUP(keyed_locks_freep) struct keyed_locks *b = keyed_locks_new();
  struct keyed_lock *in_a = keyed_lock_try(a, "v1", KEYED_LOCK_EXCLUSIVE, "x", NULL);
  struct keyed_lock *in_b = keyed_lock_try(b, "v1", KEYED_LOCK_EXCLUSIVE, "x", NULL);
  CU_ASSERT(in_a && in_b);
  keyed_lock_release(in_a);
  keyed_lock_release(in_b);
}

static void
test_who_is_refused_learns_of_the_holder(void)
{
  CLEANUP(keyed_locks_freep) struct keyed_locks *locks = keyed_locks_new();
  struct keyed_lock *lock = keyed_lock_try(locks, "v1", KEYED_LOCK_EXCLUSIVE, "CreateVolume", NULL);
  struct keyed_lock_holder holder = {0};
  CU_ASSERT_PTR_NULL(keyed_lock_try(locks, "v1", KEYED_LOCK_EXCLUSIVE, "DeleteVolume", &holder));
  CHECK_STRING(holder.purpose, "CreateVolume");
  CHECK_NUMBER(holder.percent, -1);
  keyed_lock_report(lock, 40);
  CU_ASSERT_PTR_NULL(keyed_lock_try(locks, "v1", KEYED_LOCK_SHARED, "DeleteVolume", &holder));
  CHECK_NUMBER(holder.percent, 40);
  keyed_lock_release(lock);

  /* Who comes next starts from the beginning. */
  lock = keyed_lock_try(locks, "v1", KEYED_LOCK_EXCLUSIVE, "DeleteVolume", &holder);
  CU_ASSERT_PTR_NULL(keyed_lock_try(locks, "v1", KEYED_LOCK_EXCLUSIVE, "again", &holder));
  CHECK_STRING(holder.purpose, "DeleteVolume");
  CHECK_NUMBER(holder.percent, -1);
  keyed_lock_release(lock);
}

static void
test_the_holder_is_not_written_on_success(void)
{
  CLEANUP(keyed_locks_freep) struct keyed_locks *locks = keyed_locks_new();
  struct keyed_lock_holder holder = {.purpose = "untouched", .percent = 7};
  CLEANUP(keyed_lock_releasep)
  struct keyed_lock *lock = keyed_lock_try(locks, "v1", KEYED_LOCK_SHARED, "x", &holder);
  CU_ASSERT_PTR_NOT_NULL(lock);
  CHECK_STRING(holder.purpose, "untouched");
  CHECK_NUMBER(holder.percent, 7);
}

static void
test_the_key_is_copied(void)
{
  CLEANUP(keyed_locks_freep) struct keyed_locks *locks = keyed_locks_new();
  char key[] = "v1";
  struct keyed_lock *lock = keyed_lock_try(locks, key, KEYED_LOCK_EXCLUSIVE, "x", NULL);
  key[1] = '2';
  CU_ASSERT_PTR_NULL(keyed_lock_try(locks, "v1", KEYED_LOCK_EXCLUSIVE, "x", NULL));
  keyed_lock_release(lock);
}

/* More keys than the table has lists, so that they share. */
static void
test_many_keys_at_once(void)
{
  enum { KEYS = 2000 };
  CLEANUP(keyed_locks_freep) struct keyed_locks *locks = keyed_locks_new();
  static struct keyed_lock *held[KEYS];
  char key[32];
  unsigned wrong = 0;
  for (unsigned i = 0; i < KEYS; i++) {
    (void)snprintf(key, sizeof(key), "volume-%u", i);
    held[i] = keyed_lock_try(locks, key, KEYED_LOCK_EXCLUSIVE, "x", NULL);
    wrong += !held[i];
  }
  for (unsigned i = 0; i < KEYS; i++) {
    (void)snprintf(key, sizeof(key), "volume-%u", i);
    wrong += keyed_lock_try(locks, key, KEYED_LOCK_SHARED, "x", NULL) != NULL;
  }
  for (unsigned i = 0; i < KEYS; i++)
    keyed_lock_release(held[i * 7 % KEYS]);
  CHECK_NUMBER(wrong, 0);
}

static void
test_release_accepts_null(void)
{
  keyed_lock_release(NULL);
  keyed_locks_free(NULL);
}

static void *
release_it(void *lock)
{
  keyed_lock_release(lock);
  return NULL;
}

static void
test_another_thread_may_release(void)
{
  CLEANUP(keyed_locks_freep) struct keyed_locks *locks = keyed_locks_new();
  struct keyed_lock *lock = keyed_lock_try(locks, "v1", KEYED_LOCK_EXCLUSIVE, "x", NULL);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, release_it, lock) == 0);
  (void)pthread_join(thread, NULL);
  lock = keyed_lock_try(locks, "v1", KEYED_LOCK_EXCLUSIVE, "x", NULL);
  CU_ASSERT_PTR_NOT_NULL(lock);
  keyed_lock_release(lock);
}

static void
test_freeing_a_table_in_use_aborts(void)
{
  pid_t pid = fork();
  if (pid == 0) {
    (void)close(STDERR_FILENO);
    struct keyed_locks *locks = keyed_locks_new();
    (void)keyed_lock_try(locks, "v1", KEYED_LOCK_EXCLUSIVE, "x", NULL);
    keyed_locks_free(locks);
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  CU_ASSERT(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

struct contest {
  struct keyed_locks *locks;
  long guarded; /* written under the exclusive lock only, so ThreadSanitizer watches it */
  atomic_int exclusive, shared;
  atomic_int taken, violations;
};

static void *
compete(void *arg)
{
  struct contest *contest = arg;
  for (int i = 0; i < 3000; i++) {
    bool is_exclusive = i % 3 == 0;
    struct keyed_lock *lock =
        keyed_lock_try(contest->locks, i % 2 ? "a" : "b",
                       is_exclusive ? KEYED_LOCK_EXCLUSIVE : KEYED_LOCK_SHARED, "x", NULL);
    if (!lock)
      continue;
    atomic_fetch_add(&contest->taken, 1);
    keyed_lock_report(lock, i % 100);
    if (i % 2) {
      if (is_exclusive) {
        if (atomic_fetch_add(&contest->exclusive, 1) != 0 || atomic_load(&contest->shared) != 0)
          atomic_fetch_add(&contest->violations, 1);
        contest->guarded++;
        atomic_fetch_sub(&contest->exclusive, 1);
      } else {
        atomic_fetch_add(&contest->shared, 1);
        if (atomic_load(&contest->exclusive) != 0)
          atomic_fetch_add(&contest->violations, 1);
        atomic_fetch_sub(&contest->shared, 1);
      }
    }
    keyed_lock_release(lock);
  }
  return NULL;
}

static void
test_threads_never_hold_what_does_not_go_together(void)
{
  CLEANUP(keyed_locks_freep) struct keyed_locks *locks = keyed_locks_new();
  struct contest contest = {.locks = locks};
  pthread_t threads[8];
  int started = 0;
  while (started < 8 && pthread_create(&threads[started], NULL, compete, &contest) == 0)
    started++;
  for (int i = 0; i < started; i++)
    (void)pthread_join(threads[i], NULL);
  CHECK_NUMBER(started, 8);
  CHECK_NUMBER(contest.violations, 0);
  CU_ASSERT(contest.taken > 0);
  struct keyed_lock *lock = keyed_lock_try(locks, "a", KEYED_LOCK_EXCLUSIVE, "x", NULL);
  CU_ASSERT_PTR_NOT_NULL(lock); /* nothing was left behind */
  keyed_lock_release(lock);
}

UNIT_MAIN("lib/base/keyed_lock", UNIT_TEST(test_an_exclusive_key_is_held_by_one),
          UNIT_TEST(test_a_shared_key_is_held_by_many_and_by_no_exclusive_one),
          UNIT_TEST(test_other_keys_are_free),
          UNIT_TEST(test_two_tables_know_nothing_of_each_other),
          UNIT_TEST(test_who_is_refused_learns_of_the_holder),
          UNIT_TEST(test_the_holder_is_not_written_on_success), UNIT_TEST(test_the_key_is_copied),
          UNIT_TEST(test_many_keys_at_once), UNIT_TEST(test_release_accepts_null),
          UNIT_TEST(test_another_thread_may_release), UNIT_TEST(test_freeing_a_table_in_use_aborts),
          UNIT_TEST(test_threads_never_hold_what_does_not_go_together))
