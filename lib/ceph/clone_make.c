/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/clone_make.h"

#include <errno.h>
#include <rbd/librbd.h>

#include "lib/base/memory.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/image_change.h"
#include "lib/ceph/image_parts.h"

/* ---- by parts -------------------------------------------------------------------------------- */

static int
make_unattached(const struct clone_request *request, struct image_parts *parts)
{
  bool has_header = false;
  int r = image_parts_enter_in_directory(parts);
  if (r < 0)
    return r;
  r = image_parts_make_name_and_map(parts);
  if (r == 0) {
    r = image_parts_make_header(parts, NULL);
    has_header = r == 0;
  }
  if (r == 0)
    r = image_parts_name_parent(parts, &request->parent, request->parent_bytes,
                                &request->parent_header->metadata);
  if (r < 0)
    image_parts_remove(parts, has_header);
  return r;
}

static int
make_by_parts(const struct clone_request *request, struct image_parts *parts, struct error **err)
{
  int r = make_unattached(request, parts);
  if (r == 0 && image_parts_confirm(parts, err) < 0)
    return -1;
  if (r == 0) {
    r = children_add(&request->parent, parts->location, parts->id);
    /* After any other failure it may have been counted, or may be yet: it stays, unfinished, and
     * whoever removes it takes it out of the count. */
    if (r == -ENOENT)
      image_parts_remove(parts, true);
  }
  if (r < 0)
    return location_error_set(parts->location, err, r, "clone '%s/%s@%s' to '%s/%s'",
                              request->parent.location->label, request->parent_name,
                              request->parent_snap_name, parts->location->label, parts->name);
  return 0;
}

/* As librbd reads it: a layout without features has the parent's. */
static struct image_layout
complete_layout(const struct clone_request *request)
{
  struct image_layout layout = *request->layout;
  if (!layout.features)
    layout.features = request->parent_header->features & ~RBD_FEATURES_IMPLICIT_ENABLE;
  if (!layout.order)
    layout.order = request->parent_header->order;
  return layout;
}

/* A parent that is out of the ordinary has librbd look at it: it hands its stripes on, and one
 * without layering is refused. */
static bool
do_parts_suffice(const struct clone_request *request, const struct location *location,
                 const struct image_layout *layout)
{
  uint64_t parent = request->parent_header->features;
  return image_parts_suffice(location, layout) && (layout->features & RBD_FEATURE_LAYERING) &&
         (parent & RBD_FEATURE_LAYERING) &&
         !(parent & (RBD_FEATURE_STRIPINGV2 | RBD_FEATURE_MIGRATING)) && request->parent_bytes > 0;
}

/* ---- by librbd ------------------------------------------------------------------------------- */

static int
grow(struct location *location, const char *id, uint64_t size_bytes, struct error **err)
{
  CLEANUP(image_closep) struct image *image = NULL;
  if (image_open(location, id, &image, err) < 0)
    return -1;
  return image_grow(image, size_bytes, err);
}

static int
make_by_librbd(const struct clone_request *request, struct location *location, char **ret_id,
               struct error **err)
{
  CLEANUP(freep) char *id = NULL;
  if (image_clone(request->parent.location, request->parent_name, request->parent_snap_name,
                  location, request->name, request->layout, err) < 0 ||
      directory_id_of(location, request->name, &id, err) < 0)
    return -1;
  if (request->size_bytes > request->parent_bytes &&
      grow(location, id, request->size_bytes, err) < 0)
    return -1;
  *ret_id = TAKE(id);
  return 0;
}

int
clone_make(const struct clone_request *request, struct location *location, char **ret_id,
           struct error **err)
{
  const struct image_layout layout = complete_layout(request);
  struct image_parts parts;
  if (!do_parts_suffice(request, location, &layout))
    return make_by_librbd(request, location, ret_id, err);
  image_parts_begin(&parts, location, request->name, request->size_bytes, layout.order,
                    layout.features);
  if (make_by_parts(request, &parts, err) < 0)
    return -1;
  *ret_id = xstrdup(parts.id);
  return 0;
}
