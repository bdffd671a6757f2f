/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/import_done.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/ceph/blob.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/header.h"
#include "populator/transfer/remains.h"

#define KEY_FORMAT "imprint.import.format"
#define KEY_SIZE "imprint.import.virtual-size"
#define KEY_DIGEST "imprint.import.digest"

/* As it stands on the image. */
static char *
value_of(const char *image_id, const struct import_done_mark *mark)
{
  return xasprintf("%s %s", image_id, mark->text);
}

static void
note_untold(const char *image_id, const struct import_done_mark *mark, struct import_result *result)
{
  if (strcmp(mark->key, IMPORT_DONE_UNTOLD) == 0)
    (void)snprintf(result->untold, sizeof(result->untold), "%s", image_id);
}

void
import_done_write(const char *image_id, const struct import_done_mark *mark,
                  struct import_result *result, struct string_map *metadata)
{
  CLEANUP(freep) char *size = xasprintf("%" PRIu64, result->virtual_size);
  string_map_set(metadata, KEY_FORMAT, result->format);
  string_map_set(metadata, KEY_SIZE, size);
  if (*result->digest)
    string_map_set(metadata, KEY_DIGEST, result->digest);
  if (!mark->text)
    return;
  CLEANUP(freep) char *value = value_of(image_id, mark);
  string_map_set(metadata, mark->key, value);
  note_untold(image_id, mark, result);
}

void
import_done_list(struct string_map *ret_keys)
{
  string_map_set(ret_keys, IMPORT_DONE_TOKEN, "");
  string_map_set(ret_keys, IMPORT_DONE_UNTOLD, "");
  string_map_set(ret_keys, KEY_DIGEST, "");
}

static void
read_result(const struct string_map *metadata, struct import_result *ret_result)
{
  const char *format = string_map_get(metadata, KEY_FORMAT);
  const char *size = string_map_get(metadata, KEY_SIZE);
  const char *digest = string_map_get(metadata, KEY_DIGEST);
  *ret_result = (struct import_result){.virtual_size = size ? strtoull(size, NULL, 10) : 0};
  (void)snprintf(ret_result->format, sizeof(ret_result->format), "%s", format ? format : "");
  (void)snprintf(ret_result->digest, sizeof(ret_result->digest), "%s", digest ? digest : "");
}

/* What it had left to do: its last step is to remove this. */
static int
end(struct location *location, const char *id, struct error **err)
{
  CLEANUP(freep) char *checkpoint = remains_checkpoint_name(id);
  return blob_remove(location, checkpoint, err);
}

int
import_done_look(struct location *location, const char *image, const struct import_done_mark *mark,
                 bool *ret_is_done, struct import_result *ret_result, struct error **err)
{
  CLEANUP(freep) char *id = NULL;
  struct header header;
  if (directory_id_of(location, image, &id, err) < 0 || header_read(location, id, &header, err) < 0)
    return -1;
  CLEANUP(freep) char *value = value_of(id, mark);
  const char *found = string_map_get(&header.metadata, mark->key);
  *ret_is_done = found && strcmp(found, value) == 0;
  if (*ret_is_done) {
    read_result(&header.metadata, ret_result);
    note_untold(id, mark, ret_result);
  }
  header_clear(&header);
  return *ret_is_done ? end(location, id, err) : 0;
}

void
import_done_told(struct location *location, const struct import_result *result)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct string_map remove = {0};
  if (!*result->untold)
    return;
  string_map_set(&remove, IMPORT_DONE_UNTOLD, "");
  if (header_update_metadata(location, result->untold, NULL, &remove, &failure) < 0)
    log_debug("behind the import: %s", failure->message);
  string_map_clear(&remove);
}
