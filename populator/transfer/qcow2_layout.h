/* SPDX-License-Identifier: Apache-2.0 */
#ifndef POPULATOR_TRANSFER_QCOW2_LAYOUT_H
#define POPULATOR_TRANSFER_QCOW2_LAYOUT_H

#include "populator/source/source.h"
#include "populator/transfer/layout.h"

/* A qcow2 file in a source that can be read anywhere. Opening reads and checks all of its tables;
 * the source must outlive it. `threads` read tables at once. */
int qcow2_layout_open(struct source *source, unsigned threads, struct layout **ret_layout,
                      struct error **err);

#endif
