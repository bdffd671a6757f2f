/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps chains of clones short.
 * A clone of a clone of a clone … is read through all of them, and the kernel maps no image with
 * more than 16 ancestors. A volume whose chain is longer than the soft limit is copied free of its
 * parents in the background, when nobody uses it and nothing stands on it (flattening.h): put off,
 * it is tried again. Beyond the hard limit a volume is copied before it is ready. */
#ifndef CONTROLLERPLUGIN_FLATTENER_H
#define CONTROLLERPLUGIN_FLATTENER_H

#include "controllerplugin/content_source.h"

struct flattener;

struct flattener *flattener_new(struct controller *controller);
/* Stops what is under way; what was copied stays copied. False when it did not end in time. */
bool flattener_stop(struct flattener *flattener, int64_t deadline_ms);
void flattener_free(struct flattener *flattener);

/* How a clone of this source would stand. */
struct flattener_depth {
  bool is_deep;     /* to be marked (record.h) and flattened in the background */
  bool is_too_deep; /* to be copied at once */
};
int flattener_read_depth(struct content_source *source, struct flattener_depth *ret_depth,
                         struct error **err);
/* Has a volume that is marked so flattened in the background: a new one, or one that a process
 * before this one has begun. */
void flattener_add(struct flattener *flattener, const struct location *location,
                   const char *image_id);
/* Whoever wants the volume for himself: an end to the flattening of it, soon. */
void flattener_cancel(struct flattener *flattener, const struct location *location,
                      const char *image_id);

/* Keeps it off a volume that is to be snapshotted or grown: a snapshot taken meanwhile would lack
 * data (lib/ceph/flattener_mark.h, which is for other processes). Ends what is under way; ABORTED
 * when that does not end soon. */
struct flattener_hold;
int flattener_hold(struct flattener *flattener, const struct volume *volume,
                   struct flattener_hold **ret_hold, struct error **err);
void flattener_release(struct flattener_hold *hold);
DEFINE_CLEANUP(struct flattener_hold *, flattener_release)

#endif
