/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/published_path.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/memory.h"
#include "nodeplugin/inline_note.h"
#include "nodeplugin/mapper_table.h"
#include "nodeplugin/mount_table.h"
#include "nodeplugin/read_only_view.h"

/* Where the filesystem can be written to, to be freed; NULL when that is nowhere. */
static char *
find_writable(const struct mount_table *table, dev_t device)
{
  for (size_t i = 0; i < table->count; i++) {
    if (table->entries[i].device == device && !table->entries[i].is_read_only)
      return xstrdup(table->entries[i].mount_point);
  }
  return NULL;
}

/* A staged block volume has a folder and no mount. */
static int
look(struct published_path *p, const char *staging_path, const struct mount_table *table,
     struct error **err)
{
  struct stat now;
  dev_t view;
  const struct mount_entry *there = mount_table_at(table, p->target.real);
  if (there && there->device == p->mapping.number) {
    (void)snprintf(p->fs_type, sizeof(p->fs_type), "%s", there->type);
    p->is_super_read_only = there->is_super_read_only && !p->mapping.is_read_only;
    p->writable_at = there->is_read_only ? find_writable(table, there->device) : NULL;
    return 0;
  }
  bool is_there = target_path_stat(&p->target, &now);
  if (is_there && S_ISBLK(now.st_mode) &&
      (now.st_rdev == p->mapping.number ||
       (read_only_view_number(p->mapping.device, &view) == 0 && now.st_rdev == view))) {
    p->is_block = true;
    return 0;
  }
  if (is_there && !there && S_ISDIR(now.st_mode) && strcmp(staging_path, p->target.real) == 0) {
    p->is_block = true;
    return 0;
  }
  return error_set(err, ERROR_NOT_FOUND, "it is not at '%s'", p->target.real);
}

static int
open_path(struct node *node, const char *volume_id, const char *path, const char *staging_path,
          struct published_path *p, struct error **err)
{
  if ((!inline_note_read(node, volume_id, &p->id) &&
       volume_id_decode(volume_id, &p->id, err) < 0) ||
      target_path_open(&node->kubelet_dir, "volume_path", path, &p->target, err) < 0)
    return -1;
  if (!mapper_find(&node->env, &p->id, &p->mapping))
    return error_set(err, ERROR_NOT_FOUND, "it has no device on this node");
  struct mount_table table;
  if (mount_table_read(&table, err) < 0)
    return -1;
  CLEANUP(freep) char *staging = target_base_resolve(&node->kubelet_dir, staging_path);
  int r = look(p, staging, &table, err);
  mount_table_clear(&table);
  return r;
}

int
published_path_open(struct node *node, const char *volume_id, const char *path,
                    const char *staging_path, struct published_path *ret_path, struct error **err)
{
  struct published_path p = {.target.parent = -1};
  if (open_path(node, volume_id, path, staging_path, &p, err) < 0) {
    published_path_clear(&p);
    /* a handle or path that was never ours is not found either */
    if (err && (*err)->code == ERROR_INVALID_ARGUMENT)
      (*err)->code = ERROR_NOT_FOUND;
    return -1;
  }
  *ret_path = p;
  return 0;
}

void
published_path_clear(struct published_path *path)
{
  free(path->writable_at);
  mapping_clear(&path->mapping);
  target_path_clear(&path->target);
}
