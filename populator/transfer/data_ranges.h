/* SPDX-License-Identifier: Apache-2.0 */
/* Where a source has data, and where a hole: what it said last is kept, because holes may be as
 * long as thousands of pieces, and asking may cost a round trip. */
#ifndef POPULATOR_TRANSFER_DATA_RANGES_H
#define POPULATOR_TRANSFER_DATA_RANGES_H

#include <pthread.h>
#include <stdint.h>

#include "populator/source/source.h"

struct data_ranges {
  struct source *source;
  pthread_mutex_t mutex; /* guards what the source has said last: */
  uint64_t asked;        /* there are zeros from here … */
  uint64_t start;        /* … to here, and data from here … */
  uint64_t end;          /* … to here */
};

void data_ranges_init(struct data_ranges *ranges, struct source *source);
void data_ranges_clear(struct data_ranges *ranges);

/* The first data in [first, end): *ret_start to *ret_end. Both are `end` when there is none. All of
 * it where the source cannot tell. Any number of threads at once. */
int data_ranges_next(struct data_ranges *ranges, uint64_t first, uint64_t end, uint64_t *ret_start,
                     uint64_t *ret_end, struct error **err);

#endif
