/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is sent to us. How far it is stands in status.upload of the object that it is for.
 *
 * Most files are imported as they come, into the object's own volume: `into`. What cannot be,
 * because it could not be gone on with, or has to be read in another order, is kept as it is in a
 * volume of its own, `handle`, until all is there, and is inspected and imported then, from there,
 * like any other source. Either way an upload can break off at any byte and goes on, with another
 * populator too. */
#ifndef POPULATOR_CONTROLLERS_UPLOAD_RECORD_H
#define POPULATOR_CONTROLLERS_UPLOAD_RECORD_H

#include "populator/controllers/upload_kind.h"

/* status.upload. The strings are the object's. */
struct upload_record {
  uint64_t size;        /* of the file; 0: nobody has begun */
  uint64_t offset;      /* bytes that are safe */
  const char *handle;   /* of the volume that they are kept in; NULL: none is on record yet */
  const char *into;     /* or of the object's own, which they are imported to; else NULL */
  const char *id;       /* of this upload: another file is another one */
  const char *checksum; /* that the client promised, or NULL */
  const char *failure;  /* what is wrong with the file, once that is known; else NULL */
};

/* Whether spec.source is upload{}. */
bool upload_record_is_source(const struct kube_object *object);
void upload_record_look(const struct kube_object *object, struct upload_record *ret_record);
/* Nothing more is to be sent: all is there, or it is of no use. */
bool upload_record_is_complete(const struct kube_object *object);
/* Whoever receives a file writes how far it is: its beginning and its end are to be acted on. */
bool upload_record_is_step(const struct kube_object *before, const struct kube_object *after);

/* One that begins. */
struct upload_beginning {
  uint64_t size;
  const char *checksum; /* or NULL */
  const char *into;     /* handle of the object's own volume; NULL: it is kept in another */
};

/* The volume is there then, *ret_handle is to be freed. What was sent before is dropped. */
int upload_record_begin(struct populator *populator, const struct upload_kind *kind,
                        const struct kube_object *object, const struct upload_beginning *beginning,
                        char **ret_handle, struct error **err);
/* What the client says the checksum is, when it says so later than at the beginning. */
int upload_record_promise(struct populator *populator, const struct upload_kind *kind,
                          const struct kube_object *object, const char *checksum,
                          struct error **err);
/* So many bytes are safe. */
int upload_record_advance(struct populator *populator, const struct upload_kind *kind,
                          const struct kube_object *object, uint64_t size, uint64_t offset,
                          struct error **err);
/* The file is of no use, for this reason. */
int upload_record_fail(struct populator *populator, const struct upload_kind *kind,
                       const struct kube_object *object, const char *reason, struct error **err);
/* What an import of it is called with: where it comes from, once all of it was sent, and the token
 * (transfer/import_done.h). Both to be freed. ABORTED when it is not on record yet,
 * INVALID_ARGUMENT when it is of no use. */
int upload_record_source(const struct kube_object *object, char **ret_url, char **ret_token,
                         struct error **err);
/* What was kept of it is not needed any more. Fine when there is nothing. */
int upload_record_discard(struct populator *populator, const struct upload_kind *kind,
                          const struct kube_object *object, struct error **err);

#endif
