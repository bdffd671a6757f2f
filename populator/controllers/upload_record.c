/* SPDX-License-Identifier: Apache-2.0 */
/* The size is on record before the volume is made, and names it together with the object: so one
 * that was made by a process which died then is found again, and removed. */
#include "populator/controllers/upload_record.h"

#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

#include "lib/base/memory.h"
#include "lib/kube/kube_time.h"
#include "populator/objects/storage_class.h"
#include "populator/work/volumes.h"

bool
upload_record_is_source(const struct kube_object *object)
{
  return json_at(object->json, "spec", "source", "upload") != NULL;
}

void
upload_record_look(const struct kube_object *object, struct upload_record *ret_record)
{
  struct json_object *upload = json_at(object->json, "status", "upload");
  int64_t size = json_number(upload, "size");
  int64_t offset = json_number(upload, "offset");
  *ret_record = (struct upload_record){
      .size = size > 0 ? (uint64_t)size : 0,
      .offset = offset > 0 ? (uint64_t)offset : 0,
      .handle = json_text(upload, "handle"),
      .into = json_text(upload, "into"),
      .id = json_text(upload, "id"),
      .checksum = json_text(upload, "checksum"),
      .failure = json_text(upload, "failure"),
  };
}

bool
upload_record_is_complete(const struct kube_object *object)
{
  struct upload_record record;
  upload_record_look(object, &record);
  return record.size > 0 && (record.offset == record.size || record.failure);
}

bool
upload_record_is_step(const struct kube_object *before, const struct kube_object *after)
{
  struct upload_record was;
  struct upload_record is;
  upload_record_look(before, &was);
  upload_record_look(after, &is);
  return was.size != is.size ||
         upload_record_is_complete(before) != upload_record_is_complete(after);
}

static int
make_volume(struct populator *populator, const struct upload_kind *kind,
            const struct kube_object *object, uint64_t size, char **ret_handle, struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *storage_class = NULL;
  CLEANUP(freep) char *name = xasprintf("upload-%s-%" PRIu64, object->uid, size);
  struct made_volume volume;
  if (kind->find_class(populator, object, &storage_class, err) < 0)
    return error_wrap(err, "spec.storageClassName");
  if (!storage_class_is_of(storage_class, populator->driver))
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "spec.storageClassName: StorageClass '%s' is of another driver than %s",
                     storage_class->name, populator->driver);
  const struct volume_order order = {.name = name, .bytes = size, .storage_class = storage_class};
  if (volumes_create(populator->controller, &order, &volume, err) < 0)
    return -1;
  *ret_handle = TAKE(volume.handle);
  made_volume_clear(&volume);
  return 0;
}

/* When the last byte came: the client may be gone. */
static void
put_time(struct json_object *upload)
{
  char now[KUBE_TIME_BYTES];
  json_put_text(upload, kube_time_text(time(NULL), now), "receivedAt");
}

static struct json_object *
beginning_json(const struct upload_beginning *beginning)
{
  struct json_object *upload = json_object_new_object();
  uint64_t random = 0;
  (void)!getrandom(&random, sizeof(random), 0);
  CLEANUP(freep) char *id = xasprintf("%016" PRIx64, random);
  json_put_at(upload, json_object_new_int64((int64_t)beginning->size), "size");
  json_put_at(upload, json_object_new_int64(0), "offset");
  json_put_at(upload, beginning->checksum ? json_object_new_string(beginning->checksum) : NULL,
              "checksum");
  json_put_at(upload, beginning->into ? json_object_new_string(beginning->into) : NULL, "into");
  json_put_text(upload, id, "id");
  put_time(upload);
  return upload;
}

/* The object may have been deleted, and what is on record of it removed, before the volume was
 * made: nobody else knows of it then. One that is deleted later is cleaned up after by its record.
 */
static int
drop_if_orphaned(struct populator *populator, const struct upload_kind *kind,
                 const struct kube_object *object, const char *handle, struct error **err)
{
  CLEANUP(kube_object_releasep) struct kube_object *now = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (kube_get(populator->client, kind->kind, object->ns, object->name, &now, &failure) < 0 &&
      failure->code != ERROR_NOT_FOUND)
    return error_set(err, failure->code, "%s", failure->message);
  if (now && !now->is_deleting && strcmp(now->uid, object->uid) == 0)
    return 0;
  if (volumes_delete(populator->controller, handle, err) < 0)
    return -1;
  return error_set(err, ERROR_NOT_FOUND, "%s '%s/%s' was deleted", kind->kind->kind, object->ns,
                   object->name);
}

