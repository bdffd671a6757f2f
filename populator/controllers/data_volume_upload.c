/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/data_volume_upload.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/controllers/data_volume_claim.h"
#include "populator/controllers/data_volume_import.h"
#include "populator/controllers/data_volume_status.h"
#include "populator/controllers/upload_expiry.h"
#include "populator/objects/storage_class.h"
#include "populator/work/volumes.h"

#define READY "UploadReady"

/* ---- as something that a file is sent to ------------------------------------------------------
 */

static struct kube_mirror *
mirror(const struct populator *populator)
{
  return populator->data_volumes;
}

static const char *
state(const struct kube_object *volume, enum upload_outcome *ret_outcome)
{
  const char *phase = data_volume_status_phase(volume);
  *ret_outcome = strcmp(phase, "Succeeded") == 0 ? UPLOAD_READY
                 : strcmp(phase, "Failed") == 0  ? UPLOAD_BAD
                                                 : UPLOAD_PENDING;
  return phase;
}

static int
check(const struct kube_object *volume, const char *checksum, struct error **err)
{
  const char *phase = data_volume_status_phase(volume);
  (void)checksum; /* upload{} names none */
  if (strcmp(phase, READY) != 0 && !upload_record_is_complete(volume))
    return error_set(err, ERROR_ABORTED,
                     "DataVolume '%s/%s' is %s, and takes a file when it is " READY, volume->ns,
                     volume->name, *phase ? phase : "new");
  return 0;
}

static struct json_object *
size(const struct kube_object *volume, const char **ret_field)
{
  bool is_storage;
  struct json_object *asked = data_volume_spec_claim(volume, &is_storage);
  *ret_field = is_storage ? "spec.storage.resources.requests.storage"
                          : "spec.pvc.resources.requests.storage";
  return json_at(asked, "resources", "requests", "storage");
}

/* The claim's: it was chosen when that was made. */
static int
find_class(struct populator *populator, const struct kube_object *volume,
           struct kube_object **ret_class, struct error **err)
{
  bool is_storage;
  struct json_object *asked = data_volume_spec_claim(volume, &is_storage);
  CLEANUP(kube_object_releasep)
  struct kube_object *claim = kube_mirror_get(populator->claims, volume->ns, volume->name);
  if (claim)
    return data_volume_claim_class(populator, claim, ret_class, err);
  return storage_class_find(populator->storage_classes, storage_class_asked(asked), ret_class, err);
}

/* The claim is there, and says how large it is. */
static int
make_own_volume(struct populator *populator, const struct kube_object *volume, uint64_t disk_bytes,
                char **ret_handle, struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *storage_class = NULL;
  CLEANUP(kube_object_releasep)
  struct kube_object *claim = kube_mirror_get(populator->claims, volume->ns, volume->name);
  struct made_volume made;
  if (!claim)
    return error_set(err, ERROR_UNAVAILABLE, "PersistentVolumeClaim '%s/%s' is not there",
                     volume->ns, volume->name);
  if (data_volume_claim_class(populator, claim, &storage_class, err) < 0 ||
      data_volume_import_volume(populator, claim, storage_class, &made, err) < 0)
    return -1;
  bool is_large = made.capacity_bytes >= disk_bytes;
  if (is_large)
    *ret_handle = xstrdup(made.handle);
  made_volume_clear(&made);
  if (is_large)
    return 0;
  const char *field;
  (void)size(volume, &field);
  return error_set(err, ERROR_OUT_OF_RANGE, "the disk is larger than %s of '%s/%s'", field,
                   volume->ns, volume->name);
}

static int
drop_own_volume(struct populator *populator, const struct kube_object *volume, struct error **err)
{
  struct upload_record record;
  upload_record_look(volume, &record);
  return record.into ? volumes_delete(populator->controller, record.into, err) : 0;
}

/* The phase is the controller's: it may have come to another meanwhile. */
static int
write_status(struct populator *populator, const struct kube_object *volume,
             struct json_object *upload, double percent, struct error **err)
{
  CLEANUP(freep) char *progress = xasprintf("%.2f%%", percent);
  struct json_object *status = json_object_new_object();
  json_put_at(status, upload, "upload");
  json_put_text(status, progress, "progress");
  return kube_patch_status(populator->client, &data_volumes, volume, status, err);
}

const struct upload_kind data_volume_upload = {
    .kind = &data_volumes,
    .collection = "datavolumes",
    .once = "a DataVolume is filled once",
    .mirror = mirror,
    .check = check,
    .size = size,
    .find_class = find_class,
    .make_volume = make_own_volume,
    .drop_volume = drop_own_volume,
    .write = write_status,
    .state = state,
};

/* ---- as a DataVolume --------------------------------------------------------------------------
 */

int
data_volume_upload_job(struct populator *populator, const struct kube_object *volume,
                       struct json_object **ret_job, struct error **err)
{
  CLEANUP(freep) char *url = NULL;
  CLEANUP(freep) char *token = NULL;
  if (upload_record_source(volume, &url, &token, err) < 0)
    return -1;
  struct json_object *job = json_object_new_object();
  json_put_text(job, token, "token");
  struct json_object *arguments = json_object_new_array();
  json_object_array_add(arguments, json_object_new_string(url));
  json_put_at(job, arguments, "arguments");
  json_put_at(job, json_object_new_boolean(true), "json");
  json_put_text(job, populator->clusters_file, "clusters");
  *ret_job = job;
  return 0;
}

int
data_volume_upload_wait(struct populator *populator, const struct kube_object *volume,
                        const struct kube_object *claim, int64_t *ret_again_ms, struct error **err)
{
  struct upload_record record;
  if (upload_expiry_check(populator, &data_volume_upload, volume, ret_again_ms, err) < 0)
    return -1;
  upload_record_look(volume, &record);
  const struct data_volume_state state = {
      .phase = READY,
      .message = record.size ? "a file is being uploaded" : "waits for its upload, docs/upload.md",
      .percent = record.size ? 100.0 * (double)record.offset / (double)record.size : -1,
      .is_running = true,
  };
  return data_volume_status_write(populator, volume, claim, &state, err);
}

int
data_volume_upload_end(struct populator *populator, const struct kube_object *volume,
                       struct error **err)
{
  if (!kube_object_has_finalizer(volume, FINALIZER_CLEANUP))
    return 0; /* nothing was sent */
  if (upload_record_discard(populator, &data_volume_upload, volume, err) < 0)
    return -1;
  return kube_remove_finalizer(populator->client, &data_volumes, volume, FINALIZER_CLEANUP, err);
}
