/* SPDX-License-Identifier: Apache-2.0 */
/* ListVolumes. */
#include "controllerplugin/catalogue.h"
#include "controllerplugin/controller.h"
#include "controllerplugin/published_nodes.h"
#include "controllerplugin/volume.h"
#include "csi/volume/image_name.h"
#include "csi/volume/record.h"
#include "lib/base/memory.h"

/* Headers read at once. */
#define BATCH 256

typedef Csi__V1__ListVolumesResponse__Entry entry_message;
typedef Csi__V1__ListVolumesResponse__VolumeStatus status_message;

static void
append(Csi__V1__ListVolumesResponse *answer, const struct volume_id *id,
       const struct header *header)
{
  entry_message *entry = xcalloc(1, sizeof(*entry));
  csi__v1__list_volumes_response__entry__init(entry);
  entry->volume = volume_describe(id, header);
  status_message *status = xcalloc(1, sizeof(*status));
  csi__v1__list_volumes_response__volume_status__init(status);
  published_nodes(&header->metadata, &status->published_node_ids, &status->n_published_node_ids);
  entry->status = status;
  answer->entries = xrealloc(answer->entries, answer->n_entries + 1, sizeof(answer->entries[0]));
  answer->entries[answer->n_entries++] = entry;
}

/* Finished volumes from `at` on until the page is full; *at is where the next page starts. */
static int
fill_page(struct catalogue *catalogue, size_t *at, size_t max, Csi__V1__ListVolumesResponse *answer,
          struct error **err)
{
  while (*at < catalogue->count && answer->n_entries < max) {
    struct header headers[BATCH];
    bool found[BATCH];
    size_t n = catalogue->count - *at < BATCH ? catalogue->count - *at : BATCH;
    if (n > max - answer->n_entries)
      n = max - answer->n_entries;
    if (catalogue_read(catalogue, *at, n, headers, found, err) < 0)
      return -1;
    for (size_t i = 0; i < n; i++) {
      const struct catalogue_entry *entry = &catalogue->entries[*at + i];
      if (found[i] && record_is_ready(&headers[i].metadata, entry->id.image_id))
        append(answer, &entry->id, &headers[i]);
      header_clear(&headers[i]);
    }
    *at += n;
  }
  return 0;
}

int
controller_list_volumes(void *context, const ProtobufCMessage *message, ProtobufCMessage *response,
                        struct error **err)
{
  const Csi__V1__ListVolumesRequest *request = (const Csi__V1__ListVolumesRequest *)message;
  Csi__V1__ListVolumesResponse *answer = (Csi__V1__ListVolumesResponse *)response;
  struct volume_id token;
  struct catalogue catalogue;
  if (request->max_entries < 0)
    return error_set(err, ERROR_INVALID_ARGUMENT, "max_entries is negative");
  if (*request->starting_token && volume_id_decode(request->starting_token, &token, NULL) < 0)
    return error_set(err, ERROR_ABORTED, "starting_token '%.*s' was not given out by this driver",
                     VOLUME_ID_MAX, request->starting_token);
  if (catalogue_open(context, IMAGE_NAME_VOLUME_PREFIX, &catalogue, err) < 0)
    return error_wrap(err, "list volumes");
  size_t at = catalogue_after(&catalogue, request->starting_token);
  size_t max = request->max_entries ? (size_t)request->max_entries : SIZE_MAX;
  int r = fill_page(&catalogue, &at, max, answer, err);
  if (r == 0 && at < catalogue.count && at > 0)
    answer->next_token = xstrdup(catalogue.entries[at - 1].handle);
  catalogue_close(&catalogue);
  return r < 0 ? error_wrap(err, "list volumes") : 0;
}
