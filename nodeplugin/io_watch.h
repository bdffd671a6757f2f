/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a device still answers, as the kernel's counters tell it: requests wait and none has been
 * finished since an earlier look.
 *
 * Nothing is read or written for it. A read whose cluster is away never returns and cannot be
 * interrupted, so a thread that tried one could not even be ended. Any number of threads. */
#ifndef NODEPLUGIN_IO_WATCH_H
#define NODEPLUGIN_IO_WATCH_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/base/cleanup.h"

struct io_watch;

struct io_watch *io_watch_new(void);
void io_watch_free(struct io_watch *watch);
DEFINE_CLEANUP(struct io_watch *, io_watch_free)

/* For how long, in milliseconds, the device's requests have been waiting without a single one being
 * finished: since the look that first found it so. 0 when none waits, or when they are served. */
int64_t io_watch_look(struct io_watch *watch, dev_t device);

/* How many requests that changed something were finished, ever: the count goes on when the device
 * is given to another volume. Where nobody tells, more than there can be. */
uint64_t io_watch_written(dev_t device);

/* What the text of a device's "stat" in sysfs tells: requests finished, ever, and those waiting. -1
 * when it is none. */
int io_watch_parse(const char *stat, uint64_t *ret_finished, uint64_t *ret_waiting);

#endif
