/* SPDX-License-Identifier: Apache-2.0 */
/* Until when a base image is kept (base_image.h): when it was last asked for is written on it, and
 * one that was not for long, and that no volume is a clone of, is removed.
 *
 * Whoever is about to clone from it writes the time on the condition that it is not being removed;
 * whoever removes it writes that down first, on the condition that the time is still the one he
 * judged by. So one of the two fails, whichever process they are in. A removal that was cut off is
 * gone on with by whoever sees its mark. */
#ifndef CONTROLLERPLUGIN_BASE_USE_H
#define CONTROLLERPLUGIN_BASE_USE_H

#include "controllerplugin/controller.h"
#include "lib/ceph/location.h"

/* It is asked for now. UNAVAILABLE when it is being removed: the caller comes again. */
int base_use_touch(struct controller *controller, const char *handle, struct error **err);

/* Goes through a location, and removes what was not asked for in so many seconds. */
void base_use_sweep(struct controller *controller, struct location *location, int64_t keep_s);

#endif
