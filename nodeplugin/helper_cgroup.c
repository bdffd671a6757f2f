/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/helper_cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/memory.h"

#define GROUP "imprint-volumes"
/* More hierarchies than any kernel has. */
#define HIERARCHIES_MAX 32
#define LIST_MAX 4096

struct helper_cgroup {
  char *members[HIERARCHIES_MAX]; /* files that a process joins by */
  size_t count;
};

void
helper_cgroup_free(struct helper_cgroup *cgroup)
{
  if (!cgroup)
    return;
  for (size_t i = 0; i < cgroup->count; i++)
    free(cgroup->members[i]);
  free(cgroup);
}

/* A list of processors or memory nodes, which a new group of version 1 lacks and nobody can join it
 * without. */
static void
inherit(const char *hierarchy, const char *group, const char *name)
{
  CLEANUP(freep) char *from = xasprintf("%s/%s", hierarchy, name);
  CLEANUP(freep) char *to = xasprintf("%s/%s", group, name);
  char list[LIST_MAX];
  CLEANUP(closep) int source = open(from, O_RDONLY | O_CLOEXEC);
  CLEANUP(closep) int target = open(to, O_WRONLY | O_CLOEXEC);
  if (source < 0 || target < 0)
    return;
  ssize_t len = read(source, list, sizeof(list));
  if (len > 0)
    (void)!write(target, list, (size_t)len);
}

static bool
is_hierarchy(const char *folder)
{
  CLEANUP(freep) char *members = xasprintf("%s/cgroup.procs", folder);
  return access(members, W_OK) == 0;
}

static int
add_hierarchy(struct helper_cgroup *cgroup, const char *folder, struct error **err)
{
  CLEANUP(freep) char *group = xasprintf("%s/" GROUP, folder);
  if (cgroup->count == HIERARCHIES_MAX)
    return error_set(err, ERROR_INTERNAL, "there are more than %d cgroup hierarchies",
                     HIERARCHIES_MAX);
  if (mkdir(group, 0755) < 0 && errno != EEXIST)
    return error_set_errno(err, errno, "make the cgroup '%s'", group);
  inherit(folder, group, "cpuset.cpus");
  inherit(folder, group, "cpuset.mems");
  cgroup->members[cgroup->count++] = xasprintf("%s/cgroup.procs", group);
  return 0;
}

/* Of version 1 there is one a folder; links are other names of the same. */
static int
add_all_below(struct helper_cgroup *cgroup, const char *root, struct error **err)
{
  DIR *folder = opendir(root);
  if (!folder)
    return error_set_errno(err, errno, "read '%s'", root);
  int r = 0;
  for (const struct dirent *entry; r == 0 && (entry = readdir(folder));) {
    CLEANUP(freep) char *path = xasprintf("%s/%s", root, entry->d_name);
    if (entry->d_name[0] != '.' && entry->d_type == DT_DIR && is_hierarchy(path))
      r = add_hierarchy(cgroup, path, err);
  }
  (void)closedir(folder);
  return r;
}

int
helper_cgroup_open(const char *root, struct helper_cgroup **ret_cgroup, struct error **err)
{
  CLEANUP(helper_cgroup_freep) struct helper_cgroup *cgroup = xcalloc(1, sizeof(*cgroup));
  int r = is_hierarchy(root) ? add_hierarchy(cgroup, root, err) : add_all_below(cgroup, root, err);
  if (r < 0)
    return -1;
  if (cgroup->count == 0)
    return error_set(err, ERROR_FAILED_PRECONDITION, "no cgroups are mounted at '%s'", root);
  *ret_cgroup = TAKE(cgroup);
  return 0;
}

int
helper_cgroup_enter(void *context)
{
  const struct helper_cgroup *cgroup = context;
  for (size_t i = 0; cgroup && i < cgroup->count; i++) {
    int fd = open(cgroup->members[i], O_WRONLY | O_CLOEXEC);
    if (fd < 0)
      return errno;
    int failure = write(fd, "0", 1) < 0 ? errno : 0; /* 0: whoever writes */
    (void)close(fd);
    if (failure)
      return failure;
  }
  return 0;
}
