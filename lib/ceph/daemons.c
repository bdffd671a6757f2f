/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/daemons.h"

#include <json-c/json.h>
#include <netdb.h>
#include <netinet/in.h>
#include <rados/librados.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/ceph_error.h"

/* What all releases choose from by default; a configuration may make it wider. */
#define FIRST_PORT 6800
#define LAST_PORT 7568

void
daemons_clear(struct daemons *daemons)
{
  free(daemons->addresses);
  *daemons = (struct daemons){0};
}

static void
add_address(struct daemons *daemons, const struct sockaddr *address, socklen_t len)
{
  struct sockaddr_storage copy = {0};
  memcpy(&copy, address, len);
  for (size_t i = 0; i < daemons->count; i++) {
    if (memcmp(&daemons->addresses[i], &copy, sizeof(copy)) == 0)
      return;
  }
  daemons->addresses =
      xrealloc(daemons->addresses, daemons->count + 1, sizeof(daemons->addresses[0]));
  daemons->addresses[daemons->count++] = copy;
}

/* A host as an address or a name, with or without a port. One that cannot be resolved is left out:
 * of several monitors some may be gone. */
static void
add_host(struct daemons *daemons, const char *host, const char *port)
{
  struct addrinfo *found = NULL;
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
  if (getaddrinfo(host, port, &hints, &found) != 0)
    return;
  for (const struct addrinfo *at = found; at; at = at->ai_next)
    add_address(daemons, at->ai_addr, at->ai_addrlen);
  freeaddrinfo(found);
}

/* "10.0.0.1:6789/0", "[fd00::1]:6789", "fd00::1", "name". Changes the text. */
static void
add_entry(struct daemons *daemons, char *text)
{
  text[strcspn(text, "/")] = '\0'; /* the nonce */
  char *close = text[0] == '[' ? strchr(text, ']') : NULL;
  char *host = close ? text + 1 : text;
  char *colon = close ? close + 1 : strchr(text, ':');
  if (close)
    *close = '\0';
  bool has_port = colon && *colon == ':' && !strchr(colon + 1, ':');
  if (has_port)
    *colon = '\0';
  if (*host)
    add_host(daemons, host, has_port ? colon + 1 : NULL);
}

/* Cuts "v1:" and "v2:" off, and a bracket that belongs to a group of addresses. */
static void
add_token(struct daemons *daemons, char *token)
{
  if (text_starts_with(token, "[v") || text_starts_with(token, "[any:"))
    token++;
  size_t len = strlen(token);
  bool has_inner = strchr(token, '[') != NULL;
  if (len > 1 && token[len - 1] == ']' && (!has_inner || memchr(token, ']', len - 1)))
    token[len - 1] = '\0';
  if (text_starts_with(token, "v1:") || text_starts_with(token, "v2:"))
    token += 3;
  else if (text_starts_with(token, "any:"))
    token += 4;
  add_entry(daemons, token);
}

void
daemons_add_mon_host(struct daemons *daemons, const char *mon_host)
{
  static const char separators[] = ",; \t\n";
  while (*mon_host) {
    mon_host += strspn(mon_host, separators);
    size_t len = strcspn(mon_host, separators);
    CLEANUP(freep) char *token = xstrndup(mon_host, len);
    if (len > 0)
      add_token(daemons, token);
    mon_host += len;
  }
}

DEFINE_CLEANUP(struct json_object *, json_object_put)

/* "public_addrs": {"addrvec": [{"type": "v2", "addr": "10.0.0.1:6800", "nonce": 7}]} */
static void
add_public_addresses(struct daemons *daemons, struct json_object *daemon)
{
  struct json_object *addresses, *vector, *text;
  if (!json_object_object_get_ex(daemon, "public_addrs", &addresses) ||
      !json_object_object_get_ex(addresses, "addrvec", &vector) ||
      !json_object_is_type(vector, json_type_array))
    return;
  for (size_t i = 0; i < json_object_array_length(vector); i++) {
    if (!json_object_object_get_ex(json_object_array_get_idx(vector, i), "addr", &text))
      continue;
    CLEANUP(freep) char *entry = xstrdup(json_object_get_string(text));
    /* a daemon that is down has no address */
    if (entry && !text_starts_with(entry, "0.0.0.0") && !text_starts_with(entry, "[::]") &&
        !text_starts_with(entry, ":"))
      add_entry(daemons, entry);
  }
}

