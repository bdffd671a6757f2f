/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/clusters.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/lock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"

/* A ConfigMap holds at most 1 MiB. */
#define FILE_MAX_BYTES (1 << 20)

struct clusters_entry {
  struct cluster_config config;
  struct cluster *cluster; /* NULL until first asked for */
  bool is_connecting;      /* someone does; others wait for `change` */
  char *failure;           /* why the last attempt to connect failed, or NULL */
};

struct clusters {
  char *path;
  struct fence *fence;
  pthread_mutex_t mutex; /* guards all below */
  pthread_cond_t change;
  struct stat seen; /* the file as it was last read, or tried */
  struct clusters_entry **entries;
  size_t count;
};

static void
entry_free(struct clusters_entry *entry)
{
  if (!entry)
    return;
  cluster_unref(entry->cluster);
  cluster_config_clear(&entry->config);
  free(entry->failure);
  free(entry);
}

static int
read_file(const char *path, char **ret_text, size_t *ret_len, struct error **err)
{
  CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return error_set_errno(err, errno, "open '%s'", path);
  CLEANUP(freep) char *text = xcalloc(FILE_MAX_BYTES, 1);
  size_t len = 0;
  ssize_t got;
  while ((got = read(fd, text + len, FILE_MAX_BYTES - len)) > 0)
    len += (size_t)got;
  if (got < 0)
    return error_set_errno(err, errno, "read '%s'", path);
  if (len == FILE_MAX_BYTES)
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%s' is larger than 1 MiB", path);
  *ret_text = TAKE(text);
  *ret_len = len;
  return 0;
}

/* The entry with this id, taken out of the list when its configuration is the same. */
static struct clusters_entry *
take_unchanged(struct clusters *clusters, const struct cluster_config *config)
{
  for (size_t i = 0; i < clusters->count; i++) {
    struct clusters_entry *entry = clusters->entries[i];
    if (entry && cluster_config_equal(&entry->config, config)) {
      clusters->entries[i] = NULL;
      return entry;
    }
  }
  return NULL;
}

static int
by_id(const void *a, const void *b)
{
  return strcmp((*(struct clusters_entry *const *)a)->config.cluster_id,
                (*(struct clusters_entry *const *)b)->config.cluster_id);
}

/* Called with the mutex held. */
static int
load(struct clusters *clusters, struct error **err)
{
  CLEANUP(freep) char *text = NULL;
  size_t len = 0;
  if (read_file(clusters->path, &text, &len, err) < 0)
    return -1;
  struct cluster_configs configs;
  if (cluster_configs_parse(text, len, &configs, err) < 0)
    return error_wrap(err, "'%s'", clusters->path);
  struct clusters_entry **entries = xcalloc(configs.count, sizeof(struct clusters_entry *));
  for (size_t i = 0; i < configs.count; i++) {
    entries[i] = take_unchanged(clusters, &configs.items[i]);
    if (entries[i])
      continue;
    entries[i] = xcalloc(1, sizeof(struct clusters_entry));
    cluster_config_copy(&entries[i]->config, &configs.items[i]);
  }
  for (size_t i = 0; i < clusters->count; i++)
    entry_free(clusters->entries[i]);
  free(clusters->entries);
  clusters->entries = entries;
  clusters->count = configs.count;
  qsort(entries, clusters->count, sizeof(entries[0]), by_id);
  cluster_configs_clear(&configs);
  return 0;
}

