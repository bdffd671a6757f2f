/* SPDX-License-Identifier: Apache-2.0 */
/* Whoever wants a transfer to end sets a flag (progress.h), from a signal handler perhaps, which
 * can do nothing else. A thread looks at it and tells those who wait for a server. */
#ifndef POPULATOR_TRANSFER_CANCEL_WATCH_H
#define POPULATOR_TRANSFER_CANCEL_WATCH_H

#include "lib/base/cleanup.h"
#include "populator/transfer/progress.h"

struct cancel_watch;

/* Calls cancel(context) once, soon after the flag was set. NULL when no thread could be started:
 * the transfer then ends when the server answers. */
struct cancel_watch *cancel_watch_start(struct progress *progress, void (*cancel)(void *context),
                                        void *context);
/* After it cancel() is not called any more. */
void cancel_watch_stop(struct cancel_watch *watch);
DEFINE_CLEANUP(struct cancel_watch *, cancel_watch_stop)

#endif
