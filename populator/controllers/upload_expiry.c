/* SPDX-License-Identifier: Apache-2.0 */
/* It is done under the lease that whoever receives a file has, on what the server says then: the
 * client may come back at this moment. */
#include "populator/controllers/upload_expiry.h"

#include <inttypes.h>

#include "lib/base/memory.h"
#include "lib/kube/kube_lease.h"
#include "lib/kube/kube_time.h"
#include "populator/controllers/upload_record.h"

#define LEASE_S 15
#define BUSY_MS 60000

/* Seconds that are left; false when it does not expire. */
static bool
look(const struct populator *populator, const struct kube_object *object, int64_t *ret_left_s)
{
  struct upload_record record;
  time_t at;
  upload_record_look(object, &record);
  if (record.size == 0 || record.offset == record.size || populator->upload_expiry_s == 0 ||
      kube_time_parse(json_text(object->json, "status", "upload", "receivedAt"), &at) < 0)
    return false;
  *ret_left_s = (int64_t)at + populator->upload_expiry_s - (int64_t)time(NULL);
  return true;
}

/* With the lease. */
static int
drop(struct populator *populator, const struct upload_kind *kind, const struct kube_object *object,
     struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *now = NULL;
  int64_t left_s;
  if (kube_get(populator->client, kind->kind, object->ns, object->name, &now, err) < 0)
    return -1;
  if (!look(populator, now, &left_s) || left_s > 0)
    return 0;
  if (upload_record_discard(populator, kind, now, err) < 0 ||
      kind->drop_volume(populator, now, err) < 0)
    return -1;
  struct json_object *status = json_object_new_object();
  json_object_object_add(status, "upload", NULL);
  json_object_object_add(status, "progress", NULL);
  if (kube_patch_status(populator->client, kind->kind, now, status, err) < 0)
    return -1;
  kube_event_tell(populator->events, kind->kind, now, KUBE_EVENT_WARNING, "UploadExpired",
                  "nothing came for %" PRId64 " seconds, and the part that was there is dropped: "
                  "upload it anew",
                  populator->upload_expiry_s);
  return 0; /* the change calls again */
}

static int
expire(struct populator *populator, const struct upload_kind *kind,
       const struct kube_object *object, int64_t *ret_again_ms, struct error **err)
{
  CLEANUP(freep) char *name = xasprintf("upload-%s", object->uid);
  CLEANUP(freep) char *holder = xasprintf("%s-expiry", populator->identity);
  CLEANUP(kube_lease_freep)
  struct kube_lease *lease = kube_lease_new(
      populator->client, kube_client_namespace(populator->client), name, holder, LEASE_S);
  bool is_held;
  if (kube_lease_try(lease, &is_held, err) < 0)
    return -1;
  if (!is_held) {
    *ret_again_ms = BUSY_MS;
    return 0;
  }
  int r = drop(populator, kind, object, err);
  (void)kube_lease_release(lease, NULL);
  return r;
}

int
upload_expiry_check(struct populator *populator, const struct upload_kind *kind,
                    const struct kube_object *object, int64_t *ret_again_ms, struct error **err)
{
  int64_t left_s;
  if (!look(populator, object, &left_s))
    return 0;
  if (left_s <= 0)
    return expire(populator, kind, object, ret_again_ms, err);
  *ret_again_ms = left_s * 1000;
  return 0;
}
