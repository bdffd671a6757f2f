/* SPDX-License-Identifier: Apache-2.0 */
/* NodeGetVolumeStats: how full a volume is, and whether it is well. Asks the kernel alone. */
#include <errno.h>
#include <sys/statvfs.h>

#include "csi/volume/volume_id.h"
#include "lib/base/memory.h"
#include "nodeplugin/attach.h"
#include "nodeplugin/block_device.h"
#include "nodeplugin/io_watch.h"
#include "nodeplugin/published_path.h"

/* As long as a slow cluster may take, and Ceph needs to replace an OSD that died. */
#define ABNORMAL_WAIT_MS 30000

static Csi__V1__VolumeUsage *
usage(Csi__V1__VolumeUsage__Unit unit, uint64_t total, uint64_t available, uint64_t used)
{
  Csi__V1__VolumeUsage *made = xcalloc(1, sizeof(*made));
  csi__v1__volume_usage__init(made);
  made->unit = unit;
  made->total = (int64_t)total;
  made->available = (int64_t)available;
  made->used = (int64_t)used;
  return made;
}

static int
measure(const struct published_path *path, Csi__V1__NodeGetVolumeStatsResponse *answer,
        struct error **err)
{
  if (path->is_block) {
    uint64_t bytes;
    if (block_device_size(path->mapping.device, &bytes, err) < 0)
      return -1;
    answer->usage = xcalloc(1, sizeof(answer->usage[0]));
    answer->usage[answer->n_usage++] = usage(CSI__V1__VOLUME_USAGE__UNIT__BYTES, bytes, 0, 0);
    return 0;
  }
  struct statvfs now;
  if (statvfs(path->target.by_fd, &now) < 0)
    return error_set_errno(err, errno, "ask for the space at '%s'", path->target.real);
  uint64_t unit = now.f_frsize;
  answer->usage = xcalloc(2, sizeof(answer->usage[0]));
  answer->usage[answer->n_usage++] =
      usage(CSI__V1__VOLUME_USAGE__UNIT__BYTES, now.f_blocks * unit, now.f_bavail * unit,
            (now.f_blocks - now.f_bfree) * unit);
  answer->usage[answer->n_usage++] = usage(CSI__V1__VOLUME_USAGE__UNIT__INODES, now.f_files,
                                           now.f_favail, now.f_files - now.f_ffree);
  return 0;
}

/* waited_ms: how long the device's requests have been waiting. */
static Csi__V1__VolumeCondition *
condition(const struct node *node, const struct published_path *path, int64_t waited_ms)
{
  Csi__V1__VolumeCondition *made = xcalloc(1, sizeof(*made));
  csi__v1__volume_condition__init(made);
  bool hangs = waited_ms >= ABNORMAL_WAIT_MS;
  made->abnormal = !path->mapping.is_alive || hangs || path->is_super_read_only;
  if (!path->mapping.is_alive)
    made->message = xasprintf(
        "what served its device '%s' (%s) has died%s", path->mapping.device,
        path->mapping.mapper->name,
        attach_is_taken(node, &path->id) ? ", and another node has had the volume since" : "");
  else if (hangs)
    made->message =
        xasprintf("no I/O of its device '%s' (%s) was finished for %lld s: the cluster, "
                  "or the way to it, is down",
                  path->mapping.device, path->mapping.mapper->name, (long long)waited_ms / 1000);
  else if (path->is_super_read_only)
    made->message = xasprintf("its %s filesystem is read-only: it has found an error, or was "
                              "mounted so",
                              path->fs_type);
  else
    made->message =
        xasprintf("mapped by %s as '%s'", path->mapping.mapper->name, path->mapping.device);
  return made;
}

int
node_get_volume_stats(void *context, const ProtobufCMessage *message, ProtobufCMessage *response,
                      struct error **err)
{
  const Csi__V1__NodeGetVolumeStatsRequest *request =
      (const Csi__V1__NodeGetVolumeStatsRequest *)message;
  Csi__V1__NodeGetVolumeStatsResponse *answer = (Csi__V1__NodeGetVolumeStatsResponse *)response;
  struct published_path path;
  if (!*request->volume_id)
    return error_set(err, ERROR_INVALID_ARGUMENT, "volume_id is needed");
  if (!*request->volume_path)
    return error_set(err, ERROR_INVALID_ARGUMENT, "volume_path is needed");
  if (published_path_open(context, request->volume_id, request->volume_path,
                          request->staging_target_path, &path, err) < 0)
    return error_wrap(err, "volume '%.*s'", VOLUME_ID_MAX, request->volume_id);
  const struct node *node = context;
  int64_t waited_ms = io_watch_look(node->io_watch, path.mapping.number);
  answer->volume_condition = condition(node, &path, waited_ms);
  /* A device that nobody serves, or that does not answer, has nothing to say. */
  bool answers = path.mapping.is_alive && waited_ms < ABNORMAL_WAIT_MS;
  int r = answers ? measure(&path, answer, err) : 0;
  published_path_clear(&path);
  return r < 0 ? error_wrap(err, "volume '%.*s'", VOLUME_ID_MAX, request->volume_id) : 0;
}
