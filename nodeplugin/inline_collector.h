/* SPDX-License-Identifier: Apache-2.0 */
/* Removes the images of inline volumes that nobody will unpublish any more, in the background:
 *
 * - what unpublishing has put into the trash;
 * - this node's, whose pod has gone while nobody was there to be told;
 * - another node's, when that node was not alive for a day and nobody has the image open;
 * - those without a record, when they are still so a round later: their maker has died.
 *
 * It looks at start, and from then on often enough that its own node counts as alive. */
#ifndef NODEPLUGIN_INLINE_COLLECTOR_H
#define NODEPLUGIN_INLINE_COLLECTOR_H

#include "nodeplugin/node.h"

struct inline_collector;

/* A node counts as gone when it was not alive for expiry_s; 0: nothing is collected but the trash.
 */
struct inline_collector *inline_collector_new(struct node *node, int64_t expiry_s);
/* Something was put into the trash. NULL is fine. */
void inline_collector_kick(struct inline_collector *collector);
/* To be called every second or so: begins a round when one is due. Does not wait. */
void inline_collector_tick(struct inline_collector *collector);
/* False when it hangs in a cluster: then nothing may be freed. */
bool inline_collector_stop(struct inline_collector *collector, int64_t deadline_ms);
void inline_collector_free(struct inline_collector *collector);

#endif