static bool
same_file(const struct stat *a, const struct stat *b)
{
  return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
         a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool
any_connecting(const struct clusters *clusters)
{
  for (size_t i = 0; i < clusters->count; i++) {
    if (clusters->entries[i]->is_connecting)
      return true;
  }
  return false;
}

/* Called with the mutex held. An entry that is just being connected is not pulled from under
 * whoever does it: the next lookup sees the change. */
static void
reload_if_changed(struct clusters *clusters)
{
  struct stat now;
  if (stat(clusters->path, &now) < 0 || same_file(&now, &clusters->seen) ||
      any_connecting(clusters))
    return;
  clusters->seen = now;
  CLEANUP(error_freep) struct error *err = NULL;
  if (load(clusters, &err) < 0)
    log_error("configuration is bad, what was read before stays in force: %s", err->message);
  else
    log_info("configuration '%s' changed, read again", clusters->path);
}

int
clusters_open(const char *path, struct fence *fence, struct clusters **ret_clusters,
              struct error **err)
{
  CLEANUP(clusters_closep) struct clusters *clusters = xcalloc(1, sizeof(*clusters));
  clusters->path = xstrdup(path);
  clusters->fence = fence;
  (void)pthread_mutex_init(&clusters->mutex, NULL);
  condition_init(&clusters->change);
  (void)stat(path, &clusters->seen);
  if (load(clusters, err) < 0)
    return -1;
  *ret_clusters = TAKE(clusters);
  return 0;
}

void
clusters_close(struct clusters *clusters)
{
  if (!clusters)
    return;
  for (size_t i = 0; i < clusters->count; i++)
    entry_free(clusters->entries[i]);
  free(clusters->entries);
  (void)pthread_mutex_destroy(&clusters->mutex);
  (void)pthread_cond_destroy(&clusters->change);
  free(clusters->path);
  free(clusters);
}

/* Called with the mutex held. */
static int
find(struct clusters *clusters, const char *id, struct clusters_entry **ret_entry,
     struct error **err)
{
  if (!id || !*id) {
    if (clusters->count != 1)
      return error_set(err, ERROR_INVALID_ARGUMENT,
                       "clusterID is needed: the configuration names %zu clusters",
                       clusters->count);
    *ret_entry = clusters->entries[0];
    return 0;
  }
  for (size_t i = 0; i < clusters->count; i++) {
    if (strcmp(clusters->entries[i]->config.cluster_id, id) == 0) {
      *ret_entry = clusters->entries[i];
      return 0;
    }
  }
  return error_set(err, ERROR_NOT_FOUND, "no cluster '%s' in the configuration '%s'", id,
                   clusters->path);
}

/* Connects outside the mutex, so that one cluster out of reach does not hold up the others. */
static int
connect_entry(struct clusters *clusters, struct clusters_entry *entry, struct error **err)
{
  entry->is_connecting = true;
  (void)pthread_mutex_unlock(&clusters->mutex);
  struct cluster *cluster = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  int r = cluster_connect(&entry->config, clusters->fence, &cluster, &failure);
  (void)pthread_mutex_lock(&clusters->mutex);
  entry->is_connecting = false;
  entry->cluster = cluster;
  free(entry->failure);
  entry->failure = r < 0 ? xstrdup(failure->message) : NULL;
  if (r < 0)
    error_make(err, failure->code, "%s", failure->message);
  (void)pthread_cond_broadcast(&clusters->change);
  return r;
}

int
clusters_get(struct clusters *clusters, const char *id, struct cluster **ret_cluster,
             struct error **err)
{
  MUTEX_GUARD(&clusters->mutex);
  reload_if_changed(clusters);
  bool has_waited = false;
  for (;;) {
    struct clusters_entry *entry = NULL;
    if (find(clusters, id, &entry, err) < 0)
      return -1;
    if (entry->is_connecting) {
      (void)pthread_cond_wait(&clusters->change, &clusters->mutex);
      has_waited = true;
      continue; /* the list may have changed */
    }
    /* Whoever waited for an attempt shares its outcome: a queue of time-outs would help nobody. */
    if (has_waited && !entry->cluster && entry->failure)
      return error_set(err, ERROR_UNAVAILABLE, "%s", entry->failure);
    if (entry->cluster && cluster_is_blocklisted(entry->cluster)) {
      cluster_unref(entry->cluster);
      entry->cluster = NULL;
    }
    if (!entry->cluster && connect_entry(clusters, entry, err) < 0)
      return -1;
    *ret_cluster = cluster_ref(entry->cluster);
    return 0;
  }
}

int
clusters_config(struct clusters *clusters, const char *id, struct cluster_config *ret_config,
                struct error **err)
{
  MUTEX_GUARD(&clusters->mutex);
  struct clusters_entry *entry = NULL;
  if (find(clusters, id, &entry, err) < 0)
    return -1;
  cluster_config_copy(ret_config, &entry->config);
  return 0;
}

void
clusters_ids(struct clusters *clusters, struct cluster_ids *ret_ids)
{
  MUTEX_GUARD(&clusters->mutex);
  reload_if_changed(clusters);
  ret_ids->count = clusters->count;
  ret_ids->ids = xcalloc(clusters->count, sizeof(char *));
  for (size_t i = 0; i < clusters->count; i++)
    ret_ids->ids[i] = xstrdup(clusters->entries[i]->config.cluster_id);
}

void
cluster_ids_clear(struct cluster_ids *ids)
{
  for (size_t i = 0; i < ids->count; i++)
    free(ids->ids[i]);
  free(ids->ids);
  *ids = (struct cluster_ids){0};
}
