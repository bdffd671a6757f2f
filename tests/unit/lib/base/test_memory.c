/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/memory.h"

#include <string.h>
#include <sys/wait.h>

#include "tests/unit/unit.h"

static void
test_calloc_gives_zeros(void)
{
  CLEANUP(freep) unsigned char *bytes = xcalloc(64, 2);
  unsigned sum = 0;
  for (int i = 0; i < 128; i++)
    sum += bytes[i];
  CHECK_NUMBER(sum, 0);
}

static void
test_realloc_keeps_what_was_there(void)
{
  char *text = xrealloc(NULL, 4, 1);
  memcpy(text, "abc", 4);
  text = xrealloc(text, 1000, 2);
  CHECK_STRING(text, "abc");
  text = xrealloc(text, 0, 1); /* not NULL, which would read as out of memory */
  CU_ASSERT_PTR_NOT_NULL(text);
  free(text);
}

static void
test_strdup_keeps_null(void)
{
  CU_ASSERT_PTR_NULL(xstrdup(NULL));
  CLEANUP(freep) char *copy = xstrdup("text");
  CHECK_STRING(copy, "text");
}

static void
test_strndup_ends_at_length_or_nul(void)
{
  CLEANUP(freep) char *shorter = xstrndup("abcdef", 3);
  CHECK_STRING(shorter, "abc");
  CLEANUP(freep) char *whole = xstrndup("ab", 10);
  CHECK_STRING(whole, "ab");
}

static void
test_asprintf_formats(void)
{
  CLEANUP(freep) char *text = xasprintf("%s=%d", "a", 1);
  CHECK_STRING(text, "a=1");
}

/* No caller could do anything sensible without the memory, or with a product that wrapped. */
static void
test_a_size_that_overflows_aborts(void)
{
  pid_t pid = fork();
  if (pid == 0) {
    (void)close(STDERR_FILENO);
    volatile size_t count = SIZE_MAX / 2;
    free(xrealloc(NULL, count, 4));
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  CU_ASSERT(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
}

static void
test_take_moves_ownership(void)
{
  char *text = xstrdup("x");
  CLEANUP(freep) char *owned = TAKE(text);
  CU_ASSERT_PTR_NULL(text);
  CHECK_STRING(owned, "x");
}

UNIT_MAIN("lib/base/memory", UNIT_TEST(test_calloc_gives_zeros),
          UNIT_TEST(test_realloc_keeps_what_was_there), UNIT_TEST(test_strdup_keeps_null),
          UNIT_TEST(test_strndup_ends_at_length_or_nul), UNIT_TEST(test_asprintf_formats),
          UNIT_TEST(test_a_size_that_overflows_aborts), UNIT_TEST(test_take_moves_ownership))
