/* SPDX-License-Identifier: Apache-2.0 */
/* The snapshots that clones of a live volume stand on while they are made.
 *
 * A snapshot costs a round of the monitors, up to a second, and librbd takes one at a time of an
 * image. So clones of one volume share: whoever comes while a snapshot is being taken waits for the
 * next one, together with all others who came meanwhile. (Not for the one being taken: what was
 * written before the call might be missing from it.) The last clone made from a snapshot removes
 * it; RBD keeps it in the image's trash for as long as the clones need it, at no further monitor
 * round.
 *
 * The name tells which Ceph client took it. A passing snapshot whose client does not watch the
 * image any more belongs to nobody: its process died. The purger looks for those
 * (lib/ceph/passing_orphans.h). */
#ifndef CONTROLLERPLUGIN_PASSING_SNAPSHOT_H
#define CONTROLLERPLUGIN_PASSING_SNAPSHOT_H

#include <stdbool.h>

#include "controllerplugin/volume.h"

struct passing_snapshots;
struct passing_snapshot;

struct passing_snapshots *passing_snapshots_new(void);
void passing_snapshots_free(struct passing_snapshots *snapshots);

/* A snapshot of the volume that is not older than this call. */
int passing_snapshot_take(struct passing_snapshots *snapshots, const struct volume *volume,
                          struct passing_snapshot **ret_snapshot, struct error **err);
/* As RBD names and numbers it. */
const char *passing_snapshot_name(const struct passing_snapshot *snapshot);
uint64_t passing_snapshot_id(const struct passing_snapshot *snapshot);
/* The clone is made, or given up. The last one removes the snapshot. */
int passing_snapshot_release(struct passing_snapshot *snapshot, struct error **err);

#endif
