/* SPDX-License-Identifier: Apache-2.0 */
/* Looks, at start and now and then, for nbd devices whose process died, and starts another one for
 * each: the kernel holds the I/O back meanwhile. One that another node has taken over is left
 * alone. */
#ifndef NODEPLUGIN_REATTACHER_H
#define NODEPLUGIN_REATTACHER_H

#include "nodeplugin/node.h"

struct reattacher;

struct reattacher *reattacher_new(struct node *node);
/* Looks, without waiting for what it begins; several at a time. */
void reattacher_kick(struct reattacher *reattacher);
/* False when it hangs in a cluster: then nothing may be freed. */
bool reattacher_stop(struct reattacher *reattacher, int64_t deadline_ms);
void reattacher_free(struct reattacher *reattacher);

#endif
