/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/cluster.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdatomic.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/ceph_error.h"
#include "lib/ceph/image.h"

/* Long enough for the dead client's last packets to be gone, short enough not to fill the OSD map.
 */
#define BLOCKLIST_SECONDS 300

/* The public part first, so that a pointer to one is a pointer to the other. */
struct cluster_private {
  struct cluster cluster;
  atomic_int refs;
  atomic_bool is_blocklisted;
};

/* How librados and librbd behave in our process. A ceph.conf is read first; these win over it. */
static const struct {
  const char *option;
  const char *value;
} client_options[] = {
    {"client_mount_timeout", "10"},    /* seconds until connecting fails; the default is 300 */
    {"admin_socket", ""},              /* several of us may run on one host */
    {"log_file", ""},                  /* errors come back as values */
    {"log_to_stderr", "false"},        /* … */
    {"err_to_stderr", "false"},        /* … */
    {"rbd_default_clone_format", "2"}, /* snapshots may be deleted while clones live */
    {"rbd_validate_pool", "false"},    /* a read on every create; location_open() checks the pool */
    {"rbd_disable_zero_copy_writes", "true"}, /* see image_writer_hand_over() */
    {"rbd_cache", "false"}, /* we never read or write data through these handles */
    {"rbd_move_to_trash_on_remove", "false"},
};

static int
configure(rados_t rados, const struct cluster_config *config, struct error **err)
{
  int r;
  if (config->conf_file) {
    r = rados_conf_read_file(rados, config->conf_file);
    if (r < 0)
      return ceph_error_set(err, r, "read confFile '%s'", config->conf_file);
  }
  const struct {
    const char *option;
    const char *value;
  } from_config[] = {
      {"mon_host", config->monitors}, {"keyfile", config->key_file}, {"keyring", config->keyring}};
  for (size_t i = 0; i < sizeof(from_config) / sizeof(from_config[0]); i++) {
    if (!from_config[i].value)
      continue;
    r = rados_conf_set(rados, from_config[i].option, from_config[i].value);
    if (r < 0)
      return ceph_error_set(err, r, "set %s to '%s'", from_config[i].option, from_config[i].value);
  }
  for (size_t i = 0; i < sizeof(client_options) / sizeof(client_options[0]); i++)
    (void)rados_conf_set(rados, client_options[i].option, client_options[i].value);
  return 0;
}

static int
blocklist(void *context, const char *address, struct error **err)
{
  rados_t rados = ((struct cluster *)context)->rados;
  CLEANUP(freep) char *copy = xstrdup(address); /* the API takes it without const */
  int r = CEPH_CALL(rados_blocklist_add(rados, copy, BLOCKLIST_SECONDS));
  if (r < 0 && r != -EINVAL) /* EINVAL: no address, the entry is of no use */
    return ceph_error_set(err, r, "blocklist '%s'", address);
  r = CEPH_CALL(rados_wait_for_latest_osdmap(rados));
  return r < 0 ? ceph_error_set(err, r, "wait for the OSD map") : 0;
}

static void
cluster_free(struct cluster *cluster)
{
  if (!cluster)
    return;
  open_images_free(cluster->images);
  if (cluster->rados)
    rados_shutdown(cluster->rados);
  if (cluster->fence && cluster->address)
    fence_leave(cluster->fence, cluster->config.cluster_id, cluster->address);
  free(cluster->address);
  cluster_config_clear(&cluster->config);
  free(cluster);
}

DEFINE_CLEANUP(struct cluster *, cluster_free)

static int
connect_rados(struct cluster *cluster, struct error **err)
{
  CLEANUP(freep) char *name = xasprintf("client.%s", cluster->config.user);
  int r = rados_create2(&cluster->rados, "ceph", name, 0);
  if (r < 0) {
    cluster->rados = NULL;
    return ceph_error_set(err, r, "make a Ceph client '%s'", name);
  }
  if (configure(cluster->rados, &cluster->config, err) < 0)
    return -1;
  r = CEPH_CALL(rados_connect(cluster->rados));
  if (r < 0) {
    const char *key = cluster->config.keyring    ? cluster->config.keyring
                      : cluster->config.key_file ? cluster->config.key_file
                                                 : "the default keyrings";
    /* Without a key librados answers ENOENT, with a wrong one EACCES: say what that means. */
    if (r == -ENOENT)
      return error_set(err, ERROR_UNAVAILABLE, "connect as '%s': no usable key in %s", name, key);
    if (r == -EACCES || r == -EPERM)
      return error_set(err, ERROR_UNAVAILABLE,
                       "connect as '%s': the cluster does not know this user with the key in %s",
                       name, key);
    return ceph_error_set(err, r, "connect as '%s'", name);
  }
  return 0;
}

