/* SPDX-License-Identifier: Apache-2.0 */
/* --conf, --id, --keyring: as the rbd command has them; --clusters: as the plugins have it. */
#ifndef CLI_CEPH_FLAGS_H
#define CLI_CEPH_FLAGS_H

#include "cli/confine.h"
#include "cli/flags.h"
#include "cli/image_spec.h"
#include "lib/ceph/location.h"

extern const struct flag_set ceph_flags;

/* The plugins' file, as --clusters says. */
const char *ceph_flags_clusters_file(void);
/* Connects as the flags say; needs no more than they do. */
int ceph_flags_connect(struct cluster **ret_cluster, struct error **err);
/* What the flags say; to be cleared with cluster_config_clear(). */
void ceph_flags_config(struct cluster_config *ret_config);
/* What opening the place of an image takes. */
int ceph_flags_add_needs(const struct image_spec *spec, struct confine_needs *needs,
                         struct error **err);
/* The cluster that a handle names, by the plugins' file; to be cleared. */
int ceph_flags_volume_config(const char *handle, struct cluster_config *ret_config,
                             struct error **err);
/* Connects to the cluster of an rbd: source once, if it is another one than that of the image
 * (NULL: there is none), so that its daemons are known before the confinement is sealed. */
int ceph_flags_confine_source(const char *url, const struct image_spec *spec,
                              struct confinement *confinement, struct error **err);
/* Begins the confinement, connects, opens the place of an image, and seals: the work may begin. The
 * needs, those of the image among them, are the caller's. */
int ceph_flags_open_confined(struct image_spec *spec, const struct confine_needs *needs,
                             struct confinement **ret_confinement, struct location **ret_location,
                             struct error **err);
/* Connects and opens the place of an image. Of a spec that is a handle, the name of the image, and
 * of the snapshot, is filled in. */
int ceph_flags_open(struct image_spec *spec, struct location **ret_location, struct error **err);

#endif
