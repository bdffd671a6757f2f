/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a piece of a file goes on where the one before it ended, and with what was promised. */
#ifndef POPULATOR_UPLOAD_UPLOAD_PLACE_H
#define POPULATOR_UPLOAD_UPLOAD_PLACE_H

#include "populator/controllers/populator.h"
#include "populator/upload/upload_request.h"

/* FAILED_PRECONDITION when it does not, INVALID_ARGUMENT when it promises another checksum; one
 * that is promised now is put on record. *ret_offset is what is on record, in any case. */
int upload_place_check(struct populator *populator, const struct upload_request *request,
                       const struct kube_object *image, uint64_t *ret_offset, struct error **err);

/* What the file must have, or NULL. It is the image's or the request's. */
const char *upload_place_checksum(const struct upload_request *request,
                                  const struct kube_object *image);

#endif