static void
learn_address(struct cluster *cluster)
{
  char *address = NULL;
  if (rados_getaddrs(cluster->rados, &address) < 0)
    return;
  cluster->address = xstrdup(address);
  rados_buffer_free(address);
}

static void
join_fence(struct cluster *cluster)
{
  if (!cluster->fence || !cluster->address)
    return;
  /* A predecessor that cannot be fenced costs the calls on its images 30 seconds, no more. */
  (void)fence_join(cluster->fence, cluster->config.cluster_id, cluster->address, blocklist, cluster,
                   NULL);
}

int
cluster_connect(const struct cluster_config *config, struct fence *fence,
                struct cluster **ret_cluster, struct error **err)
{
  struct cluster_private *self = xcalloc(1, sizeof(*self));
  CLEANUP(cluster_freep) struct cluster *cluster = &self->cluster;
  atomic_init(&self->refs, 1);
  cluster_config_copy(&cluster->config, config);
  cluster->fence = fence;
  cluster->images = open_images_new();
  if (connect_rados(cluster, err) < 0) {
    /* Whatever keeps us from a cluster, its users see the same: it cannot be used now. */
    if (err)
      (*err)->code = ERROR_UNAVAILABLE;
    return error_wrap(err, "cluster '%s'", config->cluster_id);
  }
  learn_address(cluster);
  join_fence(cluster);
  *ret_cluster = TAKE(cluster);
  return 0;
}

struct cluster *
cluster_ref(struct cluster *cluster)
{
  atomic_fetch_add(&((struct cluster_private *)cluster)->refs, 1);
  return cluster;
}

void
cluster_unref(struct cluster *cluster)
{
  if (cluster && atomic_fetch_sub(&((struct cluster_private *)cluster)->refs, 1) == 1)
    cluster_free(cluster);
}

const char *
cluster_id(const struct cluster *cluster)
{
  return cluster->config.cluster_id;
}

uint64_t
cluster_client_id(const struct cluster *cluster)
{
  return rados_get_instance_id(cluster->rados);
}

int
cluster_fence_client(struct cluster *cluster, const char *address, struct error **err)
{
  return blocklist(cluster, address, err);
}

void
cluster_note_result(struct cluster *cluster, int r)
{
  if (r == -ESHUTDOWN)
    atomic_store(&((struct cluster_private *)cluster)->is_blocklisted, true);
}

bool
cluster_is_blocklisted(const struct cluster *cluster)
{
  return atomic_load(&((const struct cluster_private *)cluster)->is_blocklisted);
}

/* The answer of a monitor command, to be freed with rados_buffer_free(). */
static int
mon_command(struct cluster *cluster, const char *command, char **ret_text, size_t *ret_len,
            struct error **err)
{
  char *status = NULL;
  size_t status_len = 0;
  int r = CEPH_CALL(rados_mon_command(cluster->rados, &command, 1, "", 0, ret_text, ret_len,
                                      &status, &status_len));
  if (status)
    rados_buffer_free(status);
  return r < 0 ? ceph_error_set(err, r, "ask the monitors of cluster '%s'", cluster_id(cluster))
               : 0;
}

DEFINE_CLEANUP(struct json_object *, json_object_put)

static int
mon_command_json(struct cluster *cluster, const char *command, struct json_object **ret_answer,
                 struct error **err)
{
  char *text = NULL;
  size_t len = 0;
  if (mon_command(cluster, command, &text, &len, err) < 0)
    return -1;
  CLEANUP(freep) char *copy = xstrndup(text ? text : "", len);
  if (text)
    rados_buffer_free(text);
  *ret_answer = json_tokener_parse(copy);
  if (!*ret_answer)
    return error_set(err, ERROR_UNAVAILABLE, "the monitors of cluster '%s' sent what is not JSON",
                     cluster_id(cluster));
  return 0;
}

