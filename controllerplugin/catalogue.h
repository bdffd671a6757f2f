/* SPDX-License-Identifier: Apache-2.0 */
/* Everything of ours in all clusters, in one stable order: by handle. ListVolumes and ListSnapshots
 * walk through it; a page's token is the last handle of the page before, so pages stay right when
 * things come and go between them, and nothing is remembered from one call to the next. */
#ifndef CONTROLLERPLUGIN_CATALOGUE_H
#define CONTROLLERPLUGIN_CATALOGUE_H

#include "controllerplugin/controller.h"
#include "csi/volume/volume_id.h"
#include "lib/ceph/header.h"

struct catalogue_entry {
  struct location *location; /* the catalogue's */
  struct volume_id id;
  char *handle; /* the id as text */
  char *image_name;
};

struct catalogue {
  struct catalogue_entry *entries; /* sorted by handle */
  size_t count;
  struct locations *locations; /* one list a cluster */
  size_t cluster_count;
};

/* The images of all clusters whose name begins with prefix, finished or not. */
int catalogue_open(struct controller *controller, const char *prefix,
                   struct catalogue *ret_catalogue, struct error **err);
void catalogue_close(struct catalogue *catalogue);
/* The index of the first entry behind this handle. */
size_t catalogue_after(const struct catalogue *catalogue, const char *handle);

/* Reads the headers of entries [first, first + count): headers[i] is empty where found[i] is false.
 */
int catalogue_read(struct catalogue *catalogue, size_t first, size_t count, struct header *headers,
                   bool *found, struct error **err);

#endif
