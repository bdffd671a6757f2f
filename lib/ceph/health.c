/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/health.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/ceph_error.h"

DEFINE_CLEANUP(struct json_object *, json_object_put)

/* Warnings by which the cluster says that something waits until it is mended. */
static const char *const stopping[] = {"PG_AVAILABILITY", "OSD_FULL", "POOL_FULL"};

void
health_clear(struct health *health)
{
  free(health->status);
  free(health->checks);
  string_map_clear(&health->pools);
  *health = (struct health){0};
}

static struct json_object *
member(struct json_object *object, const char *name)
{
  struct json_object *value = NULL;
  (void)json_object_object_get_ex(object, name, &value);
  return value;
}

static uint64_t
number(struct json_object *object, const char *name)
{
  return json_object_get_uint64(member(object, name));
}

static bool
is_stopping(const char *code)
{
  for (size_t i = 0; i < sizeof(stopping) / sizeof(stopping[0]); i++) {
    if (strcmp(stopping[i], code) == 0)
      return true;
  }
  return false;
}

/* "checks": {"OSD_DOWN": {"severity": "HEALTH_WARN", "summary": {"message": "1 osds down"}}} */
static void
take_checks(struct json_object *checks, struct health *health)
{
  health->checks = xstrdup("");
  if (!json_object_is_type(checks, json_type_object))
    return;
  json_object_object_foreach(checks, code, check)
  {
    const char *message = json_object_get_string(member(member(check, "summary"), "message"));
    char *longer = xasprintf("%s%s%s: %s", health->checks, *health->checks ? "; " : "", code,
                             message ? message : "");
    free(health->checks);
    health->checks = longer;
    if (is_stopping(code))
      health->is_serving = false;
  }
}

static int
take_status(const char *text, struct health *health, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *map = json_tokener_parse(text);
  struct json_object *state = member(member(map, "health"), "status");
  struct json_object *osds = member(map, "osdmap");
  struct json_object *nested = member(osds, "osdmap"); /* as Nautilus has it */
  struct json_object *data = member(map, "pgmap");
  if (!json_object_is_type(state, json_type_string))
    return error_set(err, ERROR_INTERNAL, "the monitors sent a status without health");
  osds = nested ? nested : osds;
  health->status = xstrdup(json_object_get_string(state));
  health->osds = number(osds, "num_osds");
  health->osds_up = number(osds, "num_up_osds");
  health->bytes_total = number(data, "bytes_total");
  health->bytes_used = number(data, "bytes_used");
  health->is_serving = strcmp(health->status, "HEALTH_ERR") != 0 && health->osds_up > 0;
  take_checks(member(member(map, "health"), "checks"), health);
  return 0;
}

static int
take_pools(const char *text, struct health *health, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *map = json_tokener_parse(text);
  struct json_object *pools = member(map, "pools");
  if (!json_object_is_type(pools, json_type_array))
    return error_set(err, ERROR_INTERNAL, "the monitors sent a map without pools");
  for (size_t i = 0; i < json_object_array_length(pools); i++) {
    struct json_object *pool = json_object_array_get_idx(pools, i);
    const char *name = json_object_get_string(member(pool, "pool_name"));
    if (!name || !member(member(pool, "application_metadata"), "rbd"))
      continue;
    CLEANUP(freep) char *copies = xasprintf("%" PRIu64, number(pool, "size"));
    string_map_set(&health->pools, name, copies);
  }
  return 0;
}

int
health_of_maps(const char *status, const char *osd_map, struct health *ret_health,
               struct error **err)
{
  struct health health = {0};
  if (take_status(status, &health, err) < 0 || take_pools(osd_map, &health, err) < 0) {
    health_clear(&health);
    return -1;
  }
  *ret_health = health;
  return 0;
}

static int
ask(struct cluster *cluster, const char *command, char **ret_text, struct error **err)
{
  char *text = NULL, *status = NULL;
  size_t len = 0, status_len = 0;
  int r = CEPH_CALL(
      rados_mon_command(cluster->rados, &command, 1, "", 0, &text, &len, &status, &status_len));
  *ret_text = xstrndup(text ? text : "", len);
  rados_buffer_free(text);
  rados_buffer_free(status);
  if (r < 0)
    return ceph_error_set(err, r, "ask cluster '%s' how it fares", cluster_id(cluster));
  return 0;
}

int
health_read(struct cluster *cluster, struct health *ret_health, struct error **err)
{
  CLEANUP(freep) char *status = NULL;
  CLEANUP(freep) char *osd_map = NULL;
  if (ask(cluster, "{\"prefix\":\"status\",\"format\":\"json\"}", &status, err) < 0 ||
      ask(cluster, "{\"prefix\":\"osd dump\",\"format\":\"json\"}", &osd_map, err) < 0)
    return -1;
  return health_of_maps(status, osd_map, ret_health, err);
}
