/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/monitors.h"

#include <json-c/json.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/ceph_error.h"

DEFINE_CLEANUP(struct json_object *, json_object_put)

/* Adds those of one monitor: {"addrvec": [{"type": "v1", "addr": "10.0.0.1:6789", "nonce": 0}]} */
static void
add_addresses(struct json_object *monitor, const char *type, char **list)
{
  struct json_object *addresses, *vector, *kind, *text;
  if (!json_object_object_get_ex(monitor, "public_addrs", &addresses) ||
      !json_object_object_get_ex(addresses, "addrvec", &vector) ||
      !json_object_is_type(vector, json_type_array))
    return;
  for (size_t i = 0; i < json_object_array_length(vector); i++) {
    struct json_object *entry = json_object_array_get_idx(vector, i);
    if (!json_object_object_get_ex(entry, "type", &kind) ||
        !json_object_object_get_ex(entry, "addr", &text) ||
        strcmp(json_object_get_string(kind), type) != 0)
      continue;
    char *longer = xasprintf("%s%s%s", *list, **list ? "," : "", json_object_get_string(text));
    free(*list);
    *list = longer;
  }
}

int
monitors_addresses_of_map(const char *json, enum monitor_protocol protocol, char **ret_addresses,
                          struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *map = json_tokener_parse(json);
  struct json_object *monitors;
  if (!json_object_is_type(map, json_type_object) ||
      !json_object_object_get_ex(map, "mons", &monitors) ||
      !json_object_is_type(monitors, json_type_array))
    return error_set(err, ERROR_INTERNAL, "the monitors sent a map without monitors");
  CLEANUP(freep) char *list = xstrdup("");
  for (size_t i = 0; i < json_object_array_length(monitors); i++)
    add_addresses(json_object_array_get_idx(monitors, i), protocol == MONITOR_V1 ? "v1" : "v2",
                  &list);
  if (!*list)
    return error_set(err, ERROR_NOT_FOUND, "no monitor speaks protocol %s",
                     protocol == MONITOR_V1 ? "v1" : "v2");
  *ret_addresses = TAKE(list);
  return 0;
}

int
monitors_addresses(struct cluster *cluster, enum monitor_protocol protocol, char **ret_addresses,
                   struct error **err)
{
  const char *command = "{\"prefix\":\"mon dump\",\"format\":\"json\"}";
  char *text = NULL, *status = NULL;
  size_t len = 0, status_len = 0;
  int r = CEPH_CALL(
      rados_mon_command(cluster->rados, &command, 1, "", 0, &text, &len, &status, &status_len));
  if (status)
    rados_buffer_free(status);
  if (r < 0)
    return ceph_error_set(err, r, "ask the monitors of cluster '%s'", cluster_id(cluster));
  CLEANUP(freep) char *json = xstrndup(text ? text : "", len);
  if (text)
    rados_buffer_free(text);
  return monitors_addresses_of_map(json, protocol, ret_addresses, err);
}
