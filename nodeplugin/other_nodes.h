/* SPDX-License-Identifier: Apache-2.0 */
/* Who else has a volume's image open, as the cluster knows it: asked before the image is mapped,
 * behind that, and before the device of a helper that died gets another one. It takes no lock that
 * a dead node would keep. */
#ifndef NODEPLUGIN_OTHER_NODES_H
#define NODEPLUGIN_OTHER_NODES_H

#include "nodeplugin/alone_note.h"
#include "nodeplugin/volume.h"

/* Whom else a volume may have. */
enum attach_others {
  ATTACH_ALONE,        /* nobody */
  ATTACH_WITH_READERS, /* nobody who writes */
  ATTACH_SHARED,       /* anybody */
};

/* Before it is mapped read-only: from then on the controller leaves it as a clone of its parents.
 * Readers are not told of changes, and would go on reading from parents that are removed. */
int other_nodes_call_flattening_off(const struct volume *volume, struct error **err);

/* Before it is mapped. FAILED_PRECONDITION, with the address of whoever may not have it, when that
 * one does not let go within some seconds. */
int other_nodes_check(const struct volume *volume, enum attach_others others, struct error **err);

/* Behind that: two nodes that asked at the same moment have both found nobody, and now have both of
 * them a device of the image. Each sees the other, and who is less patient lets go with
 * FAILED_PRECONDITION. Clients of the note do not count; up to `allowed` of others may be there,
 * 0 or 1: that one, which is then our own, is *ret_client (0: there is none). */
int other_nodes_check_nobody_came(const struct volume *volume, const struct alone_note *note,
                                  size_t allowed, uint64_t *ret_client, struct error **err);

/* Whether the cluster has forgotten the client that serves the volume, the last one of the note: it
 * has thrown it out, and turns it away from then on. One that has lost its connection for a moment
 * is given some seconds to come back. */
int other_nodes_look_for_us(const struct volume *volume, const struct alone_note *note,
                            bool *ret_is_forgotten, struct error **err);

/* Whether the image is still as the dead clients of the note have left it, or another node has had
 * it. What the kernel holds back for the device belongs to the old contents: on top of another
 * node's it destroys them. FAILED_PRECONDITION; *ret_is_taken when that is so for good, and not for
 * as long as somebody has it open. */
int other_nodes_check_untouched(const struct volume *volume, const struct alone_note *note,
                                dev_t device, bool *ret_is_taken, struct error **err);

#endif
