/* SPDX-License-Identifier: Apache-2.0 */
/* status of a VirtualMachineImage. */
#ifndef POPULATOR_CONTROLLERS_IMAGE_STATUS_H
#define POPULATOR_CONTROLLERS_IMAGE_STATUS_H

#include "populator/controllers/populator.h"
#include "populator/objects/condition.h"

/* `more` is merged into the status and is taken; it may be NULL. */
int image_status_write(struct populator *populator, const struct kube_object *image,
                       const struct verdict *verdict, struct json_object *more, struct error **err);
/* It is on its way. */
int image_status_creating(struct populator *populator, const struct kube_object *image,
                          const char *message, struct json_object *more, struct error **err);
/* An object with one member, which is taken. */
struct json_object *image_status_one(const char *name, struct json_object *value);

/* Its spec was changed when it was complete: it stays what it is, and says so. */
int image_status_unchanged(struct populator *populator, const struct kube_object *image,
                           struct error **err);
/* It was imported by somebody else, and no snapshot of it could be cloned. */
int image_status_unusable(struct populator *populator, const struct kube_object *image,
                          struct error **err);

/* Whether something is to be done about a change: what we, or another populator, tell of an import
 * that runs is no reason to look at it. */
bool image_status_is_news(const struct kube_object *before, const struct kube_object *after);

#endif
