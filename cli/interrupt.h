/* SPDX-License-Identifier: Apache-2.0 */
/* SIGINT and SIGTERM stop a transfer in order: what was done is kept, passing things are removed. A
 * second signal ends the process at once, and so does whoever has to answer and does not. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include "populator/transfer/progress.h"

/* From now on a signal cancels this transfer. Called in the sandbox: a thread is started. */
void interrupt_cancels(struct progress *progress);

#endif
