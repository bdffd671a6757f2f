/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/location.h"

#include <errno.h>
#include <rbd/librbd.h>
#include <stdarg.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/ceph_error.h"

static struct location *
location_new(struct cluster *cluster, rados_ioctx_t ioctx, const char *name_space)
{
  struct location *location = xcalloc(1, sizeof(*location));
  location->cluster = cluster_ref(cluster);
  location->ioctx = ioctx;
  location->pool_id = rados_ioctx_get_id(ioctx);
  char pool[256] = "";
  (void)rados_ioctx_get_pool_name(ioctx, pool, sizeof(pool));
  location->pool = xstrdup(pool);
  location->name_space = xstrdup(name_space);
  location->label = *name_space ? xasprintf("%s/%s", pool, name_space) : xstrdup(pool);
  rados_ioctx_set_namespace(ioctx, name_space);
  /* Else librados keeps writes to a full pool back until there is space, even those that make some;
   * so they fail, and what deletes goes through. librbd's handles take it over. */
  rados_set_pool_full_try(ioctx);
  return location;
}

int
location_open(struct cluster *cluster, const char *pool, const char *name_space,
              struct location **ret_location, struct error **err)
{
  rados_ioctx_t ioctx;
  int r = rados_ioctx_create(cluster->rados, pool, &ioctx);
  if (r == -ENOENT)
    return error_set(err, ERROR_NOT_FOUND, "cluster '%s' has no pool '%s'", cluster_id(cluster),
                     pool);
  if (r < 0)
    return ceph_error_set(err, r, "open pool '%s' of cluster '%s'", pool, cluster_id(cluster));
  *ret_location = location_new(cluster, ioctx, name_space);
  return 0;
}

int
location_open_by_id(struct cluster *cluster, int64_t pool_id, const char *name_space,
                    struct location **ret_location, struct error **err)
{
  rados_ioctx_t ioctx;
  int r = rados_ioctx_create2(cluster->rados, pool_id, &ioctx);
  if (r == -ENOENT)
    return error_set(err, ERROR_NOT_FOUND, "cluster '%s' has no pool with id %lld",
                     cluster_id(cluster), (long long)pool_id);
  if (r < 0)
    return ceph_error_set(err, r, "open pool %lld of cluster '%s'", (long long)pool_id,
                          cluster_id(cluster));
  *ret_location = location_new(cluster, ioctx, name_space);
  return 0;
}

int
location_reopen(const struct location *location, struct location **ret_location, struct error **err)
{
  return location_open_by_id(location->cluster, location->pool_id, location->name_space,
                             ret_location, err);
}

void
location_close(struct location *location)
{
  if (!location)
    return;
  rados_ioctx_destroy(location->ioctx);
  free(location->pool);
  free(location->name_space);
  free(location->label);
  cluster_unref(location->cluster);
  free(location);
}

void
location_error_make(struct location *location, struct error **err, int r, const char *format, ...)
{
  cluster_note_result(location->cluster, r);
  va_list args;
  va_start(args, format);
  CLEANUP(freep) char *place = xvasprintf(format, args);
  va_end(args);
  ceph_error_make(err, r, "%s", place);
}

int
location_check(struct location *location, struct error **err)
{
  char names[1024];
  size_t len = sizeof(names);
  int r = rados_application_list(location->ioctx, names, &len);
  bool is_rbd = false;
  for (size_t at = 0; r >= 0 && at < len && names[at]; at += strlen(names + at) + 1)
    is_rbd = is_rbd || strcmp(names + at, "rbd") == 0;
  if (!is_rbd)
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "pool '%s' is not set up for RBD: run 'rbd pool init %s'", location->pool,
                     location->pool);
  if (!*location->name_space)
    return 0;
  bool exists = false;
  r = CEPH_CALL(rbd_namespace_exists(location->ioctx, location->name_space, &exists));
  if (r < 0)
    return location_error_set(location, err, r, "look for namespace '%s' in pool '%s'",
                              location->name_space, location->pool);
  if (!exists)
    return error_set(err, ERROR_NOT_FOUND,
                     "pool '%s' has no namespace '%s': run 'rbd namespace create %s/%s'",
                     location->pool, location->name_space, location->pool, location->name_space);
  return 0;
}

static void
add_location(struct locations *locations, struct cluster *cluster, const char *pool,
             const char *name_space)
{
  struct location *location;
  if (location_open(cluster, pool, name_space, &location, NULL) < 0)
    return; /* deleted since it was listed */
  locations->items = xrealloc(locations->items, locations->count + 1, sizeof(locations->items[0]));
  locations->items[locations->count++] = location;
}

/* The NUL separated names of the pool's namespaces. 0, or what Ceph answered. */
static int
namespace_names(struct location *pool, char **ret_names, size_t *ret_len)
{
  size_t len = 4096;
  CLEANUP(freep) char *names = NULL;
  int r;
  do {
    names = xrealloc(names, len, 1);
    r = CEPH_CALL(rbd_namespace_list(pool->ioctx, names, &len));
  } while (r == -ERANGE);
  if (r < 0)
    return r;
  *ret_names = TAKE(names);
  *ret_len = (size_t)r;
  return 0;
}

/* The pool and its namespaces. A list without some of them would be taken for all there is, so it
 * fails when they cannot be told. */
static int
add_pool(struct locations *locations, struct cluster *cluster, const char *pool, struct error **err)
{
  size_t before = locations->count;
  add_location(locations, cluster, pool, "");
  if (locations->count == before)
    return 0;
  CLEANUP(freep) char *names = NULL;
  size_t len = 0;
  int r = namespace_names(locations->items[before], &names, &len);
  if (r == -EPERM || r == -EACCES || r == -ENOENT) { /* somebody else's, or deleted just now */
    location_close(locations->items[--locations->count]);
    return 0;
  }
  if (r < 0)
    return location_error_set(locations->items[before], err, r, "list the namespaces of pool '%s'",
                              pool);
  for (size_t at = 0; at < len && names[at]; at += strlen(names + at) + 1)
    add_location(locations, cluster, pool, names + at);
  return 0;
}

static int
by_label(const void *a, const void *b)
{
  return strcmp((*(struct location *const *)a)->label, (*(struct location *const *)b)->label);
}

int
locations_list(struct cluster *cluster, struct locations *ret_locations, struct error **err)
{
  struct pool_names pools;
  if (cluster_rbd_pools(cluster, &pools, err) < 0)
    return -1;
  struct locations locations = {0};
  int r = 0;
  for (size_t i = 0; r == 0 && i < pools.count; i++)
    r = add_pool(&locations, cluster, pools.names[i], err);
  pool_names_clear(&pools);
  if (r < 0) {
    locations_clear(&locations);
    return -1;
  }
  if (locations.count > 1)
    qsort(locations.items, locations.count, sizeof(locations.items[0]), by_label);
  *ret_locations = locations;
  return 0;
}

void
locations_clear(struct locations *locations)
{
  for (size_t i = 0; i < locations->count; i++)
    location_close(locations->items[i]);
  free(locations->items);
  *locations = (struct locations){0};
}
