/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/inline_volume.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "csi/volume/image_name.h"
#include "csi/volume/inline_record.h"
#include "csi/volume/record.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/ceph/clone_make.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/image_create.h"
#include "lib/ceph/trash.h"
#include "lib/ceph/unfinished.h"
#include "nodeplugin/attach.h"
#include "nodeplugin/inline_note.h"
#include "nodeplugin/inline_source.h"

/* One volume on its way. */
struct making {
  struct node *node;
  const struct inline_order *order;
  struct inline_source source;
  struct inline_record record;
  char *image_name;
  bool is_new;
};

void
inline_volume_id(const struct location *location, const char *image_id, struct volume_id *ret_id)
{
  *ret_id = (struct volume_id){.pool_id = location->pool_id};
  (void)snprintf(ret_id->cluster_id, sizeof(ret_id->cluster_id), "%s",
                 cluster_id(location->cluster));
  (void)snprintf(ret_id->name_space, sizeof(ret_id->name_space), "%s", location->name_space);
  (void)snprintf(ret_id->image_id, sizeof(ret_id->image_id), "%s", image_id);
}

/* ---- making ---------------------------------------------------------------------------------- */

/* What there is under the name: *ret_id is NULL when nothing is, or only the remains of a call that
 * died, which are removed. */
static int
look(struct making *m, char **ret_id, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(freep) char *id = NULL;
  struct header header = {.parent.pool_id = -1};
  *ret_id = NULL;
  if (directory_id_of(m->source.location, m->image_name, &id, &failure) < 0)
    return failure->code == ERROR_NOT_FOUND ? 0
                                            : error_set(err, failure->code, "%s", failure->message);
  bool has_header = header_read(m->source.location, id, &header, &failure) == 0;
  if (!has_header && failure->code != ERROR_NOT_FOUND)
    return error_set(err, failure->code, "%s", failure->message);
  int r = 0;
  if (!record_is_ready(&header.metadata, id))
    r = unfinished_take_away(m->source.location, m->image_name, id, has_header ? &header : NULL,
                             RECORD_READY, err);
  else if (inline_record_compare(&m->record, m->order->request, &header.metadata, err) < 0)
    r = error_wrap(err, "it exists already");
  else
    *ret_id = TAKE(id);
  header_clear(&header);
  return r;
}

/* The last step: whatever it got from its parent goes, and the record comes. */
static int
commit(struct making *m, const char *image_id, struct error **err)
{
  struct string_map metadata = {0}, inherited = {0};
  inline_record_write(&m->record, m->order->request, image_id, &metadata);
  record_list_inherited(&m->source.header.metadata, &inherited);
  int r = header_update_metadata_if(m->source.location, image_id, UNFINISHED_DOOMED, NULL,
                                    &metadata, &inherited, err);
  string_map_clear(&metadata);
  string_map_clear(&inherited);
  return r;
}

static int
make(struct making *m, char **ret_id, struct error **err)
{
  const struct inline_source *source = &m->source;
  const struct image_layout as_its_parent = {0};
  CLEANUP(freep) char *id = NULL;
  uint64_t asked = m->order->request->size_bytes;
  if (asked && asked < source->size_bytes)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "volumeAttributes: 'size' is %llu, the snapshot has %llu bytes",
                     (unsigned long long)asked, (unsigned long long)source->size_bytes);
  const struct clone_request request = {.parent = {.location = source->location,
                                                   .image_id = source->image_id,
                                                   .snap_id = source->snap_id},
                                        .parent_name = source->image_name,
                                        .parent_snap_name = source->snap_name,
                                        .parent_bytes = source->size_bytes,
                                        .parent_header = &source->header,
                                        .name = m->image_name,
                                        .size_bytes = asked ? asked : source->size_bytes,
                                        .layout = &as_its_parent};
  if (clone_make(&request, source->location, &id, err) < 0 || commit(m, id, err) < 0)
    return -1;
  *ret_id = TAKE(id);
  return 0;
}

