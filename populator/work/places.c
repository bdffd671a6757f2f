/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/work/places.h"

#include <string.h>

void
places_init(struct places *places, size_t max)
{
  TAILQ_INIT(&places->list);
  places->max = max;
}

void
places_queue(struct places *places, struct place *place)
{
  place->is_taken = false;
  TAILQ_INSERT_TAIL(&places->list, place, link);
}

/* Those who run; host NULL: of any. */
static size_t
count_running(const struct places *places, const char *host)
{
  size_t count = 0;
  const struct place *other;
  TAILQ_FOREACH(other, &places->list, link)
  count += other->is_taken && (!host || strcmp(other->host, host) == 0);
  return count;
}

static bool
has_room_of_host(const struct places *places, const struct place *place)
{
  size_t max = places->max > 1 ? places->max - 1 : 1;
  return !*place->host || count_running(places, place->host) < max;
}

bool
places_is_due(const struct places *places, const struct place *place)
{
  if (count_running(places, NULL) >= places->max)
    return false;
  const struct place *first;
  TAILQ_FOREACH(first, &places->list, link)
  {
    if (!first->is_taken && has_room_of_host(places, first))
      return first == place;
  }
  return false;
}

void
places_take(struct place *place)
{
  place->is_taken = true;
}

void
places_leave(struct places *places, struct place *place)
{
  TAILQ_REMOVE(&places->list, place, link);
}
