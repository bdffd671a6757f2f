/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of objects that a file can be sent to: what they have in common, as the server of uploads
 * and the record of an upload need it. */
#ifndef POPULATOR_CONTROLLERS_UPLOAD_KIND_H
#define POPULATOR_CONTROLLERS_UPLOAD_KIND_H

#include "populator/controllers/populator.h"

/* How an object stands that something was sent to. */
enum upload_outcome { UPLOAD_PENDING, UPLOAD_READY, UPLOAD_BAD };

struct upload_kind {
  const struct kube_kind *kind;
  const char *collection; /* in a URL: "images" */
  const char *once;       /* "an image is uploaded once" */
  /* The copy of all objects of the kind. */
  struct kube_mirror *(*mirror)(const struct populator *populator);
  /* What upload_kind_check() has to ask of this kind alone. */
  int (*check)(const struct kube_object *object, const char *checksum, struct error **err);
  /* The quantity of its size, or NULL; *ret_field is where it stands, or would. */
  struct json_object *(*size)(const struct kube_object *object, const char **ret_field);
  /* The class of its volume; a reference. */
  int (*find_class)(struct populator *populator, const struct kube_object *object,
                    struct kube_object **ret_class, struct error **err);
  /* Its own volume, made for a disk of so many bytes; 0: as large as it says itself. *ret_handle is
   * to be freed. INVALID_ARGUMENT, FAILED_PRECONDITION or OUT_OF_RANGE when it cannot be. */
  int (*make_volume)(struct populator *populator, const struct kube_object *object,
                     uint64_t disk_bytes, char **ret_handle, struct error **err);
  /* Removes it, if there is one. */
  int (*drop_volume)(struct populator *populator, const struct kube_object *object,
                     struct error **err);
  /* Merges status.upload, which is taken. */
  int (*write)(struct populator *populator, const struct kube_object *object,
               struct json_object *upload, double percent, struct error **err);
  /* Its state in its own words, and what they mean here. */
  const char *(*state)(const struct kube_object *object, enum upload_outcome *ret_outcome);
};

extern const struct upload_kind image_upload;
extern const struct upload_kind data_volume_upload;

/* Whether the object takes a file now, and this one: FAILED_PRECONDITION when it never will,
 * ABORTED when it may soon, INVALID_ARGUMENT when it wants another checksum than this one, which
 * may be NULL. */
int upload_kind_check(const struct upload_kind *kind, const struct kube_object *object,
                      const char *checksum, struct error **err);

/* By what stands in a URL; NULL when there is none. */
const struct upload_kind *upload_kind_find(const char *collection);

#endif
