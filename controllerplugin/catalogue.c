/* SPDX-License-Identifier: Apache-2.0 */
#include "controllerplugin/catalogue.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/directory.h"

static void
add_entry(struct catalogue *catalogue, struct location *location,
          const struct directory_entry *image)
{
  catalogue->entries =
      xrealloc(catalogue->entries, catalogue->count + 1, sizeof(catalogue->entries[0]));
  struct catalogue_entry *entry = &catalogue->entries[catalogue->count++];
  *entry = (struct catalogue_entry){.location = location, .id.pool_id = location->pool_id};
  (void)snprintf(entry->id.cluster_id, sizeof(entry->id.cluster_id), "%s",
                 cluster_id(location->cluster));
  (void)snprintf(entry->id.name_space, sizeof(entry->id.name_space), "%s", location->name_space);
  (void)snprintf(entry->id.image_id, sizeof(entry->id.image_id), "%s", image->id);
  entry->handle = volume_id_encode(&entry->id);
  entry->image_name = xstrdup(image->name);
}

static int
add_cluster(struct catalogue *catalogue, struct controller *controller, const char *id,
            const char *prefix, struct error **err)
{
  CLEANUP(cluster_unrefp) struct cluster *cluster = NULL;
  struct locations locations;
  if (clusters_get(controller->clusters, id, &cluster, err) < 0 ||
      locations_list(cluster, &locations, err) < 0)
    return -1;
  catalogue->locations =
      xrealloc(catalogue->locations, catalogue->cluster_count + 1, sizeof(catalogue->locations[0]));
  catalogue->locations[catalogue->cluster_count++] = locations;
  for (size_t i = 0; i < locations.count; i++) {
    struct directory directory;
    /* A namespace that no handle can name holds nothing of ours. */
    if (strlen(locations.items[i]->name_space) > VOLUME_ID_NAMESPACE_MAX)
      continue;
    if (directory_list(locations.items[i], prefix, &directory, err) < 0)
      return -1;
    for (size_t k = 0; k < directory.count; k++)
      add_entry(catalogue, locations.items[i], &directory.entries[k]);
    directory_clear(&directory);
  }
  return 0;
}

static int
by_handle(const void *a, const void *b)
{
  return strcmp(((const struct catalogue_entry *)a)->handle,
                ((const struct catalogue_entry *)b)->handle);
}

int
catalogue_open(struct controller *controller, const char *prefix, struct catalogue *ret_catalogue,
               struct error **err)
{
  struct catalogue catalogue = {0};
  struct cluster_ids ids;
  clusters_ids(controller->clusters, &ids);
  int r = 0;
  for (size_t i = 0; r == 0 && i < ids.count; i++)
    r = add_cluster(&catalogue, controller, ids.ids[i], prefix, err);
  cluster_ids_clear(&ids);
  if (r < 0) {
    catalogue_close(&catalogue);
    return -1;
  }
  if (catalogue.count > 1)
    qsort(catalogue.entries, catalogue.count, sizeof(catalogue.entries[0]), by_handle);
  *ret_catalogue = catalogue;
  return 0;
}

void
catalogue_close(struct catalogue *catalogue)
{
  for (size_t i = 0; i < catalogue->count; i++) {
    free(catalogue->entries[i].handle);
    free(catalogue->entries[i].image_name);
  }
  for (size_t i = 0; i < catalogue->cluster_count; i++)
    locations_clear(&catalogue->locations[i]);
  free(catalogue->entries);
  free(catalogue->locations);
  *catalogue = (struct catalogue){0};
}

size_t
catalogue_after(const struct catalogue *catalogue, const char *handle)
{
  size_t low = 0;
  size_t high = catalogue->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (strcmp(catalogue->entries[middle].handle, handle) <= 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* How many entries from `first` on lie in the same location: they are read together. */
static size_t
run_length(const struct catalogue *catalogue, size_t first, size_t end)
{
  size_t n = 1;
  while (first + n < end &&
         catalogue->entries[first + n].location == catalogue->entries[first].location)
    n++;
  return n;
}

int
catalogue_read(struct catalogue *catalogue, size_t first, size_t count, struct header *headers,
               bool *found, struct error **err)
{
  char **ids = xcalloc(count + 1, sizeof(char *));
  for (size_t i = 0; i < count; i++)
    ids[i] = catalogue->entries[first + i].id.image_id;
  int r = 0;
  size_t done = 0;
  while (r == 0 && done < count) {
    size_t n = run_length(catalogue, first + done, first + count);
    r = header_read_many(catalogue->entries[first + done].location, ids + done, n, headers + done,
                         found + done, err);
    if (r == 0)
      done += n;
  }
  for (size_t i = 0; r < 0 && i < done; i++)
    header_clear(&headers[i]);
  free(ids);
  return r;
}
