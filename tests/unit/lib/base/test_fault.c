/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/fault.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

/* Passes the places a, b and c in a process of its own, armed as the text says; how it ended. */
static int
pass_places(const char *dir, const char *arming)
{
  CLEANUP(freep) char *file = temp_dir_path(dir, "arming");
  CLEANUP(freep) char *trace = temp_dir_path(dir, "trace");
  if (arming)
    temp_dir_write(dir, "arming", arming);
  (void)unlink(trace);
  (void)setenv("IMPRINT_FAULT_FILE", file, 1);
  (void)setenv("IMPRINT_FAULT_TRACE", trace, 1);
  pid_t pid = fork();
  if (pid == 0) {
    fault_point("a");
    fault_point("b");
    fault_point("c");
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  return status;
}

#ifdef IMPRINT_FAULTS

static void
test_the_process_ends_at_the_place_that_was_armed(void)
{
  static const struct {
    const char *arming;
    bool is_killed;
    const char *trace; /* NULL: none is written */
  } rows[] = {{NULL, false, NULL},
              {"", false, NULL},
              {"0", false, NULL},
              {"x", false, NULL},
              {"1\n", true, "a\n"},
              {"2", true, "a\nb\n"},
              {"3 again", true, "a\nb\nc\n"},
              {"4", false, "a\nb\nc\n"}};
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    int status = pass_places(dir, rows[i].arming);
    const char *row = rows[i].arming ? rows[i].arming : "no file";
    CHECK_ROW((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) == rows[i].is_killed, row);
    CLEANUP(freep) char *trace = temp_dir_read(dir, "trace");
    CHECK_STRING(trace, rows[i].trace);
  }
}

UNIT_MAIN("lib/base/fault", UNIT_TEST(test_the_process_ends_at_the_place_that_was_armed))

#else

/* What is shipped cannot be armed. */
static void
test_places_do_nothing_where_they_are_not_compiled_in(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CHECK_NUMBER(pass_places(dir, "1"), 0);
  CLEANUP(freep) char *trace = temp_dir_read(dir, "trace");
  CU_ASSERT_PTR_NULL(trace);
}

UNIT_MAIN("lib/base/fault", UNIT_TEST(test_places_do_nothing_where_they_are_not_compiled_in))

#endif
