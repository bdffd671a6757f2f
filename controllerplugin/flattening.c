/* SPDX-License-Identifier: Apache-2.0 */
#include "controllerplugin/flattening.h"

#include <errno.h>

#include "csi/volume/record.h"
#include "lib/ceph/flattener_mark.h"
#include "lib/ceph/header.h"
#include "lib/ceph/image_change.h"
#include "lib/ceph/image_clients.h"
#include "lib/ceph/knock.h"
#include "lib/ceph/lost_parent.h"

struct attempt {
  const struct flattening *flattening;
  struct knock_listener *listener;
};

static bool
is_wanted(const struct attempt *attempt)
{
  return knock_was_heard(attempt->listener) || knock_lock_was_wanted(attempt->listener);
}

static int
on_progress(void *context, int percent)
{
  (void)percent;
  const struct attempt *attempt = context;
  const struct flattening *flattening = attempt->flattening;
  return flattening->is_cancelled(flattening->context) || is_wanted(attempt) ? -ECANCELED : 0;
}

/* Whether the image is still marked, who worked on it before, and whether it has snapshots. */
static int
read_marks(const struct flattening *flattening, bool *ret_is_marked, uint64_t *ret_former,
           bool *ret_has_snapshots, struct error **err)
{
  struct header header;
  if (header_read(flattening->location, flattening->image_id, &header, err) < 0)
    return -1;
  *ret_is_marked = record_is_flattening(&header.metadata, flattening->image_id);
  *ret_former = flattener_mark_read(&header.metadata);
  *ret_has_snapshots = header.snap_count > 0;
  header_clear(&header);
  return 0;
}

/* Whether another client has it open, or left its lock: a node that is cut off and may come back.
 * One that a flattener left, when it was killed, is nobody's. */
static int
look_whether_used(const struct flattening *flattening, uint64_t former, bool *ret_is,
                  struct error **err)
{
  struct location *location = flattening->location;
  uint64_t own = cluster_client_id(location->cluster), owner;
  struct image_clients clients;
  if (image_clients_list(location, flattening->image_id, &clients, err) < 0)
    return -1;
  *ret_is = false;
  for (size_t i = 0; i < clients.count; i++)
    *ret_is = *ret_is || clients.items[i].id != own;
  image_clients_clear(&clients);
  if (image_clients_lock_owner(location, flattening->image_id, &owner, err) < 0)
    return -1;
  *ret_is = *ret_is || (owner != 0 && owner != own && owner != former);
  return 0;
}

static int
copy(const struct attempt *attempt, enum flattening_end *ret_end, struct error **err)
{
  const struct flattening *flattening = attempt->flattening;
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(image_closep) struct image *image = NULL;
  if (image_open(flattening->location, flattening->image_id, &image, err) < 0)
    return -1;
  if (image_flatten(image, on_progress, (void *)attempt, &failure) == 0) {
    *ret_end = FLATTENING_DONE;
    return 0;
  }
  if (!is_wanted(attempt))
    return error_set(err, failure->code, "%s", failure->message);
  *ret_end = FLATTENING_MADE_ROOM;
  return 0;
}

/* The marks that it is to be done, and that it is being done here. */
static void
list_marks(const struct flattening *flattening, struct string_map *marks)
{
  record_write_flattening(flattening->image_id, marks);
  flattener_mark_write(cluster_client_id(flattening->location->cluster), marks);
}

static int
copy_unless_used(const struct attempt *attempt, uint64_t former, enum flattening_end *ret_end,
                 struct error **err)
{
  bool is_marked = false, has_snapshots = false, is_used = false;
  uint64_t ignored;
  if (look_whether_used(attempt->flattening, former, &is_used, err) < 0 ||
      read_marks(attempt->flattening, &is_marked, &ignored, &has_snapshots, err) < 0)
    return -1;
  *ret_end = is_marked ? FLATTENING_IN_USE : FLATTENING_NOT_WANTED;
  return is_marked && !is_used && !has_snapshots ? copy(attempt, ret_end, err) : 0;
}

/* First it can be heard and seen that the image is worked on, and then it is looked who is there:
 * who opens it first and then looks for marks is seen, or sees. */
int
flattening_try(const struct flattening *flattening, enum flattening_end *ret_end,
               struct error **err)
{
  struct location *location = flattening->location;
  CLEANUP(knock_listener_closep) struct knock_listener *listener = NULL;
  uint64_t former = 0;
  bool is_marked = false, has_snapshots;
  if (read_marks(flattening, &is_marked, &former, &has_snapshots, err) < 0)
    return -1;
  *ret_end = FLATTENING_NOT_WANTED;
  if (!is_marked)
    return 0;
  if (lost_parent_cut(location, flattening->image_id, err) < 0 ||
      knock_listen(location, flattening->image_id, &listener, err) < 0)
    return -1;
  const struct attempt attempt = {.flattening = flattening, .listener = listener};
  struct string_map marks = {0};
  list_marks(flattening, &marks);
  int r = header_update_metadata_if(location, flattening->image_id, RECORD_FLATTENING,
                                    flattening->image_id, &marks, NULL, err);
  if (r == 0)
    r = copy_unless_used(&attempt, former, ret_end, err);
  if (r == 0 && *ret_end == FLATTENING_DONE)
    r = header_update_metadata(location, flattening->image_id, NULL, &marks, err);
  string_map_clear(&marks);
  return r;
}
