/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/read_only_view.h"

#include <stdbool.h>

#include "lib/base/memory.h"
#include "nodeplugin/block_device.h"
#include "nodeplugin/loop_device.h"
#include "nodeplugin/mount_table.h"

int
read_only_view_make(const char *device, char **ret_view, struct error **err)
{
  *ret_view = loop_device_find(device);
  if (*ret_view)
    return 0;
  return loop_device_attach(device, true, ret_view, err);
}

int
read_only_view_number(const char *device, dev_t *ret_number)
{
  CLEANUP(freep) char *view = loop_device_find(device);
  return view ? block_device_number(view, ret_number, NULL) : -1;
}

void
read_only_view_refresh(const char *device)
{
  CLEANUP(freep) char *view = loop_device_find(device);
  if (view)
    loop_device_refresh(view);
}

static bool
is_bound(const char *view)
{
  struct mount_table table;
  if (mount_table_read(&table, NULL) < 0)
    return true;
  bool found = mount_table_of_node(&table, view, NULL) != NULL;
  mount_table_clear(&table);
  return found;
}

int
read_only_view_remove(const char *device, struct error **err)
{
  CLEANUP(freep) char *view = loop_device_find(device);
  if (!view || is_bound(view))
    return 0;
  return loop_device_detach(view, device, err);
}
