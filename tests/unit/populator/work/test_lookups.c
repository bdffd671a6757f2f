/* SPDX-License-Identifier: Apache-2.0 */
/* The worker is a shell script here: it does what its job says. */
#include "populator/work/lookups.h"

#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

static const char script[] = "#!/bin/sh\n"
                             "case $(cat) in\n"
                             "*hang*) exec sleep 60 ;;\n"
                             "*fail*) echo '{\"event\":\"failed\",\"code\":5,\"message\":\"no such "
                             "tag\"}'; exit 3 ;;\n"
                             "*) echo \"{\\\"identity\\\":\\\"$1\\\"}\" ;;\n"
                             "esac\n";

#define ABOUT "7 now"

struct stand {
  char *dir;
  char *worker;
  struct lookups *lookups;
  pthread_mutex_t mutex;
  int calls; /* of changed() */
};

static void
count_call(void *context, const char *key)
{
  struct stand *stand = context;
  (void)key;
  MUTEX_GUARD(&stand->mutex);
  stand->calls++;
}

static void
stand_open(struct stand *stand, int64_t timeout_ms)
{
  stand->dir = temp_dir_make();
  stand->calls = 0;
  (void)pthread_mutex_init(&stand->mutex, NULL);
  temp_dir_write(stand->dir, "worker", script);
  stand->worker = temp_dir_path(stand->dir, "worker");
  REQUIRE(chmod(stand->worker, 0700) == 0);
  const struct lookups_options options = {.worker = stand->worker,
                                          .max_running = 3,
                                          .max_of_host = 2,
                                          .timeout_ms = timeout_ms,
                                          .changed = count_call,
                                          .context = stand};
  stand->lookups = lookups_new(&options);
}

static void
stand_close(struct stand *stand)
{
  lookups_free(stand->lookups);
  (void)pthread_mutex_destroy(&stand->mutex);
  free(stand->worker);
  temp_dir_remove(stand->dir);
}

static void
ask(struct stand *stand, const char *key, const char *host, const char *what)
{
  struct json_object *job = json_object_new_object();
  json_put_text(job, what, "what");
  lookups_start(stand->lookups, key, ABOUT, host, "resolve", job);
}

/* Until there is an answer; the state of it, and its message. */
static enum lookup_state
await(struct stand *stand, const char *key, char **ret_message)
{
  int64_t deadline_ms = clock_now_ms() + 20000;
  for (;;) {
    CLEANUP(lookup_view_clear) struct lookup_view view;
    lookups_take(stand->lookups, key, &view);
    CU_ASSERT(view.state == LOOKUP_NONE || strcmp(view.about, ABOUT) == 0);
    if (view.state != LOOKUP_RUNNING || clock_now_ms() > deadline_ms) {
      const char *identity = json_text(view.result, "identity");
      *ret_message = xstrdup(identity ? identity : view.message);
      return view.state;
    }
    const struct timespec pause = {.tv_nsec = 10000000};
    (void)nanosleep(&pause, NULL);
  }
}

static void
test_answers_are_given_once(void)
{
  struct stand stand;
  stand_open(&stand, 20000);
  CLEANUP(freep) char *text = NULL;
  CLEANUP(freep) char *failure = NULL;
  CLEANUP(freep) char *nothing = NULL;
  ask(&stand, "a", "host", "answer");
  ask(&stand, "b", "host", "fail");
  CU_ASSERT_EQUAL(await(&stand, "a", &text), LOOKUP_DONE);
  CHECK_STRING(text, "resolve");
  CU_ASSERT_EQUAL(await(&stand, "a", &nothing), LOOKUP_NONE);
  CU_ASSERT_EQUAL(await(&stand, "b", &failure), LOOKUP_FAILED);
  CU_ASSERT_PTR_NOT_NULL(failure ? strstr(failure, "no such tag") : NULL);
  stand_close(&stand);
  CU_ASSERT_EQUAL(stand.calls, 2);
}

static void
test_a_host_that_hangs_leaves_places_for_others(void)
{
  struct stand stand;
  stand_open(&stand, 60000);
  for (int i = 0; i < 20; i++) {
    CLEANUP(freep) char *key = xasprintf("dead-%d", i);
    ask(&stand, key, "dead", "hang");
  }
  for (int i = 0; i < 5; i++) {
    CLEANUP(freep) char *key = xasprintf("alive-%d", i);
    CLEANUP(freep) char *text = NULL;
    ask(&stand, key, "alive", "answer");
    CU_ASSERT_EQUAL(await(&stand, key, &text), LOOKUP_DONE);
  }
  CLEANUP(lookup_view_clear) struct lookup_view view;
  lookups_take(stand.lookups, "dead-0", &view);
  CU_ASSERT_EQUAL(view.state, LOOKUP_RUNNING);
  lookups_forget(stand.lookups, "dead-0");
  lookup_view_clear(&view);
  lookups_take(stand.lookups, "dead-0", &view);
  CU_ASSERT_EQUAL(view.state, LOOKUP_NONE);
  int64_t started_ms = clock_now_ms();
  stand_close(&stand); /* does not wait for those that hang, nor for those that wait */
  CU_ASSERT(clock_now_ms() - started_ms < 15000);
}

static void
test_nobody_is_asked_for_longer_than_the_limit(void)
{
  struct stand stand;
  stand_open(&stand, 300);
  CLEANUP(freep) char *text = NULL;
  ask(&stand, "slow", "slow.example", "hang");
  CU_ASSERT_EQUAL(await(&stand, "slow", &text), LOOKUP_FAILED);
  CU_ASSERT_PTR_NOT_NULL(text ? strstr(text, "slow.example does not answer") : NULL);
  stand_close(&stand);
}

UNIT_MAIN("populator/work/lookups", UNIT_TEST(test_answers_are_given_once),
          UNIT_TEST(test_a_host_that_hangs_leaves_places_for_others),
          UNIT_TEST(test_nobody_is_asked_for_longer_than_the_limit))
