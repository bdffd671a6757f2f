/* SPDX-License-Identifier: Apache-2.0 */
/* objectStore{bucketName, objectName, endpoint, region, secretRef} of our kinds: where the object
 * is and who may reach it. What is left out is that of the store which the installation is set up
 * with. */
#ifndef POPULATOR_CONTROLLERS_OBJECT_STORE_H
#define POPULATOR_CONTROLLERS_OBJECT_STORE_H

#include "populator/controllers/populator.h"

struct object_store_place {
  struct json_object *store; /* the member */
  const char *field;         /* where it stands: "spec.objectStore" */
  const char *ns;            /* of its secret, whose name may be NULL */
  const char *secret;
  const char *secret_field; /* where that name stands */
};

/* *ret_url is "s3://bucket/object", to be freed, also where only the Secret is missing; the rest
 * goes into the job. */
int object_store_add(struct populator *populator, const struct object_store_place *place,
                     char **ret_url, struct json_object *job, struct error **err);

#endif
