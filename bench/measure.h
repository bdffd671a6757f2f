/* SPDX-License-Identifier: Apache-2.0 */
/* Runs an operation many times on several threads and takes the time of each.
 * ABORTED and UNAVAILABLE are tried again after a pause that grows, as a CSI sidecar does; the time
 * of an operation includes all its tries. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

struct measure_spec {
  unsigned in_flight;
  size_t count;
  int64_t timeout_ms; /* of one operation, all tries together */
  int64_t cap_ms;     /* of the whole run: nothing is begun or tried again after it */
};

struct measurement {
  size_t succeeded;
  size_t failed;     /* for good */
  size_t unfinished; /* the cap came first */
  size_t retries;    /* after ABORTED or UNAVAILABLE */
  double seconds;    /* from the first start to the last end */
  double *sorted_ms; /* of those that succeeded */
  char *first_error; /* NULL when none failed */
};

typedef int measure_operation(void *context, size_t index, int64_t timeout_ms, struct error **err);

void measure_run(const struct measure_spec *spec, measure_operation *operation, void *context,
                 struct measurement *ret_measurement);
/* The time within which `share` (0 to 1) of the successful operations ended; 0 when none did. */
double measurement_percentile_ms(const struct measurement *measurement, double share);
void measurement_clear(struct measurement *measurement);

#endif