/* The text of a member; NULL when it has none. */
static const char *
text_of(struct json_object *object, const char *key)
{
  struct json_object *value;
  if (!json_object_object_get_ex(object, key, &value) ||
      !json_object_is_type(value, json_type_string))
    return NULL;
  return json_object_get_string(value);
}

int
cluster_read_blocklist(struct cluster *cluster, struct string_map *ret_addresses,
                       struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *list = NULL;
  *ret_addresses = (struct string_map){0};
  if (mon_command_json(cluster, "{\"prefix\":\"osd blocklist ls\",\"format\":\"json\"}", &list,
                       err) < 0)
    return -1;
  size_t count = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
  for (size_t i = 0; i < count; i++) {
    const char *address = text_of(json_object_array_get_idx(list, i), "addr");
    if (address)
      string_map_set(ret_addresses, address, "");
  }
  return 0;
}

/* stats.max_avail of the pool in the answer to "df". */
static int
find_available(struct json_object *df, const char *pool, uint64_t *ret_bytes)
{
  struct json_object *pools, *stats, *value;
  if (!json_object_object_get_ex(df, "pools", &pools) ||
      !json_object_is_type(pools, json_type_array))
    return -1;
  for (size_t i = 0; i < json_object_array_length(pools); i++) {
    struct json_object *item = json_object_array_get_idx(pools, i);
    const char *name = text_of(item, "name");
    if (name && strcmp(name, pool) == 0 && json_object_object_get_ex(item, "stats", &stats) &&
        json_object_object_get_ex(stats, "max_avail", &value)) {
      *ret_bytes = json_object_get_uint64(value);
      return 0;
    }
  }
  return -1;
}

int
cluster_pool_available(struct cluster *cluster, const char *pool, uint64_t *ret_bytes,
                       struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *df = NULL;
  if (mon_command_json(cluster, "{\"prefix\":\"df\",\"format\":\"json\"}", &df, err) < 0)
    return -1;
  if (find_available(df, pool, ret_bytes) < 0)
    return error_set(err, ERROR_NOT_FOUND, "cluster '%s' says nothing of the space in pool '%s'",
                     cluster_id(cluster), pool);
  return 0;
}

/* Whether the pool carries the application tag 'rbd'. */
static bool
is_rbd_pool(struct cluster *cluster, const char *pool)
{
  rados_ioctx_t io;
  if (rados_ioctx_create(cluster->rados, pool, &io) < 0)
    return false;
  char names[1024];
  size_t len = sizeof(names);
  bool found = false;
  if (rados_application_list(io, names, &len) >= 0) {
    for (size_t at = 0; at < len && names[at]; at += strlen(names + at) + 1)
      found = found || strcmp(names + at, "rbd") == 0;
  }
  rados_ioctx_destroy(io);
  return found;
}

int
cluster_rbd_pools(struct cluster *cluster, struct pool_names *ret_pools, struct error **err)
{
  int len = rados_pool_list(cluster->rados, NULL, 0);
  if (len < 0)
    return ceph_error_set(err, len, "list the pools of cluster '%s'", cluster_id(cluster));
  CLEANUP(freep) char *names = xcalloc((size_t)len + 1, 1);
  int again = rados_pool_list(cluster->rados, names, (size_t)len);
  if (again < 0)
    return ceph_error_set(err, again, "list the pools of cluster '%s'", cluster_id(cluster));
  struct pool_names pools = {0};
  for (size_t at = 0; at < (size_t)len && names[at]; at += strlen(names + at) + 1) {
    if (!is_rbd_pool(cluster, names + at))
      continue;
    pools.names = xrealloc(pools.names, pools.count + 1, sizeof(pools.names[0]));
    pools.names[pools.count++] = xstrdup(names + at);
  }
  *ret_pools = pools;
  return 0;
}

void
pool_names_clear(struct pool_names *pools)
{
  for (size_t i = 0; i < pools->count; i++)
    free(pools->names[i]);
  free(pools->names);
  *pools = (struct pool_names){0};
}
