/* SPDX-License-Identifier: Apache-2.0 */
/* The phases of a load, and what they leave behind for each other: volumes to snapshot, snapshots
 * to restore from, all of it to delete at the end.
 *
 *   create            blank volumes
 *   create-again      the last of them, by the same names: the ids must be the same
 *   expand            volumes to twice their size, each once
 *   snapshot          one of each volume that none was made of
 *   restore           a volume from each snapshot that none was made from
 *   restore-same      volumes that are all made from the first snapshot
 *   clone             one of each volume that no snapshot or clone was made of
 *   delete-children   restored and cloned volumes, the last first
 *   delete-snapshots  the last first
 *   delete            blank volumes, the last first: those were never copied
 *   purge             frees the space of what was deleted
 *
 * One phase runs at a time, on many threads. */
#ifndef BENCH_PHASES_H
#define BENCH_PHASES_H

#include "bench/measure.h"
#include "bench/subject.h"

struct phases;

/* `prefix` begins every name; neither is copied. */
struct phases *phases_new(struct subject *subject, const char *prefix, uint64_t size_bytes);
void phases_free(struct phases *phases);
DEFINE_CLEANUP(struct phases *, phases_free)

/* A count of 0 stands for all that there are. INVALID_ARGUMENT when there is no such phase or not
 * enough for it to work on. */
int phases_run(struct phases *phases, const char *name, struct measure_spec *spec,
               struct measurement *ret_measurement, struct error **err);

#endif
