/* SPDX-License-Identifier: Apache-2.0 */
/* An image that is sent to us. What is sent is kept as it is in a volume of its own beside the
 * image's, until all is there; then it is inspected and imported like any other source, from there.
 * So an upload can break off at any byte and go on anywhere, with another populator too, and the
 * client does not wait for what is done with it. How far it is stands in the image's status. */
#ifndef POPULATOR_CONTROLLERS_IMAGE_UPLOAD_H
#define POPULATOR_CONTROLLERS_IMAGE_UPLOAD_H

#include "populator/controllers/populator.h"

/* status.upload. The strings are the image's. */
struct image_upload {
  uint64_t size;        /* of the file; 0: nobody has begun */
  uint64_t offset;      /* bytes that are safe */
  const char *handle;   /* of the volume that they are in; NULL: it is not on record yet */
  const char *checksum; /* that the client promised, or NULL */
};

/* Whether spec.source is upload{}. */
bool image_upload_is_source(const struct kube_object *image);
void image_upload_look(const struct kube_object *image, struct image_upload *ret_upload);
bool image_upload_is_complete(const struct kube_object *image);

/* Begins an upload of so many bytes: the volume is there then, *ret_handle is to be freed. One of
 * another size is dropped. */
int image_upload_begin(struct populator *populator, const struct kube_object *image, uint64_t size,
                       const char *checksum, char **ret_handle, struct error **err);
/* So many bytes are safe. */
int image_upload_record(struct populator *populator, const struct kube_object *image, uint64_t size,
                        uint64_t offset, struct error **err);
/* What was sent is not needed any more. Fine when there is nothing. */
int image_upload_discard(struct populator *populator, const struct kube_object *image,
                         struct error **err);

#endif
