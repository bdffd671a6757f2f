/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/confine_export.h"

#include "cli/source_flags.h"

/* What the user says of the destination is what he says of a source. */
static int
add_destination(struct confine_needs *needs, const char *url, struct error **err)
{
  struct source_options options;
  source_flags_options(&options);
  int r = confine_needs_add_destination(needs, url, &options, err);
  cluster_config_clear(&options.ceph);
  return r;
}

/* With what one end takes given, and the other end's added. */
static int
begin(struct confine_needs *needs, const char *url, struct confinement **ret_confinement,
      struct error **err)
{
  return add_destination(needs, url, err) < 0 ? -1 : confine_begin(needs, ret_confinement, err);
}

int
confine_export_image(struct image_spec *spec, const char *url, struct confinement **ret_confinement,
                     struct location **ret_location, struct error **err)
{
  CLEANUP(confinement_freep) struct confinement *confinement = NULL;
  CLEANUP(location_closep) struct location *location = NULL;
  struct confine_needs needs = {0};
  int r = ceph_flags_add_needs(spec, &needs, err);
  if (r == 0)
    r = begin(&needs, url, &confinement, err);
  confine_needs_clear(&needs);
  if (r < 0 || ceph_flags_open(spec, &location, err) < 0 ||
      confine_add_cluster(confinement, location->cluster, err) < 0 ||
      confine_seal(confinement, err) < 0)
    return -1;
  *ret_confinement = TAKE(confinement);
  *ret_location = TAKE(location);
  return 0;
}

int
confine_export_file(const char *path, const char *url, struct confinement **ret_confinement,
                    struct error **err)
{
  CLEANUP(confinement_freep) struct confinement *confinement = NULL;
  struct confine_needs needs = {0};
  confine_needs_add_file(&needs, path);
  int r = begin(&needs, url, &confinement, err);
  confine_needs_clear(&needs);
  if (r < 0 || confine_seal(confinement, err) < 0)
    return -1;
  *ret_confinement = TAKE(confinement);
  return 0;
}
