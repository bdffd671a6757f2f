/* SPDX-License-Identifier: Apache-2.0 */
/* The disk in a qcow2 file that is read front to back. */
#ifndef POPULATOR_TRANSFER_QCOW2_CONTENT_H
#define POPULATOR_TRANSFER_QCOW2_CONTENT_H

#include "populator/format/qcow2_stream.h"
#include "populator/transfer/content_stream.h"

/* Takes `below`, also when it fails. */
int qcow2_content_new(struct stream *below, struct content_stream **ret_content,
                      struct error **err);
/* Goes on where the one was whose state this is. Takes `below`, also when it fails. */
int qcow2_content_restore(struct stream *below, const void *state, size_t len, size_t *ret_used,
                          struct content_stream **ret_content, struct error **err);

/* Set once next() failed because the file is in an order that cannot be read in one pass: the
 * stream, for qcow2_spool_write(); else NULL. The content still owns it. */
struct qcow2_stream *qcow2_content_is_full(struct content_stream *content);

#endif
