/* SPDX-License-Identifier: Apache-2.0 */
/* What Secrets and ConfigMaps hold for a transfer, put into its job. They are read when they are
 * needed and kept nowhere. */
#ifndef POPULATOR_CONTROLLERS_CREDENTIALS_H
#define POPULATOR_CONTROLLERS_CREDENTIALS_H

#include "populator/controllers/populator.h"

enum credentials_kind { CREDENTIALS_HTTP, CREDENTIALS_S3 };

/* Each does nothing when name is NULL or "". UNAVAILABLE when it is not there yet, INVALID_ARGUMENT
 * when a key is missing in it; `field` is where the name stands. */
int credentials_add_secret(struct populator *populator, const char *ns, const char *name,
                           const char *field, enum credentials_kind kind, struct json_object *job,
                           struct error **err);
int credentials_add_ca(struct populator *populator, const char *ns, const char *name,
                       const char *field, struct json_object *job, struct error **err);
/* Each value of the Secret is a header. */
int credentials_add_headers(struct populator *populator, const char *ns, const char *name,
                            const char *field, struct json_object *job, struct error **err);

#endif
