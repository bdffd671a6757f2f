/* SPDX-License-Identifier: Apache-2.0 */
/* A volume on its way, from the request to the answer: create_volume.c reads the request,
 * creation_find.c looks what there is under the name, creation_make.c makes the image. */
#ifndef CONTROLLERPLUGIN_CREATION_H
#define CONTROLLERPLUGIN_CREATION_H

#include "controllerplugin/content_source.h"
#include "controllerplugin/controller.h"
#include "csi/volume/record.h"
#include "lib/ceph/header.h"

struct creation {
  struct controller *controller;
  const Csi__V1__CreateVolumeRequest *request;
  struct volume_parameters parameters;
  struct string_map limits; /* as image metadata */
  struct record record;
  char *image_name;
  struct keyed_lock *lock;
  struct location *location;
  struct content_source source;
};

/* Answers with what is there under the name, waiting a moment for whoever may be making it. What
 * was never finished is taken away; *ret_is_answered is false then, and when there is nothing.
 * is_taken: somebody has found the name taken. */
int creation_find(struct creation *c, bool is_taken, Csi__V1__CreateVolumeResponse *response,
                  bool *ret_is_answered, struct error **err);
/* The same, or makes it and answers. */
int creation_find_or_make(struct creation *c, Csi__V1__CreateVolumeResponse *response,
                          struct error **err);

/* Makes the image, writes its record, and answers. ALREADY_EXISTS when the name is taken, or was
 * taken away meanwhile. */
int creation_make(struct creation *c, Csi__V1__CreateVolumeResponse *response, struct error **err);
/* Goes on with a full copy that was begun, and answers. */
int creation_finish_copy(struct creation *c, const char *image_id, uint64_t size_bytes,
                         Csi__V1__CreateVolumeResponse *response, struct error **err);
void creation_answer(struct creation *c, const char *image_id, const struct header *header,
                     Csi__V1__CreateVolumeResponse *response);

#endif
