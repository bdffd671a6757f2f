/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/image_create.h"

#include <errno.h>
#include <rbd/librbd.h>

#include "lib/ceph/ceph_call.h"
#include "lib/ceph/ceph_error.h"

static void
make_options(const struct image_layout *layout, rbd_image_options_t *ret_options)
{
  rbd_image_options_create(ret_options);
  const struct {
    int option;
    uint64_t value;
  } numbers[] = {{RBD_IMAGE_OPTION_FEATURES, layout->features},
                 {RBD_IMAGE_OPTION_ORDER, layout->order},
                 {RBD_IMAGE_OPTION_STRIPE_UNIT, layout->stripe_unit},
                 {RBD_IMAGE_OPTION_STRIPE_COUNT, layout->stripe_count}};
  for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
    if (numbers[i].value)
      (void)rbd_image_options_set_uint64(*ret_options, numbers[i].option, numbers[i].value);
  }
  if (layout->data_pool)
    (void)rbd_image_options_set_string(*ret_options, RBD_IMAGE_OPTION_DATA_POOL, layout->data_pool);
}

/* librbd does not say which of the places it is that is not there. */
static int
explain(struct location *location, const char *name, const struct image_layout *layout, int r,
        struct error **err)
{
  CLEANUP(error_freep) struct error *cause = NULL;
  CLEANUP(location_closep) struct location *data = NULL;
  if (r == -ENOENT && ((layout->data_pool && location_open(location->cluster, layout->data_pool, "",
                                                           &data, &cause) < 0) ||
                       location_check(location, &cause) < 0))
    return error_set(err, cause->code, "create image '%s/%s': %s", location->label, name,
                     cause->message);
  return location_error_set(location, err, r, "create image '%s/%s'", location->label, name);
}

int
image_create(struct location *location, const char *name, uint64_t size_bytes,
             const struct image_layout *layout, struct error **err)
{
  rbd_image_options_t options;
  make_options(layout, &options);
  int r = CEPH_CALL(rbd_create4(location->ioctx, name, size_bytes, options));
  rbd_image_options_destroy(options);
  return r < 0 ? explain(location, name, layout, r, err) : 0;
}

int
image_clone(struct location *parent, const char *parent_name, const char *snap_name,
            struct location *location, const char *name, const struct image_layout *layout,
            struct error **err)
{
  rbd_image_options_t options;
  struct image_layout own = *layout;
  if (own.order && !own.stripe_unit) {
    /* The parent's stripes were cut for the parent's objects. */
    own.stripe_unit = 1ULL << own.order;
    own.stripe_count = 1;
  }
  make_options(&own, &options);
  int r = CALL_THAT_OPENS(
      rbd_clone3(parent->ioctx, parent_name, snap_name, location->ioctx, name, options));
  rbd_image_options_destroy(options);
  if (r < 0)
    return location_error_set(location, err, r, "clone '%s/%s@%s' to '%s/%s'", parent->label,
                              parent_name, snap_name, location->label, name);
  return 0;
}
