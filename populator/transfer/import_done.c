/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/import_done.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/blob.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/header.h"
#include "populator/transfer/remains.h"

#define KEY_DONE "imprint.import.done"
#define KEY_FORMAT "imprint.import.format"
#define KEY_SIZE "imprint.import.virtual-size"
#define KEY_DIGEST "imprint.import.digest"

static char *
mark_of(const char *image_id, const char *token)
{
  return xasprintf("%s %s", image_id, token);
}

void
import_done_write(const char *image_id, const char *token, const struct import_result *result,
                  struct string_map *metadata)
{
  CLEANUP(freep) char *size = xasprintf("%" PRIu64, result->virtual_size);
  CLEANUP(freep) char *mark = token ? mark_of(image_id, token) : NULL;
  string_map_set(metadata, KEY_FORMAT, result->format);
  string_map_set(metadata, KEY_SIZE, size);
  if (*result->digest)
    string_map_set(metadata, KEY_DIGEST, result->digest);
  if (mark)
    string_map_set(metadata, KEY_DONE, mark);
}

void
import_done_list(struct string_map *ret_keys)
{
  string_map_set(ret_keys, KEY_DONE, "");
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
import_done_look(struct location *location, const char *image, const char *token, bool *ret_is_done,
                 struct import_result *ret_result, struct error **err)
{
  CLEANUP(freep) char *id = NULL;
  struct header header;
  if (directory_id_of(location, image, &id, err) < 0 || header_read(location, id, &header, err) < 0)
    return -1;
  CLEANUP(freep) char *mark = mark_of(id, token);
  const char *found = string_map_get(&header.metadata, KEY_DONE);
  *ret_is_done = found && strcmp(found, mark) == 0;
  if (*ret_is_done)
    read_result(&header.metadata, ret_result);
  header_clear(&header);
  return *ret_is_done ? end(location, id, err) : 0;
}
