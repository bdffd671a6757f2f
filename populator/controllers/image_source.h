/* SPDX-License-Identifier: Apache-2.0 */
/* spec.source of a VirtualMachineImage as a job for the worker. */
#ifndef POPULATOR_CONTROLLERS_IMAGE_SOURCE_H
#define POPULATOR_CONTROLLERS_IMAGE_SOURCE_H

#include "populator/controllers/populator.h"

/* The source is the first of the job's arguments; what is to be done with it is added by the
 * caller. INVALID_ARGUMENT names the field; UNAVAILABLE: something that it refers to is not there
 * (yet). */
int image_source_job(struct populator *populator, const struct kube_object *image,
                     struct json_object **ret_job, struct error **err);
/* The whole job: into the volume that the status names. */
int image_source_import_job(struct populator *populator, const struct kube_object *image,
                            struct json_object **ret_job, struct error **err);
/* A short word for people: the URL without credentials. To be freed. */
char *image_source_text(const struct kube_object *image);

#endif
