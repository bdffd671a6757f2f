/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/image_make.h"

#include "lib/base/memory.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/header.h"
#include "lib/ceph/image_parts.h"
#include "lib/ceph/unfinished.h"

static int
make_plain(struct image_parts *parts, const struct image_request *request, struct error **err)
{
  struct string_map metadata = {0};
  request->describe(request->context, parts->id, &metadata);
  int r = image_parts_enter_in_directory(parts);
  if (r == 0) {
    r = image_parts_make_name_and_map(parts);
    if (r == 0)
      r = image_parts_make_header(parts, &metadata);
    if (r < 0)
      image_parts_remove(parts, false);
  }
  string_map_clear(&metadata);
  if (r < 0)
    return location_error_set(parts->location, err, r, "create image '%s/%s'",
                              parts->location->label, parts->name);
  return image_parts_confirm(parts, err);
}

static int
make_by_librbd(struct location *location, const struct image_request *request, char **ret_id,
               struct error **err)
{
  CLEANUP(freep) char *id = NULL;
  struct string_map metadata = {0};
  if (image_create(location, request->name, request->size_bytes, request->layout, err) < 0 ||
      directory_id_of(location, request->name, &id, err) < 0)
    return -1;
  request->describe(request->context, id, &metadata);
  int r = header_update_metadata_if(location, id, UNFINISHED_DOOMED, NULL, &metadata, NULL, err);
  string_map_clear(&metadata);
  if (r == 0)
    *ret_id = TAKE(id);
  return r;
}

int
image_make(struct location *location, const struct image_request *request, char **ret_id,
           struct error **err)
{
  const struct image_layout *layout = request->layout;
  struct image_parts parts;
  if (!image_parts_suffice(location, layout))
    return make_by_librbd(location, request, ret_id, err);
  image_parts_begin(&parts, location, request->name, request->size_bytes,
                    layout->order ? layout->order : image_parts_default_order(location),
                    layout->features);
  if (make_plain(&parts, request, err) < 0)
    return -1;
  *ret_id = xstrdup(parts.id);
  return 0;
}
