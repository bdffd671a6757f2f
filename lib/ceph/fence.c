/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/lock.h"
#include "lib/base/memory.h"

/* One line of the file: "<cluster id> <address>". */
struct fence_entry {
  char *cluster_id;
  char *address;
  bool is_ours; /* else a dead predecessor's */
};

struct fence {
  char *dir;
  int dir_fd;
  int lock_fd;
  pthread_mutex_t mutex; /* guards the entries and the file */
  struct fence_entry *entries;
  size_t count;
};

static void
add_entry(struct fence *fence, const char *cluster_id, const char *address, bool is_ours)
{
  fence->entries = xrealloc(fence->entries, fence->count + 1, sizeof(fence->entries[0]));
  fence->entries[fence->count++] = (struct fence_entry){
      .cluster_id = xstrdup(cluster_id), .address = xstrdup(address), .is_ours = is_ours};
}

static void
remove_entry(struct fence *fence, size_t index)
{
  free(fence->entries[index].cluster_id);
  free(fence->entries[index].address);
  fence->entries[index] = fence->entries[--fence->count];
}

static void
read_entries(struct fence *fence)
{
  int fd = openat(fence->dir_fd, "clients", O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return;
  FILE *file = fdopen(fd, "re");
  if (!file) {
    (void)close(fd);
    return;
  }
  CLEANUP(freep) char *line = NULL;
  size_t room = 0;
  while (getline(&line, &room, file) > 0) {
    line[strcspn(line, "\n")] = '\0';
    char *space = strchr(line, ' ');
    if (!space)
      continue;
    *space = '\0';
    add_entry(fence, line, space + 1, false);
  }
  (void)fclose(file);
}

/* Replaces the file in one step; it survives the process, not the machine, so no fsync is needed.
 */
static int
write_entries(struct fence *fence, struct error **err)
{
  CLEANUP(closep)
  int fd = openat(fence->dir_fd, "clients.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0)
    return error_set_errno(err, errno, "write '%s/clients.new'", fence->dir);
  for (size_t i = 0; i < fence->count; i++) {
    if (dprintf(fd, "%s %s\n", fence->entries[i].cluster_id, fence->entries[i].address) < 0)
      return error_set_errno(err, errno, "write '%s/clients.new'", fence->dir);
  }
  if (renameat(fence->dir_fd, "clients.new", fence->dir_fd, "clients") < 0)
    return error_set_errno(err, errno, "rename '%s/clients.new'", fence->dir);
  return 0;
}

static void
fence_free(struct fence *fence)
{
  if (!fence)
    return;
  while (fence->count > 0)
    remove_entry(fence, fence->count - 1);
  free(fence->entries);
  if (fence->lock_fd >= 0)
    (void)close(fence->lock_fd);
  if (fence->dir_fd >= 0)
    (void)close(fence->dir_fd);
  (void)pthread_mutex_destroy(&fence->mutex);
  free(fence->dir);
  free(fence);
}

DEFINE_CLEANUP(struct fence *, fence_free)

int
fence_open(const char *state_dir, struct fence **ret_fence, struct error **err)
{
  CLEANUP(fence_freep) struct fence *fence = xcalloc(1, sizeof(*fence));
  fence->dir_fd = fence->lock_fd = -1;
  fence->dir = xstrdup(state_dir);
  (void)pthread_mutex_init(&fence->mutex, NULL);
  if (mkdir(state_dir, 0700) < 0 && errno != EEXIST)
    return error_set_errno(err, errno, "make state folder '%s'", state_dir);
  fence->dir_fd = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fence->dir_fd < 0)
    return error_set_errno(err, errno, "open state folder '%s'", state_dir);
  fence->lock_fd = openat(fence->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fence->lock_fd < 0)
    return error_set_errno(err, errno, "open '%s/lock'", state_dir);
  if (flock(fence->lock_fd, LOCK_EX | LOCK_NB) < 0) {
    if (errno == EWOULDBLOCK)
      return error_set(err, ERROR_FAILED_PRECONDITION,
                       "state folder '%s' is in use by another live process: give each its own",
                       state_dir);
    return error_set_errno(err, errno, "lock '%s/lock'", state_dir);
  }
  read_entries(fence);
  *ret_fence = TAKE(fence);
  return 0;
}

void
fence_close(struct fence *fence)
{
  fence_free(fence);
}

int
fence_join(struct fence *fence, const char *cluster_id, const char *own_address,
           int (*blocklist)(void *context, const char *address, struct error **err), void *context,
           struct error **err)
{
  MUTEX_GUARD(&fence->mutex);
  add_entry(fence, cluster_id, own_address, true);
  if (write_entries(fence, err) < 0)
    return -1;
  size_t i = 0;
  while (i < fence->count) {
    struct fence_entry *entry = &fence->entries[i];
    if (entry->is_ours || strcmp(entry->cluster_id, cluster_id) != 0) {
      i++;
      continue;
    }
    if (blocklist(context, entry->address, err) < 0)
      return error_wrap(err, "fence the predecessor's client %s", entry->address);
    remove_entry(fence, i);
  }
  return write_entries(fence, err);
}

void
fence_leave(struct fence *fence, const char *cluster_id, const char *own_address)
{
  MUTEX_GUARD(&fence->mutex);
  for (size_t i = 0; i < fence->count; i++) {
    struct fence_entry *entry = &fence->entries[i];
    if (entry->is_ours && strcmp(entry->cluster_id, cluster_id) == 0 &&
        strcmp(entry->address, own_address) == 0) {
      remove_entry(fence, i);
      break;
    }
  }
  (void)write_entries(fence, NULL); /* a stale entry costs a needless blocklisting, no more */
}
