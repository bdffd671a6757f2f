/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/process_id.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

/* A child that has told its id and waits; the id is to be freed. */
static pid_t
start_child(char **ret_id)
{
  int pipe_fds[2];
  REQUIRE(pipe(pipe_fds) == 0);
  pid_t pid = fork();
  if (pid == 0) {
    CLEANUP(freep) char *id = process_id_self();
    if (!id || write(pipe_fds[1], id, strlen(id)) < 0)
      _exit(1);
    (void)pause();
    _exit(0);
  }
  char id[256] = "";
  CU_ASSERT(read(pipe_fds[0], id, sizeof(id) - 1) > 0);
  (void)close(pipe_fds[0]);
  (void)close(pipe_fds[1]);
  *ret_id = xstrdup(id);
  return pid;
}

static void
test_a_process_has_one_id_of_one_word(void)
{
  CLEANUP(freep) char *id = process_id_self();
  CLEANUP(freep) char *again = process_id_self();
  REQUIRE(id && again);
  CHECK_STRING(id, again);
  CU_ASSERT(strlen(id) > 0 && strpbrk(id, " \n\t") == NULL);
}

static void
test_death_is_told_when_it_has_come(void)
{
  CLEANUP(freep) char *own = process_id_self();
  CLEANUP(freep) char *id = NULL;
  pid_t pid = start_child(&id);
  REQUIRE(own);
  CU_ASSERT_STRING_NOT_EQUAL(id, own);
  CU_ASSERT_FALSE(process_id_is_dead(own));
  CU_ASSERT_FALSE(process_id_is_dead(id));
  CU_ASSERT(process_id_is_alive(own));
  CU_ASSERT(process_id_is_alive(id));
  (void)kill(pid, SIGKILL);
  siginfo_t info;
  REQUIRE(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
  CU_ASSERT(process_id_is_dead(id)); /* though there is something left to wait for */
  REQUIRE(waitpid(pid, NULL, 0) == pid);
  CU_ASSERT(process_id_is_dead(id));
  CU_ASSERT_FALSE(process_id_is_alive(id));
}

/* The pid was given out again: whoever had it is dead, though somebody has it. */
static void
test_another_start_time_is_another_process(void)
{
  CLEANUP(freep) char *own = process_id_self();
  REQUIRE(own);
  CLEANUP(freep) char *earlier = xasprintf("%.*s/1", (int)(strrchr(own, '/') - own), own);
  CU_ASSERT(process_id_is_dead(earlier));
}

static void
test_of_another_machine_or_container_nothing_is_told(void)
{
  CLEANUP(freep) char *own = process_id_self();
  REQUIRE(own);
  CLEANUP(freep) char *boot = xstrdup(own);
  boot[0] = boot[0] == '0' ? '1' : '0';
  CU_ASSERT_FALSE(process_id_is_dead(boot));
  CLEANUP(freep) char *space = xasprintf("%.*s/1/4194304/1", (int)strcspn(own, "/"), own);
  CU_ASSERT_FALSE(process_id_is_dead(space));
}

static void
test_of_what_is_no_id_nothing_is_told(void)
{
  CLEANUP(freep) char *own = process_id_self();
  REQUIRE(own);
  size_t end = strlen(own);
  const char *start = strrchr(own, '/');
  size_t behind_pid = (size_t)(start - own);
  for (size_t len = 0; len <= behind_pid + 1; len++) { /* up to a start time of no digits */
    CLEANUP(freep) char *cut = xstrndup(own, len);
    CHECK_ROW(!process_id_is_dead(cut), cut);
  }
  static const char *const tails[] = {"x", "/", " ", "/1"};
  for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
    CLEANUP(freep) char *longer = xasprintf("%.*s%s", (int)end, own, tails[i]);
    CHECK_ROW(!process_id_is_dead(longer), longer);
  }
}

UNIT_MAIN("lib/base/process_id", UNIT_TEST(test_a_process_has_one_id_of_one_word),
          UNIT_TEST(test_death_is_told_when_it_has_come),
          UNIT_TEST(test_another_start_time_is_another_process),
          UNIT_TEST(test_of_another_machine_or_container_nothing_is_told),
          UNIT_TEST(test_of_what_is_no_id_nothing_is_told))