static int
find_or_make(struct making *m, struct volume_id *ret_id, struct error **err)
{
  CLEANUP(freep) char *id = NULL;
  if (inline_source_find(m->node, m->order->request, &m->source, err) < 0)
    return -1;
  m->image_name = image_name_of_inline(m->order->kubelet_id);
  m->record = (struct inline_record){.volume_id = m->order->kubelet_id,
                                     .source = m->source.handle,
                                     .node = m->node->name,
                                     .target = m->order->target,
                                     .seen_s = (int64_t)time(NULL)};
  if (look(m, &id, err) < 0)
    return -1;
  m->is_new = !id;
  if (m->is_new && make(m, &id, err) < 0)
    return -1;
  inline_volume_id(m->source.location, id, ret_id);
  return 0;
}

int
inline_volume_make(struct node *node, const struct inline_order *order, struct volume *ret_volume,
                   bool *ret_is_new, struct error **err)
{
  struct making m = {.node = node, .order = order, .source.header.parent.pool_id = -1};
  struct volume_id id;
  int r = find_or_make(&m, &id, err);
  inline_source_clear(&m.source);
  free(m.image_name);
  if (r < 0 || inline_note_write(node, order->kubelet_id, &id, err) < 0)
    return -1;
  *ret_is_new = m.is_new;
  CLEANUP(freep) char *handle = volume_id_encode(&id);
  return volume_find_any(node, handle, ret_volume, err);
}

/* ---- its end --------------------------------------------------------------------------------- */

static int
search_cluster(struct node *node, const char *cluster_name, const char *image_name,
               struct volume_id *ret_id, bool *ret_found, struct error **err)
{
  CLEANUP(cluster_unrefp) struct cluster *cluster = NULL;
  struct locations locations;
  if (clusters_get(node->clusters, cluster_name, &cluster, err) < 0 ||
      locations_list(cluster, &locations, err) < 0)
    return -1;
  CLEANUP(freep) char *image_id = NULL;
  int at = directory_find_name(&locations, image_name);
  *ret_found = at >= 0 && directory_id_of(locations.items[at], image_name, &image_id, NULL) == 0;
  if (*ret_found)
    inline_volume_id(locations.items[at], image_id, ret_id);
  locations_clear(&locations);
  return 0;
}

int
inline_volume_find(struct node *node, const char *kubelet_id, struct volume_id *ret_id,
                   bool *ret_found, struct error **err)
{
  *ret_found = inline_note_read(node, kubelet_id, ret_id);
  if (*ret_found)
    return 0;
  CLEANUP(freep) char *image_name = image_name_of_inline(kubelet_id);
  struct cluster_ids ids;
  clusters_ids(node->clusters, &ids);
  int r = 0;
  for (size_t i = 0; r == 0 && i < ids.count && !*ret_found; i++)
    r = search_cluster(node, ids.ids[i], image_name, ret_id, ret_found, err);
  cluster_ids_clear(&ids);
  return r;
}

int
inline_volume_destroy(struct node *node, const struct volume_id *id, struct error **err)
{
  CLEANUP(cluster_unrefp) struct cluster *cluster = NULL;
  CLEANUP(location_closep) struct location *location = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(freep) char *name = NULL;
  if (detach_volume(node, id, err) < 0 ||
      clusters_get(node->clusters, id->cluster_id, &cluster, err) < 0 ||
      location_open_by_id(cluster, id->pool_id, id->name_space, &location, err) < 0)
    return -1;
  if (directory_name_of(location, id->image_id, &name, &failure) < 0)
    return failure->code == ERROR_NOT_FOUND ? 0
                                            : error_set(err, failure->code, "%s", failure->message);
  if (!text_starts_with(name, IMAGE_NAME_INLINE_PREFIX))
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "image '%s/%s' is no inline volume: it is left alone", location->label, name);
  return trash_move(location, name, id->image_id, err);
}
