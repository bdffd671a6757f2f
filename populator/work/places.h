/* SPDX-License-Identifier: Apache-2.0 */
/* Who may run now: so many at once, in the order in which they came. Of one host all but
 * one of them, so that a server that swallows everything does not keep the others waiting; whoever
 * waits for his host lets others pass. No locking: whoever owns it sees to that. */
#ifndef POPULATOR_WORK_PLACES_H
#define POPULATOR_WORK_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

struct place {
  TAILQ_ENTRY(place) link;
  const char *host; /* "": of none */
  bool is_taken;
};

struct places {
  TAILQ_HEAD(, place) list; /* those who wait and those who run */
  size_t max;
};

void places_init(struct places *places, size_t max);
/* At the end of the queue. */
void places_queue(struct places *places, struct place *place);
/* Whether it is his turn, of one who waits. */
bool places_is_due(const struct places *places, const struct place *place);
/* Whoever waits is to be woken: the next one may be due as well. */
void places_take(struct place *place);
/* Runs no more, or waits no more. */
void places_leave(struct places *places, struct place *place);

#endif