/* What is kept as it is. */
static int
begin_kept(struct populator *populator, const struct upload_kind *kind,
           const struct kube_object *object, uint64_t size, char **ret_handle, struct error **err)
{
  CLEANUP(freep) char *handle = NULL;
  if (kind->drop_volume(populator, object, err) < 0 ||
      make_volume(populator, kind, object, size, &handle, err) < 0 ||
      drop_if_orphaned(populator, kind, object, handle, err) < 0)
    return -1;
  struct json_object *upload = json_object_new_object();
  json_put_text(upload, handle, "handle");
  if (kind->write(populator, object, upload, 0, err) < 0)
    return -1;
  *ret_handle = TAKE(handle);
  return 0;
}

int
upload_record_begin(struct populator *populator, const struct upload_kind *kind,
                    const struct kube_object *object, const struct upload_beginning *beginning,
                    char **ret_handle, struct error **err)
{
  struct upload_record before;
  upload_record_look(object, &before);
  bool is_same = before.size == beginning->size && !beginning->into;
  if (!is_same && upload_record_discard(populator, kind, object, err) < 0)
    return -1;
  struct json_object *upload = beginning_json(beginning);
  if (!is_same)
    json_put_at(upload, NULL, "handle");
  if (kind->write(populator, object, upload, 0, err) < 0)
    return -1;
  if (!beginning->into)
    return begin_kept(populator, kind, object, beginning->size, ret_handle, err);
  *ret_handle = xstrdup(beginning->into);
  return 0;
}

static double
percent_of(uint64_t offset, uint64_t size)
{
  return size > 0 ? 100.0 * (double)offset / (double)size : 0;
}

int
upload_record_promise(struct populator *populator, const struct upload_kind *kind,
                      const struct kube_object *object, const char *checksum, struct error **err)
{
  struct upload_record record;
  upload_record_look(object, &record);
  struct json_object *upload = json_object_new_object();
  json_put_text(upload, checksum, "checksum");
  return kind->write(populator, object, upload, percent_of(record.offset, record.size), err);
}

int
upload_record_advance(struct populator *populator, const struct upload_kind *kind,
                      const struct kube_object *object, uint64_t size, uint64_t offset,
                      struct error **err)
{
  struct json_object *upload = json_object_new_object();
  json_put_at(upload, json_object_new_int64((int64_t)offset), "offset");
  put_time(upload);
  return kind->write(populator, object, upload, percent_of(offset, size), err);
}

int
upload_record_fail(struct populator *populator, const struct upload_kind *kind,
                   const struct kube_object *object, const char *reason, struct error **err)
{
  struct upload_record record;
  upload_record_look(object, &record);
  struct json_object *upload = json_object_new_object();
  json_put_text(upload, reason, "failure");
  return kind->write(populator, object, upload, percent_of(record.offset, record.size), err);
}

int
upload_record_source(const struct kube_object *object, char **ret_url, char **ret_token,
                     struct error **err)
{
  struct upload_record record;
  upload_record_look(object, &record);
  if (record.failure)
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s", record.failure);
  if (!record.handle && !(record.into && record.id))
    return error_set(err, ERROR_ABORTED, "what was uploaded is not on record yet");
  if (record.into) {
    *ret_url = xasprintf("upload:-:%" PRIu64 ":%s", record.size, record.id);
    *ret_token = xasprintf("%s %" PRId64 " %s", object->uid, object->generation, record.id);
  } else {
    *ret_url = xasprintf("volume:%s", record.handle);
    *ret_token = xasprintf("%s %" PRId64, object->uid, object->generation);
  }
  return 0;
}

/* The object's own volume is not looked after here: it goes with the object. */
int
upload_record_discard(struct populator *populator, const struct upload_kind *kind,
                      const struct kube_object *object, struct error **err)
{
  struct upload_record record;
  upload_record_look(object, &record);
  if (record.size == 0 || record.into)
    return 0;
  if (record.handle)
    return volumes_delete(populator->controller, record.handle, err);
  CLEANUP(freep) char *handle = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  if (make_volume(populator, kind, object, record.size, &handle, &failure) == 0)
    return volumes_delete(populator->controller, handle, err);
  bool is_hopeless =
      failure->code == ERROR_FAILED_PRECONDITION || failure->code == ERROR_INVALID_ARGUMENT;
  return is_hopeless ? 0 : error_set(err, failure->code, "%s", failure->message);
}
