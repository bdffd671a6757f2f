/* SPDX-License-Identifier: Apache-2.0 */
/* ListSnapshots and GetSnapshot. */
#include <string.h>

#include "controllerplugin/catalogue.h"
#include "controllerplugin/controller.h"
#include "controllerplugin/volume.h"
#include "csi/volume/image_name.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

/* Headers read at once. */
#define BATCH 256

typedef Csi__V1__ListSnapshotsResponse__Entry entry_message;

/* A page being filled. */
struct page {
  Csi__V1__ListSnapshotsResponse *answer;
  size_t max;
  struct snapshot_id after; /* entries up to and with this one were on the page before */
  bool has_after;
  char *last;  /* the handle of the last entry put on the page */
  bool is_cut; /* there is more */
};

static void
append(struct page *page, const struct volume_id *volume, const struct snap *snap)
{
  if (page->answer->n_entries >= page->max) {
    page->is_cut = true;
    return;
  }
  entry_message *entry = xcalloc(1, sizeof(*entry));
  csi__v1__list_snapshots_response__entry__init(entry);
  entry->snapshot = snapshot_describe(volume, snap);
  free(page->last);
  page->last = xstrdup(entry->snapshot->snapshot_id);
  Csi__V1__ListSnapshotsResponse *answer = page->answer;
  answer->entries = xrealloc(answer->entries, answer->n_entries + 1, sizeof(answer->entries[0]));
  answer->entries[answer->n_entries++] = entry;
}

static int
by_id(const void *a, const void *b)
{
  uint64_t x = ((const struct snap *)a)->id;
  uint64_t y = ((const struct snap *)b)->id;
  return x < y ? -1 : x > y;
}

/* The CSI snapshots of one image, oldest first. */
static int
append_image(struct page *page, struct location *location, const struct volume_id *id,
             const struct header *header, struct error **err)
{
  struct snaps snaps;
  if (header->snap_count == 0)
    return 0;
  if (header_read_snaps(location, id->image_id, header->snap_ids, header->snap_count, &snaps, err) <
      0)
    return -1;
  qsort(snaps.items, snaps.count, sizeof(snaps.items[0]), by_id);
  bool is_cut_here = page->has_after && volume_id_equal(&page->after.volume, id);
  for (size_t i = 0; i < snaps.count && !page->is_cut; i++) {
    if (!snapshot_is_ours(&snaps.items[i]) ||
        (is_cut_here && snaps.items[i].id <= page->after.snap_id))
      continue;
    append(page, id, &snaps.items[i]);
  }
  snaps_clear(&snaps);
  return 0;
}

static int
append_batch(struct page *page, struct catalogue *catalogue, size_t first, size_t count,
             struct error **err)
{
  struct header headers[BATCH];
  bool found[BATCH];
  if (catalogue_read(catalogue, first, count, headers, found, err) < 0)
    return -1;
  int r = 0;
  for (size_t i = 0; i < count; i++) {
    const struct catalogue_entry *entry = &catalogue->entries[first + i];
    if (r == 0 && found[i] && !page->is_cut)
      r = append_image(page, entry->location, &entry->id, &headers[i], err);
    header_clear(&headers[i]);
  }
  return r;
}

static int
list_all(struct controller *controller, struct page *page, struct error **err)
{
  struct catalogue catalogue;
  if (catalogue_open(controller, IMAGE_NAME_PREFIX, &catalogue, err) < 0)
    return -1;
  size_t at = 0;
  if (page->has_after) {
    CLEANUP(freep) char *handle = volume_id_encode(&page->after.volume);
    at = catalogue_after(&catalogue, handle);
    if (at > 0 && strcmp(catalogue.entries[at - 1].handle, handle) == 0)
      at--; /* the image may have more than the last page showed */
  }
  int r = 0;
  while (r == 0 && at < catalogue.count && !page->is_cut) {
    size_t n = catalogue.count - at < BATCH ? catalogue.count - at : BATCH;
    r = append_batch(page, &catalogue, at, n, err);
    at += n;
  }
  catalogue_close(&catalogue);
  return r;
}

/* Of one volume, which may have been deleted since. What does not exist has no snapshots. */
static int
list_of_volume(struct controller *controller, const char *volume_id, struct page *page,
               struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(location_closep) struct location *location = NULL;
  struct volume_id id;
  struct header header;
  if (volume_id_decode(volume_id, &id, NULL) < 0)
    return 0;
  if (volume_locate(controller, &id, &location, &failure) < 0 ||
      header_read(location, id.image_id, &header, &failure) < 0)
    return failure->code == ERROR_NOT_FOUND ? 0
                                            : error_set(err, failure->code, "%s", failure->message);
  int r = append_image(page, location, &id, &header, err);
  header_clear(&header);
  return r;
}

static int
list_one(struct controller *controller, const char *snapshot_id, struct page *page,
         struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct snapshot snapshot;
  if (snapshot_find(controller, "snapshot_id", snapshot_id, &snapshot, &failure) < 0)
    return failure->code == ERROR_NOT_FOUND ? 0
                                            : error_set(err, failure->code, "%s", failure->message);
  append(page, &snapshot.id.volume, &snapshot.snap);
  snapshot_clear(&snapshot);
  return 0;
}

static int
list(struct controller *controller, const Csi__V1__ListSnapshotsRequest *request, struct page *page,
     struct error **err)
{
  if (*request->snapshot_id)
    return list_one(controller, request->snapshot_id, page, err);
  if (*request->source_volume_id)
    return list_of_volume(controller, request->source_volume_id, page, err);
  return list_all(controller, page, err);
}

int
controller_list_snapshots(void *context, const ProtobufCMessage *message,
                          ProtobufCMessage *response, struct error **err)
{
  const Csi__V1__ListSnapshotsRequest *request = (const Csi__V1__ListSnapshotsRequest *)message;
  struct page page = {.answer = (Csi__V1__ListSnapshotsResponse *)response,
                      .max = request->max_entries > 0 ? (size_t)request->max_entries : SIZE_MAX};
  if (request->max_entries < 0)
    return error_set(err, ERROR_INVALID_ARGUMENT, "max_entries is negative");
  page.has_after = *request->starting_token != '\0';
  if (page.has_after && snapshot_id_decode(request->starting_token, &page.after, NULL) < 0)
    return error_set(err, ERROR_ABORTED, "starting_token '%.*s' was not given out by this driver",
                     VOLUME_ID_MAX, request->starting_token);
  int r = list(context, request, &page, err);
  if (r == 0 && page.is_cut)
    page.answer->next_token = xstrdup(page.last);
  free(page.last);
  return r < 0 ? error_wrap(err, "list snapshots") : 0;
}

int
controller_get_snapshot(void *context, const ProtobufCMessage *message, ProtobufCMessage *response,
                        struct error **err)
{
  const Csi__V1__GetSnapshotRequest *request = (const Csi__V1__GetSnapshotRequest *)message;
  Csi__V1__GetSnapshotResponse *answer = (Csi__V1__GetSnapshotResponse *)response;
  struct snapshot snapshot;
  if (snapshot_find(context, "snapshot_id", request->snapshot_id, &snapshot, err) < 0)
    return -1;
  answer->snapshot = snapshot_describe(&snapshot.id.volume, &snapshot.snap);
  snapshot_clear(&snapshot);
  return 0;
}
