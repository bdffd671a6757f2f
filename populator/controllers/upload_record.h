/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is sent to us. It is kept as it is in a volume of its own beside the one that it is
 * for, until all is there; then it is inspected and imported like any other source, from there. So
 * an upload can break off at any byte and go on anywhere, with another populator too, and the
 * client does not wait for what is done with it. How far it is stands in status.upload of the
 * object that it is for. */
#ifndef POPULATOR_CONTROLLERS_UPLOAD_RECORD_H
#define POPULATOR_CONTROLLERS_UPLOAD_RECORD_H

#include "populator/controllers/upload_kind.h"

/* status.upload. The strings are the object's. */
struct upload_record {
  uint64_t size;        /* of the file; 0: nobody has begun */
  uint64_t offset;      /* bytes that are safe */
  const char *handle;   /* of the volume that they are in; NULL: it is not on record yet */
  const char *checksum; /* that the client promised, or NULL */
};

/* Whether spec.source is upload{}. */
bool upload_record_is_source(const struct kube_object *object);
void upload_record_look(const struct kube_object *object, struct upload_record *ret_record);
bool upload_record_is_complete(const struct kube_object *object);

/* Begins an upload of so many bytes: the volume is there then, *ret_handle is to be freed. One of
 * another size is dropped. */
int upload_record_begin(struct populator *populator, const struct upload_kind *kind,
                        const struct kube_object *object, uint64_t size, const char *checksum,
                        char **ret_handle, struct error **err);
/* What the client says the checksum is, when it says so later than at the beginning. */
int upload_record_promise(struct populator *populator, const struct upload_kind *kind,
                          const struct kube_object *object, const char *checksum,
                          struct error **err);
/* So many bytes are safe. */
int upload_record_advance(struct populator *populator, const struct upload_kind *kind,
                          const struct kube_object *object, uint64_t size, uint64_t offset,
                          struct error **err);
/* What was sent is not needed any more. Fine when there is nothing. */
int upload_record_discard(struct populator *populator, const struct upload_kind *kind,
                          const struct kube_object *object, struct error **err);

#endif
