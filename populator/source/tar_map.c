/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/tar_map.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

void
tar_map_clear(struct tar_map *map)
{
  free(map->pieces);
  *map = (struct tar_map){0};
}

static int
bad(const char *what, struct error **err)
{
  return error_set(err, ERROR_INVALID_ARGUMENT, "tar archive: the map of a sparse file %s", what);
}

static uint64_t
end_of(const struct tar_map *map)
{
  if (map->count == 0)
    return 0;
  const struct tar_piece *last = &map->pieces[map->count - 1];
  return last->offset + last->len;
}

int
tar_map_add(struct tar_map *map, uint64_t offset, uint64_t len, struct error **err)
{
  if (offset > INT64_MAX || len > INT64_MAX - offset)
    return bad("has a number that is too large", err);
  if (offset < end_of(map))
    return bad("is not in order", err);
  if (len == 0)
    return 0;
  if (map->count == TAR_MAP_MAX)
    return error_set(err, ERROR_RESOURCE_EXHAUSTED,
                     "tar archive: a sparse file of more than %zu pieces is not supported: make "
                     "the archive without tar's --sparse",
                     TAR_MAP_MAX);
  if ((map->count & (map->count - 1)) == 0) /* powers of two */
    map->pieces =
        xrealloc(map->pieces, map->count > 0 ? map->count * 2 : 1, sizeof(map->pieces[0]));
  map->pieces[map->count++] = (struct tar_piece){.offset = offset, .len = len};
  return 0;
}

/* The number up to the next comma, or the end; *at moves behind it. */
static int
take_number(const char **at, const char *end, uint64_t *ret_number)
{
  const char *comma = memchr(*at, ',', (size_t)(end - *at));
  const char *stop = comma ? comma : end;
  CLEANUP(freep) char *digits = xstrndup(*at, (size_t)(stop - *at));
  *at = comma ? comma + 1 : end;
  return text_to_u64(digits, 10, ret_number);
}

int
tar_map_add_list(struct tar_map *map, const char *text, size_t len, struct error **err)
{
  const char *end = text + len;
  for (const char *at = text; at < end;) {
    uint64_t offset, piece_len;
    if (take_number(&at, end, &offset) < 0 || at == end || take_number(&at, end, &piece_len) < 0)
      return bad("is not a list of numbers", err);
    if (tar_map_add(map, offset, piece_len, err) < 0)
      return -1;
  }
  return 0;
}

int
tar_map_check(const struct tar_map *map, uint64_t size, uint64_t stored, struct error **err)
{
  uint64_t sum = 0;
  for (size_t i = 0; i < map->count; i++)
    sum += map->pieces[i].len; /* they do not overlap: it stays below the end */
  if (sum != stored)
    return bad("tells of more or less than the archive has", err);
  if (end_of(map) > size)
    return bad("goes beyond the end of the file", err);
  return 0;
}
