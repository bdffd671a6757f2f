/* SPDX-License-Identifier: Apache-2.0 */
/* What is held of a qcow2 file because nobody had asked for it when it came by, and somebody does
 * now: clusters that stand before the table which maps them, and such tables. */
#ifndef POPULATOR_FORMAT_QCOW2_PASS_LATE_H
#define POPULATOR_FORMAT_QCOW2_PASS_LATE_H

#include "populator/format/qcow2_pass.h"
#include "populator/format/qcow2_stream.h"

/* What a step came to, beside enum qcow2_stream_result and -1. */
#define QCOW2_PASS_AGAIN 100

/* The first of the late claims, of which there must be one. */
int qcow2_pass_take_late(struct qcow2_pass *pass, void *buf, size_t room,
                         struct qcow2_extent *ret_extent, struct error **err);

/* Where the next cluster could begin behind a compressed one that ends here: in its last sector. */
uint64_t qcow2_slack_start(const struct qcow2_run *run, uint64_t end);

#endif
