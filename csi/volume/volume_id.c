/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/volume_id.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"

#define VERSION_PREFIX "1:"

/* The text up to `separator` into part, which has room for max characters; *text goes behind it. */
static bool
take_part(const char **text, char separator, char *part, size_t max)
{
  const char *end = strchr(*text, separator);
  if (!end)
    return false;
  size_t len = (size_t)(end - *text);
  if (len > max)
    return false;
  memcpy(part, *text, len);
  part[len] = '\0';
  *text = end + 1;
  return true;
}

/* A number as we print it: no leading zero, no sign. */
static bool
parse_number(const char *text, unsigned base, uint64_t *ret_value)
{
  return text_to_u64(text, base, ret_value) == 0 && !(text[0] == '0' && text[1]);
}

static bool
parse_volume(const char *text, struct volume_id *id)
{
  char pool[24];
  uint64_t pool_id;
  if (strlen(text) > VOLUME_ID_MAX || !text_starts_with(text, VERSION_PREFIX))
    return false;
  text += strlen(VERSION_PREFIX);
  if (!take_part(&text, ':', id->cluster_id, VOLUME_ID_CLUSTER_MAX) ||
      !take_part(&text, ':', pool, sizeof(pool) - 1) ||
      !take_part(&text, ':', id->name_space, VOLUME_ID_NAMESPACE_MAX))
    return false;
  if (strlen(text) > VOLUME_ID_IMAGE_MAX)
    return false;
  memcpy(id->image_id, text, strlen(text) + 1);
  if (!parse_number(pool, 10, &pool_id) || pool_id > INT64_MAX)
    return false;
  id->pool_id = (int64_t)pool_id;
  return text_is_plain_name(id->cluster_id, VOLUME_ID_CLUSTER_MAX) &&
         (!*id->name_space || text_is_plain_name(id->name_space, VOLUME_ID_NAMESPACE_MAX)) &&
         text_is_plain_name(id->image_id, VOLUME_ID_IMAGE_MAX);
}

int
volume_id_decode(const char *text, struct volume_id *ret_id, struct error **err)
{
  struct volume_id id;
  if (!parse_volume(text, &id))
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%.*s' is not a volume id of this driver",
                     VOLUME_ID_MAX, text);
  *ret_id = id;
  return 0;
}

int
snapshot_id_decode(const char *text, struct snapshot_id *ret_id, struct error **err)
{
  struct snapshot_id id;
  const char *at = strchr(text, '@');
  bool is_valid = at && strlen(text) <= VOLUME_ID_MAX;
  if (is_valid) {
    CLEANUP(freep) char *volume = xstrndup(text, (size_t)(at - text));
    is_valid = parse_volume(volume, &id.volume) && parse_number(at + 1, 16, &id.snap_id);
  }
  if (!is_valid)
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%.*s' is not a snapshot id of this driver",
                     VOLUME_ID_MAX, text);
  *ret_id = id;
  return 0;
}

bool
volume_id_equal(const struct volume_id *a, const struct volume_id *b)
{
  return a->pool_id == b->pool_id && strcmp(a->cluster_id, b->cluster_id) == 0 &&
         strcmp(a->name_space, b->name_space) == 0 && strcmp(a->image_id, b->image_id) == 0;
}

static char *
encode_volume(const struct volume_id *id)
{
  return xasprintf(VERSION_PREFIX "%s:%" PRId64 ":%s:%s", id->cluster_id, id->pool_id,
                   id->name_space, id->image_id);
}

char *
volume_id_encode(const struct volume_id *id)
{
  char *text = encode_volume(id);
  struct volume_id back;
  bool is_readable = parse_volume(text, &back);
  assert(is_readable);
  (void)is_readable;
  return text;
}

char *
snapshot_id_encode(const struct snapshot_id *id)
{
  CLEANUP(freep) char *volume = volume_id_encode(&id->volume);
  char *text = xasprintf("%s@%" PRIx64, volume, id->snap_id);
  assert(strlen(text) <= VOLUME_ID_MAX);
  return text;
}
