/* SPDX-License-Identifier: Apache-2.0 */
/* What every fuzzer starts from. A fuzzer is fed by libFuzzer, holds what it tests to a property
 * that CHECK() states, and leaves the rest to the sanitizers. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      (void)fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
      abort();                                                                                     \
    }                                                                                              \
  } while (0)

#endif
