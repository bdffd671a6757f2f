/* SPDX-License-Identifier: Apache-2.0 */
/* Which volume is behind kubelet's id of an inline volume: a file of the run folder. It saves
 * asking Ceph, for a volume's statistics above all. Where it is lost, the image's name tells. */
#ifndef NODEPLUGIN_INLINE_NOTE_H
#define NODEPLUGIN_INLINE_NOTE_H

#include <stdbool.h>

#include "csi/volume/volume_id.h"
#include "nodeplugin/node.h"

int inline_note_write(const struct node *node, const char *kubelet_id, const struct volume_id *id,
                      struct error **err);
bool inline_note_read(const struct node *node, const char *kubelet_id, struct volume_id *ret_id);
void inline_note_remove(const struct node *node, const char *kubelet_id);

#endif
