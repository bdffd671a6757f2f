/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_place.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/lock.h"
#include "lib/base/memory.h"

void
http_place_init(struct http_place *place)
{
  *place = (struct http_place){0};
  (void)pthread_mutex_init(&place->mutex, NULL);
}

static void
drop(struct http_place *place)
{
  free(TAKE(place->from));
  free(TAKE(place->to));
}

void
http_place_clear(struct http_place *place)
{
  drop(place);
  (void)pthread_mutex_destroy(&place->mutex);
}

char *
http_place_find(struct http_place *place, const char *from, bool *ret_is_trusted)
{
  MUTEX_GUARD(&place->mutex);
  if (!place->from || strcmp(place->from, from) != 0)
    return NULL;
  *ret_is_trusted = place->is_trusted;
  return xstrdup(place->to);
}

void
http_place_keep(struct http_place *place, const char *from, const char *to, bool is_trusted)
{
  MUTEX_GUARD(&place->mutex);
  drop(place);
  place->from = xstrdup(from);
  place->to = xstrdup(to);
  place->is_trusted = is_trusted;
}

void
http_place_forget(struct http_place *place, const char *to)
{
  MUTEX_GUARD(&place->mutex);
  if (place->to && strcmp(place->to, to) == 0)
    drop(place);
}
