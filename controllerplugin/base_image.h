/* SPDX-License-Identifier: Apache-2.0 */
/* Images that volumes of a class begin as: parameter 'imageSource' names where one comes from. The
 * first volume has it imported, once, into a volume of the driver's own (the base); all are clones
 * of its snapshot.
 *
 * A base is named after the source and what the server says is there now (a digest, an ETag), so
 * what changes there becomes another base, and whoever comes after a restart, or with another
 * process, finds what there is. The work is done by the imprint command, in a sandbox. */
#ifndef CONTROLLERPLUGIN_BASE_IMAGE_H
#define CONTROLLERPLUGIN_BASE_IMAGE_H

#include "controllerplugin/controller.h"
#include "csi/volume/parameters.h"

/* Of their volumes' names; so many hexadecimal digits follow. */
#define BASE_IMAGE_PREFIX "base-"
#define BASE_IMAGE_DIGITS 40

struct base_images;

struct base_images_options {
  struct controller *controller;
  const char *worker;        /* path of the imprint command */
  const char *clusters_file; /* for it */
  bool allow_local_addresses;
  const char *allow_network; /* or NULL */
};

/* The strings must outlive it. */
struct base_images *base_images_new(const struct base_images_options *options);
/* Imports under way end: they are gone on with later. False when one does not in time: then it must
 * not be freed. */
bool base_images_stop(struct base_images *images, int64_t deadline_ms);
void base_images_free(struct base_images *images);

/* *ret_snapshot, to be freed, is the handle to clone from. UNAVAILABLE, with the progress, as long
 * as it is being imported: the caller comes again. */
int base_images_get(struct base_images *images, const struct volume_parameters *parameters,
                    const struct string_map *secrets, char **ret_snapshot, struct error **err);
/* The snapshot is gone, or about to go: it is not handed out any more. */
void base_images_forget(struct base_images *images, const char *snapshot);

#endif
