/* SPDX-License-Identifier: Apache-2.0 */
/* The snapshot that an export reads from, so that the image may be in use meanwhile. It passes: the
 * export removes it, and one whose process died is removed by the next export of the image, or by
 * whoever looks after the pool (its name tells the Ceph client, see lib/ceph/passing_name.h). */
#ifndef POPULATOR_TRANSFER_EXPORT_SNAPSHOT_H
#define POPULATOR_TRANSFER_EXPORT_SNAPSHOT_H

#include "lib/ceph/location.h"

struct export_snapshot;

int export_snapshot_take(struct location *location, const char *image_name,
                         struct export_snapshot **ret_snapshot, struct error **err);
const char *export_snapshot_name(const struct export_snapshot *snapshot);
/* Removes what exports of the image that were killed have left. What fails is left to others. */
void export_snapshot_remove_orphans(struct location *location, const char *image_name);
/* Frees it, whatever comes. */
int export_snapshot_remove(struct export_snapshot *snapshot, struct error **err);

#endif
