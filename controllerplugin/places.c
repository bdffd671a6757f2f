/* SPDX-License-Identifier: Apache-2.0 */
#include "controllerplugin/places.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "csi/volume/image_name.h"
#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/trash.h"

/* So long a new pool or namespace may go unnoticed by the search for a name elsewhere. */
#define REMEMBER_MS 30000

/* The places of one cluster. A reader holds a reference while it uses the list. */
struct known {
  struct known *next;
  struct cluster *cluster; /* which connection they belong to; holds a reference */
  struct locations locations;
  atomic_bool *has_ours;  /* for each: whether a name may be taken there */
  atomic_bool *has_trash; /* for each: whether something can be deleted there */
  int64_t expires_ms;
  unsigned users; /* the table is one */
};

struct places {
  pthread_mutex_t mutex; /* guards the list and users of each */
  struct known *head;
};

struct places *
places_new(void)
{
  struct places *places = xcalloc(1, sizeof(*places));
  (void)pthread_mutex_init(&places->mutex, NULL);
  return places;
}

static void
known_free(struct known *known)
{
  locations_clear(&known->locations);
  free(known->has_ours);
  free(known->has_trash);
  cluster_unref(known->cluster);
  free(known);
}

static void
known_release(struct places *places, struct known *known)
{
  (void)pthread_mutex_lock(&places->mutex);
  bool is_last = --known->users == 0;
  (void)pthread_mutex_unlock(&places->mutex);
  if (is_last)
    known_free(known);
}

void
places_free(struct places *places)
{
  if (!places)
    return;
  for (struct known *known = places->head; known;) {
    struct known *next = known->next;
    known_free(known);
    known = next;
  }
  (void)pthread_mutex_destroy(&places->mutex);
  free(places);
}

/* Takes the cluster's entry out of the table; NULL when there is none. Called with the mutex held.
 */
static struct known *
unlink_known(struct places *places, const char *id)
{
  for (struct known **at = &places->head; *at; at = &(*at)->next) {
    struct known *known = *at;
    if (strcmp(cluster_id(known->cluster), id) == 0) {
      *at = known->next;
      return known;
    }
  }
  return NULL;
}

/* An entry that is still good, with a reference; NULL when there is none. */
static struct known *
find_fresh(struct places *places, struct cluster *cluster)
{
  MUTEX_GUARD(&places->mutex);
  for (struct known *known = places->head; known; known = known->next) {
    if (known->cluster == cluster && known->expires_ms > clock_now_ms()) {
      known->users++;
      return known;
    }
  }
  return NULL;
}

static struct known *
learn(struct places *places, struct cluster *cluster)
{
  struct known *known = xcalloc(1, sizeof(*known));
  if (locations_list(cluster, &known->locations, NULL) < 0) {
    free(known);
    return NULL;
  }
  known->has_ours = xcalloc(known->locations.count + 1, sizeof(known->has_ours[0]));
  known->has_trash = xcalloc(known->locations.count + 1, sizeof(known->has_trash[0]));
  for (size_t i = 0; i < known->locations.count; i++) {
    atomic_init(&known->has_ours[i],
                directory_may_have(known->locations.items[i], IMAGE_NAME_PREFIX));
    atomic_init(&known->has_trash[i], false);
  }
  known->cluster = cluster_ref(cluster);
  known->expires_ms = clock_now_ms() + REMEMBER_MS;
  known->users = 2; /* the table and the caller */
  (void)pthread_mutex_lock(&places->mutex);
  struct known *old = unlink_known(places, cluster_id(cluster));
  known->next = places->head;
  places->head = known;
  (void)pthread_mutex_unlock(&places->mutex);
  if (old)
    known_release(places, old);
  return known;
}

static struct known *
known_get(struct places *places, struct cluster *cluster)
{
  struct known *known = find_fresh(places, cluster);
  return known ? known : learn(places, cluster);
}

static bool
is_same_place(const struct location *a, const struct location *b)
{
  return a->pool_id == b->pool_id && strcmp(a->name_space, b->name_space) == 0;
}

/* Whether the place is known to be there; has_made says that it holds something of ours. */
static bool
is_known(struct places *places, const struct location *location, bool has_made)
{
  struct known *known = find_fresh(places, location->cluster);
  bool found = false;
  for (size_t i = 0; known && i < known->locations.count; i++) {
    if (!is_same_place(known->locations.items[i], location))
      continue;
    if (has_made)
      atomic_store(&known->has_ours[i], true);
    found = true;
  }
  if (known)
    known_release(places, known);
  return found;
}

int
places_open(struct places *places, struct cluster *cluster, const char *pool,
            const char *name_space, struct location **ret_location, struct error **err)
{
  CLEANUP(location_closep) struct location *location = NULL;
  int r = location_open(cluster, pool, name_space, &location, err);
  if (r == 0 && !is_known(places, location, false))
    r = location_check(location, err);
  if (r < 0) {
    /* The one who asked named something that is not there: his argument is at fault. */
    if (err && (*err)->code == ERROR_NOT_FOUND)
      (*err)->code = ERROR_INVALID_ARGUMENT;
    return error_wrap(err, "parameters 'pool' and 'namespace'");
  }
  *ret_location = TAKE(location);
  return 0;
}

void
places_prepare(struct places *places, struct location *location)
{
  struct known *known = find_fresh(places, location->cluster);
  for (size_t i = 0; known && i < known->locations.count; i++) {
    if (is_same_place(known->locations.items[i], location) && !atomic_load(&known->has_trash[i]) &&
        trash_prepare(location, NULL) == 0)
      atomic_store(&known->has_trash[i], true);
  }
  if (known)
    known_release(places, known);
}

void
places_note_made(struct places *places, const struct location *location)
{
  (void)is_known(places, location, true);
}

char *
places_find_elsewhere(struct places *places, struct location *here, places_search *search,
                      const char *name)
{
  struct known *known = known_get(places, here->cluster);
  if (!known)
    return NULL;
  struct locations others = {.items =
                                 xcalloc(known->locations.count + 1, sizeof(struct location *))};
  for (size_t i = 0; i < known->locations.count; i++) {
    if (!is_same_place(known->locations.items[i], here) && atomic_load(&known->has_ours[i]))
      others.items[others.count++] = known->locations.items[i];
  }
  int found = search(&others, name);
  char *label = found >= 0 ? xstrdup(others.items[found]->label) : NULL;
  free(others.items);
  known_release(places, known);
  return label;
}
