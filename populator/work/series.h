/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for Prometheus, each under a name with labels: counters that grow while the program runs,
 * or what was counted for one answer. Any thread. */
#ifndef POPULATOR_WORK_SERIES_H
#define POPULATOR_WORK_SERIES_H

#include "lib/base/buffer.h"
#include "lib/base/cleanup.h"

struct series;

struct series *series_new(void);
void series_free(struct series *series);
DEFINE_CLEANUP(struct series *, series_free)

/* The name with its labels: `imprint_objects{kind="…",state="…"}`. What was not there was 0. */
__attribute__((format(printf, 3, 4))) void series_add(struct series *series, uint64_t value,
                                                      const char *name, ...);

/* What a name without labels means. */
struct series_meaning {
  const char *name;
  const char *type; /* "counter" or "gauge" */
  const char *help;
};

/* In Prometheus' text format. The meanings end with one without a name. */
void series_render(struct series *series, const struct series_meaning *meanings,
                   struct buffer *text);

#endif
