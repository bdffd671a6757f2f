/* SPDX-License-Identifier: Apache-2.0 */
/* What a new volume starts from: nothing, a snapshot, or another volume as it is now. */
#ifndef CONTROLLERPLUGIN_CONTENT_SOURCE_H
#define CONTROLLERPLUGIN_CONTENT_SOURCE_H

#include "controllerplugin/volume.h"
#include "lib/ceph/children.h"
#include "lib/ceph/image_create.h"

enum content_kind { CONTENT_BLANK, CONTENT_SNAPSHOT, CONTENT_VOLUME };

struct content_source {
  struct controller *controller;
  enum content_kind kind;
  const char *id; /* the handle as the request gives it; "" for a blank volume */
  struct snapshot snapshot;
  struct volume volume;
  struct image_snap cloned; /* what content_source_clone() has cloned */
  struct keyed_lock *lock;  /* keeps the source from being deleted meanwhile; shared */
};

/* The handle that the request names; "" without one. */
const char *content_source_id(const Csi__V1__VolumeContentSource *content);
/* Finds the source that the request names. NOT_FOUND when there is none. */
int content_source_open(struct controller *controller, const Csi__V1__VolumeContentSource *content,
                        struct content_source *ret_source, struct error **err);
void content_source_clear(struct content_source *source);

/* 0 for a blank volume. */
uint64_t content_source_size(const struct content_source *source);
/* The location, header and cluster it lies in; NULL for a blank volume. */
struct location *content_source_location(struct content_source *source);
const struct header *content_source_header(const struct content_source *source);

/* Makes image `name` at `location` as a copy-on-write clone of the source, of this size. Safe to
 * repeat once a clone that was not finished has been discarded. *ret_id is to be freed. */
int content_source_clone(struct content_source *source, struct location *location, const char *name,
                         uint64_t size_bytes, const struct image_layout *layout, char **ret_id,
                         struct error **err);
/* The clone was taken away from us by somebody who took us for dead, perhaps before it was counted
 * among the source's. */
void content_source_forget_clone(struct content_source *source, const struct location *location,
                                 const char *id);

#endif
