/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps chains of clones short.
 * A clone of a clone of a clone … is read through all of them, and the kernel maps no image with
 * more than 16 ancestors. A volume whose chain is longer than the soft limit is copied free of its
 * parents in the background; at the hard limit a clone is refused until that is done. */
#ifndef CONTROLLERPLUGIN_FLATTENER_H
#define CONTROLLERPLUGIN_FLATTENER_H

#include "controllerplugin/content_source.h"

struct flattener;

struct flattener *flattener_new(struct controller *controller);
/* Stops what is under way; what was copied stays copied. False when it did not end in time. */
bool flattener_stop(struct flattener *flattener, int64_t deadline_ms);
void flattener_free(struct flattener *flattener);

/* How many ancestors a clone of this source has; ABORTED when they are too many, and then the
 * source is being flattened. */
int flattener_check_depth(struct flattener *flattener, struct content_source *source,
                          unsigned *ret_depth, struct error **err);
/* Has the new volume flattened in the background when its chain is long. */
void flattener_add_if_deep(struct flattener *flattener, struct location *location,
                           const char *image_id, unsigned depth);
/* Goes on with what a process before this one has begun: an image that is marked so. */
void flattener_resume(struct flattener *flattener, struct location *location, const char *image_id);
/* Whoever wants the volume for himself: an end to the flattening of it, soon. */
void flattener_cancel(struct flattener *flattener, const struct location *location,
                      const char *image_id);

#endif
