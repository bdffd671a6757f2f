/* SPDX-License-Identifier: Apache-2.0 */
/* Lets a fuzzer find its words by itself: whoever starts it need not know that there are some. */
#include <string.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
  static char option[] = "-dict=" FUZZ_DICTIONARY;
  for (int i = 1; i < *argc; i++) {
    if (strncmp((*argv)[i], "-dict=", strlen("-dict=")) == 0)
      return 0;
  }
  char **longer = calloc((size_t)*argc + 2, sizeof(char *)); /* lives as long as the process */
  CHECK(longer);
  memcpy(longer, *argv, (size_t)*argc * sizeof(char *));
  longer[(*argc)++] = option;
  *argv = longer;
  return 0;
}
