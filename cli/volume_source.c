/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/volume_source.h"

#include <string.h>

#include "cli/ceph_flags.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

#define PREFIX "volume:"

int
volume_source_add_needs(const char *url, const struct source_options *options,
                        struct confine_needs *needs, struct error **err)
{
  if (!text_starts_with(url, PREFIX))
    return confine_needs_add_source(needs, url, options, err);
  struct image_spec spec;
  if (image_spec_parse(url, &spec, err) < 0)
    return -1;
  int r = ceph_flags_add_needs(&spec, needs, err);
  image_spec_clear(&spec);
  return r;
}

static int
resolve(struct image_spec *spec, struct confinement *confinement, struct source_options *options,
        char **ret_url, struct error **err)
{
  CLEANUP(location_closep) struct location *location = NULL;
  struct cluster_config config = {0};
  if (ceph_flags_open(spec, &location, err) < 0 ||
      confine_add_cluster(confinement, location->cluster, err) < 0 ||
      ceph_flags_volume_config(spec->volume, &config, err) < 0)
    return -1;
  cluster_config_clear(&options->ceph);
  options->ceph = config;
  *ret_url = xasprintf("rbd:%s/%s", location->label, spec->image);
  return 0;
}

int
volume_source_resolve(const char *url, struct confinement *confinement,
                      struct source_options *options, char **ret_url, struct error **err)
{
  if (!text_starts_with(url, PREFIX)) {
    *ret_url = xstrdup(url);
    return 0;
  }
  struct image_spec spec;
  if (image_spec_parse(url, &spec, err) < 0)
    return -1;
  int r = resolve(&spec, confinement, options, ret_url, err);
  image_spec_clear(&spec);
  return r;
}
