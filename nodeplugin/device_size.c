/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/device_size.h"

#include "nodeplugin/block_device.h"
#include "nodeplugin/read_only_view.h"

/* FUSE remembers a size for a second; a kernel client hears of a new one in milliseconds. */
#define SIZE_WAIT_MS 30000

struct growing {
  const struct mapper_env *env;
  const struct volume_id *id;
  const struct mapping *mapping;
  uint64_t size_bytes;
};

static void
nudge(void *context)
{
  const struct growing *g = context;
  (void)g->mapping->mapper->resize(g->env, g->id, g->mapping, g->size_bytes, NULL);
}

int
device_size_follow(const struct mapper_env *env, const struct volume_id *id,
                   const struct mapping *mapping, uint64_t size_bytes, struct error **err)
{
  uint64_t now_bytes;
  if (block_device_size(mapping->device, &now_bytes, err) < 0)
    return -1;
  struct growing g = {.env = env, .id = id, .mapping = mapping, .size_bytes = size_bytes};
  if (now_bytes < size_bytes &&
      (mapping->mapper->resize(env, id, mapping, size_bytes, err) < 0 ||
       block_device_wait_size(mapping->device, size_bytes, SIZE_WAIT_MS, nudge, &g, err) < 0))
    return -1;
  read_only_view_refresh(mapping->device); /* a loop device does not follow by itself */
  return 0;
}
