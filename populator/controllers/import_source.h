/* SPDX-License-Identifier: Apache-2.0 */
/* A source as DataVolumes and DataImportCrons have it (http, s3, registry) as a job for the worker.
 */
#ifndef POPULATOR_CONTROLLERS_IMPORT_SOURCE_H
#define POPULATOR_CONTROLLERS_IMPORT_SOURCE_H

#include "populator/controllers/populator.h"

/* source: what stands in spec.source; `field` names that place. Secrets and ConfigMaps are those of
 * the namespace. The URL is the first of the job's arguments; what is to be done is added by the
 * caller. INVALID_ARGUMENT names the field; UNAVAILABLE: something that it refers to is not there
 * (yet). */
int import_source_job(struct populator *populator, const char *ns, struct json_object *source,
                      const char *field, struct json_object **ret_job, struct error **err);
/* The URL, as it stands there; NULL when there is none. */
const char *import_source_url(struct json_object *source);

#endif
