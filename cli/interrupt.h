/* SPDX-License-Identifier: Apache-2.0 */
/* SIGINT and SIGTERM stop a transfer in order: what was done is kept, passing things are removed. A
 * second signal ends the process at once. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include "populator/transfer/progress.h"

/* From now on a signal cancels this transfer. */
void interrupt_cancels(struct progress *progress);

#endif