int
daemons_add_map(struct daemons *daemons, const char *json, struct error **err)
{
  static const char *const lists[] = {"mons", "osds"};
  CLEANUP(json_object_putp) struct json_object *map = json_tokener_parse(json);
  if (!json_object_is_type(map, json_type_object))
    return error_set(err, ERROR_INTERNAL, "the monitors sent a map that is not JSON");
  for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
    struct json_object *list;
    if (!json_object_object_get_ex(map, lists[i], &list) ||
        !json_object_is_type(list, json_type_array))
      continue;
    for (size_t j = 0; j < json_object_array_length(list); j++)
      add_public_addresses(daemons, json_object_array_get_idx(list, j));
  }
  return 0;
}

/* Makes the range of ports as wide as the configuration has it. */
static void
learn_ports(struct daemons *daemons, rados_t rados)
{
  char text[32];
  uint64_t port;
  daemons->first_port = FIRST_PORT;
  daemons->last_port = LAST_PORT;
  if (rados_conf_get(rados, "ms_bind_port_min", text, sizeof(text)) == 0 &&
      text_to_u64(text, 10, &port) == 0 && port > 0 && port < daemons->first_port)
    daemons->first_port = (uint16_t)port;
  if (rados_conf_get(rados, "ms_bind_port_max", text, sizeof(text)) == 0 &&
      text_to_u64(text, 10, &port) == 0 && port > daemons->last_port && port <= UINT16_MAX)
    daemons->last_port = (uint16_t)port;
}

static int
read_config(rados_t rados, const struct cluster_config *config, struct daemons *daemons,
            struct error **err)
{
  int r = config->conf_file ? rados_conf_read_file(rados, config->conf_file) : 0;
  if (r < 0)
    return ceph_error_set(err, r, "read confFile '%s'", config->conf_file);
  char mon_host[4096] = "";
  if (!config->monitors)
    (void)rados_conf_get(rados, "mon_host", mon_host, sizeof(mon_host));
  daemons_add_mon_host(daemons, config->monitors ? config->monitors : mon_host);
  learn_ports(daemons, rados);
  return 0;
}

/* What the configuration names itself comes before what a ceph.conf says, or nobody. */
static char *
key_files(rados_t rados, const struct cluster_config *config)
{
  char keyring[4096] = "", key_file[4096] = "";
  if (!config->keyring)
    (void)rados_conf_get(rados, "keyring", keyring, sizeof(keyring));
  if (!config->key_file)
    (void)rados_conf_get(rados, "keyfile", key_file, sizeof(key_file));
  return xasprintf("%s,%s", config->keyring ? config->keyring : keyring,
                   config->key_file ? config->key_file : key_file);
}

int
daemons_of_config(const struct cluster_config *config, struct daemons *ret_daemons,
                  char **ret_key_files, struct error **err)
{
  rados_t rados;
  struct daemons daemons = {0};
  CLEANUP(freep) char *name = xasprintf("client.%s", config->user ? config->user : "admin");
  int r = rados_create2(&rados, "ceph", name, 0);
  if (r < 0)
    return ceph_error_set(err, r, "make a Ceph client");
  r = read_config(rados, config, &daemons, err);
  if (r == 0 && ret_key_files)
    *ret_key_files = key_files(rados, config);
  rados_shutdown(rados);
  if (r < 0) {
    daemons_clear(&daemons);
    return -1;
  }
  *ret_daemons = daemons;
  return 0;
}

static int
add_answer(struct cluster *cluster, const char *command, struct daemons *daemons,
           struct error **err)
{
  char *text = NULL, *status = NULL;
  size_t len = 0, status_len = 0;
  int r = CEPH_CALL(
      rados_mon_command(cluster->rados, &command, 1, "", 0, &text, &len, &status, &status_len));
  CLEANUP(freep) char *json = r < 0 ? NULL : xstrndup(text ? text : "", len);
  rados_buffer_free(text);
  rados_buffer_free(status);
  if (r < 0)
    return ceph_error_set(err, r, "ask cluster '%s' where its daemons are", cluster_id(cluster));
  return daemons_add_map(daemons, json, err);
}

int
daemons_of_cluster(struct cluster *cluster, struct daemons *ret_daemons, struct error **err)
{
  struct daemons daemons = {0};
  learn_ports(&daemons, cluster->rados);
  if (add_answer(cluster, "{\"prefix\":\"mon dump\",\"format\":\"json\"}", &daemons, err) < 0 ||
      add_answer(cluster, "{\"prefix\":\"osd dump\",\"format\":\"json\"}", &daemons, err) < 0) {
    daemons_clear(&daemons);
    return -1;
  }
  *ret_daemons = daemons;
  return 0;
}
