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

int
confine_export_image(struct image_spec *spec, const char *url, struct confinement **ret_confinement,
                     struct location **ret_location, struct error **err)
{
  struct confine_needs needs = {0};
  int r = ceph_flags_add_needs(spec, &needs, err);
  if (r == 0)
    r = add_destination(&needs, url, err);
  if (r == 0)
    r = ceph_flags_open_confined(spec, &needs, ret_confinement, ret_location, err);
  confine_needs_clear(&needs);
  return r;
}

int
confine_discard(struct image_spec *spec, const char *url, struct confinement **ret_confinement,
                struct location **ret_location, struct error **err)
{
  struct confine_needs needs = {0};
  int r = ceph_flags_add_needs(spec, &needs, err);
  (void)add_destination(&needs, url, NULL);
  if (r == 0)
    r = ceph_flags_open_confined(spec, &needs, ret_confinement, ret_location, err);
  confine_needs_clear(&needs);
  return r;
}

int
confine_export_file(const char *path, const char *url, struct confinement **ret_confinement,
                    struct error **err)
{
  CLEANUP(confinement_freep) struct confinement *confinement = NULL;
  struct confine_needs needs = {0};
  confine_needs_add_file(&needs, path);
  int r = add_destination(&needs, url, err);
  if (r == 0)
    r = confine_begin(&needs, &confinement, err);
  confine_needs_clear(&needs);
  if (r < 0 || confine_seal(confinement, err) < 0)
    return -1;
  *ret_confinement = TAKE(confinement);
  return 0;
}
