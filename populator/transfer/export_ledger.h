/* SPDX-License-Identifier: Apache-2.0 */
/* What an export has begun, written down in the pool of the image under the name of its
 * destination, so that the next export to the same destination can clear up after one that was
 * killed: its multipart upload (sink.h), and the hold that its Ceph client has on the image.
 *
 * One object, imprint.export.<hash of the destination>: the process and its Ceph address in the
 * first line, what the sink wrote behind it. */
#ifndef POPULATOR_TRANSFER_EXPORT_LEDGER_H
#define POPULATOR_TRANSFER_EXPORT_LEDGER_H

#include "lib/ceph/location.h"
#include "populator/sink/sink.h"

struct export_ledger;

/* Looks for what an earlier export to the same destination has left. A process of this machine that
 * is dead is thrown out of the cluster, so that its locks and watches go at once; ABORTED when it
 * lives. destination: the URL, with all that tells one store from another. A shared one has room
 * for any number of exports, like the standard output that each process has one of: whoever lives
 * keeps the record, and the others do without. */
int export_ledger_open(struct location *location, const char *destination, bool is_shared,
                       struct export_ledger **ret_ledger, struct error **err);
/* Writes down that this process is at work. */
void export_ledger_sign(struct export_ledger *ledger);
/* For the sink. */
struct sink_ledger *export_ledger_of_sink(struct export_ledger *ledger);
/* What the sink of an earlier export has left could not be taken back: its record stays. */
void export_ledger_keep(struct export_ledger *ledger);
/* The export has ended: the record goes, unless the sink has left something behind. */
void export_ledger_close(struct export_ledger *ledger);
DEFINE_CLEANUP(struct export_ledger *, export_ledger_close)

#endif
