/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ceph_flags.h"

#include <string.h>

#include "csi/volume/volume_id.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/ceph/clusters.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/header.h"

static const char *conf = "/etc/ceph/ceph.conf";
static const char *id = "admin";
static const char *keyring;
static const char *clusters_file = "/etc/imprint/clusters.json";

static const struct flag flags[] = {
    {"conf", FLAG_TEXT, &conf, "FILE", "Ceph configuration (default /etc/ceph/ceph.conf)",
     "CEPH_CONF"},
    {"id", FLAG_TEXT, &id, "USER", "Ceph user without \"client.\" (default admin)", NULL},
    {"keyring", FLAG_TEXT, &keyring, "FILE", "keyring of that user", NULL},
    {"clusters", FLAG_TEXT, &clusters_file, "FILE",
     "the plugins' file of clusters, for volume:HANDLE", NULL},
};

const struct flag_set ceph_flags = {flags, sizeof(flags) / sizeof(flags[0])};

const char *
ceph_flags_clusters_file(void)
{
  return clusters_file;
}

void
ceph_flags_config(struct cluster_config *ret_config)
{
  const char *user = text_starts_with(id, "client.") ? id + strlen("client.") : id;
  *ret_config = (struct cluster_config){.cluster_id = xstrdup("ceph"),
                                        .conf_file = xstrdup(conf),
                                        .user = xstrdup(user),
                                        .keyring = xstrdup(keyring)};
}

int
ceph_flags_connect(struct cluster **ret_cluster, struct error **err)
{
  struct cluster_config config;
  ceph_flags_config(&config);
  int r = cluster_connect(&config, NULL, ret_cluster, err);
  cluster_config_clear(&config);
  return r;
}

int
ceph_flags_volume_config(const char *handle, struct cluster_config *ret_config, struct error **err)
{
  struct volume_id volume;
  CLEANUP(clusters_closep) struct clusters *clusters = NULL;
  if (volume_id_decode(handle, &volume, err) < 0 ||
      clusters_open(clusters_file, NULL, &clusters, err) < 0)
    return -1;
  return clusters_config(clusters, volume.cluster_id, ret_config, err);
}

/* Of the cluster that a handle names. */
static int
add_volume_needs(const char *handle, struct confine_needs *needs, struct error **err)
{
  struct cluster_config config = {0};
  if (ceph_flags_volume_config(handle, &config, err) < 0)
    return -1;
  confine_needs_add_file(needs, clusters_file);
  int r = confine_needs_add_cluster(needs, &config, err);
  cluster_config_clear(&config);
  return r;
}

int
ceph_flags_add_needs(const struct image_spec *spec, struct confine_needs *needs, struct error **err)
{
  if (spec->volume)
    return add_volume_needs(spec->volume, needs, err);
  struct cluster_config config;
  ceph_flags_config(&config);
  int r = confine_needs_add_cluster(needs, &config, err);
  cluster_config_clear(&config);
  return r;
}

int
ceph_flags_confine_source(const char *url, const struct image_spec *spec,
                          struct confinement *confinement, struct error **err)
{
  CLEANUP(cluster_unrefp) struct cluster *cluster = NULL;
  if (!text_starts_with(url, "rbd:") || (spec && !spec->volume))
    return 0;
  if (ceph_flags_connect(&cluster, err) < 0)
    return -1;
  return confine_add_cluster(confinement, cluster, err);
}

/* The name of the snapshot that the handle means. */
static int
find_snapshot(struct location *location, struct image_spec *spec, struct error **err)
{
  struct snapshot_id wanted;
  struct snaps snaps;
  if (snapshot_id_decode(spec->snapshot_handle, &wanted, err) < 0 ||
      header_read_snaps(location, wanted.volume.image_id, &wanted.snap_id, 1, &snaps, err) < 0)
    return -1;
  const struct snap *snap = snaps_find(&snaps, wanted.snap_id);
  if (snap && snap->kind == SNAP_KIND_USER)
    spec->snapshot = xstrdup(snap->name);
  snaps_clear(&snaps);
  if (spec->snapshot)
    return 0;
  return error_set(err, ERROR_NOT_FOUND, "there is no snapshot '%.128s' any more",
                   spec->snapshot_handle);
}

static int
find_name(struct location *location, const char *image_id, struct image_spec *spec,
          struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  if (directory_name_of(location, image_id, &spec->image, &failure) == 0 ||
      (spec->is_allowed_gone && failure->code == ERROR_NOT_FOUND))
    return 0;
  return error_set(err, failure->code, "%s", failure->message);
}

/* The handle names everything by its id. */
static int
open_volume(struct image_spec *spec, struct location **ret_location, struct error **err)
{
  struct volume_id volume;
  CLEANUP(clusters_closep) struct clusters *clusters = NULL;
  CLEANUP(cluster_unrefp) struct cluster *cluster = NULL;
  CLEANUP(location_closep) struct location *location = NULL;
  if (volume_id_decode(spec->volume, &volume, err) < 0 ||
      clusters_open(clusters_file, NULL, &clusters, err) < 0 ||
      clusters_get(clusters, volume.cluster_id, &cluster, err) < 0 ||
      location_open_by_id(cluster, volume.pool_id, volume.name_space, &location, err) < 0 ||
      find_name(location, volume.image_id, spec, err) < 0)
    return -1;
  if (spec->snapshot_handle && find_snapshot(location, spec, err) < 0)
    return -1;
  *ret_location = TAKE(location);
  return 0;
}

int
ceph_flags_open(struct image_spec *spec, struct location **ret_location, struct error **err)
{
  CLEANUP(cluster_unrefp) struct cluster *cluster = NULL;
  if (spec->volume)
    return open_volume(spec, ret_location, err);
  if (ceph_flags_connect(&cluster, err) < 0)
    return -1;
  return location_open(cluster, spec->pool, spec->name_space, ret_location, err);
}

int
ceph_flags_open_confined(struct image_spec *spec, const struct confine_needs *needs,
                         struct confinement **ret_confinement, struct location **ret_location,
                         struct error **err)
{
  CLEANUP(confinement_freep) struct confinement *confinement = NULL;
  CLEANUP(location_closep) struct location *location = NULL;
  if (confine_begin(needs, &confinement, err) < 0 || ceph_flags_open(spec, &location, err) < 0 ||
      confine_add_cluster(confinement, location->cluster, err) < 0 ||
      confine_seal(confinement, err) < 0)
    return -1;
  *ret_confinement = TAKE(confinement);
  *ret_location = TAKE(location);
  return 0;
}
