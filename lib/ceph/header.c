/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/header.h"

#include <errno.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/ceph_call.h"
#include "lib/ceph/header_decode.h"

#define NO_SNAP (UINT64_MAX - 1) /* the image itself, not one of its snapshots */
/* Keys read at once; nobody puts more on an image. */
#define METADATA_MAX 1024
/* Header reads under way at once: enough to hide the round trip, few enough to be fair to others.
 */
#define READS_IN_FLIGHT 64

static char *
header_object(const char *image_id)
{
  return xasprintf("rbd_header.%s", image_id);
}

/* One method of the object class inside a read operation, and what it answered. */
struct class_read {
  char *data;
  size_t len;
  int result;
};

static void
class_read_add(struct class_read *read, rados_read_op_t op, const char *method,
               const struct wire_writer *input)
{
  rados_read_op_exec(op, "rbd", method, input ? input->data : NULL, input ? input->len : 0,
                     &read->data, &read->len, &read->result);
}

static struct wire_reader
class_read_reader(const struct class_read *read)
{
  return (struct wire_reader){.at = read->data, .left = read->len, .failed = !read->data};
}

static void
class_read_clear(struct class_read *read)
{
  if (read->data)
    rados_buffer_free(read->data);
  *read = (struct class_read){0};
}

/* A header read under way. */
struct header_request {
  rados_read_op_t op;
  rados_completion_t completion;
  struct class_read reads[HEADER_ANSWERS];
};

static void
header_request_start(struct header_request *request, struct location *location,
                     const char *image_id)
{
  struct wire_writer snap = {0}, features = {0}, metadata = {0};
  wire_put_u64(&snap, NO_SNAP);
  wire_put_u64(&features, NO_SNAP);
  wire_put_u8(&features, 1); /* read-only */
  wire_put_string(&metadata, "");
  wire_put_u64(&metadata, METADATA_MAX);

  request->op = rados_create_read_op();
  class_read_add(&request->reads[HEADER_ANSWER_SIZE], request->op, "get_size", &snap);
  class_read_add(&request->reads[HEADER_ANSWER_FEATURES], request->op, "get_features", &features);
  class_read_add(&request->reads[HEADER_ANSWER_SNAPS], request->op, "get_snapcontext", NULL);
  class_read_add(&request->reads[HEADER_ANSWER_PARENT], request->op, "parent_get", NULL);
  class_read_add(&request->reads[HEADER_ANSWER_METADATA], request->op, "metadata_list", &metadata);
  CLEANUP(freep) char *object = header_object(image_id);
  (void)rados_aio_create_completion2(NULL, NULL, &request->completion);
  (void)rados_aio_read_op_operate(request->op, location->ioctx, request->completion, object, 0);

  wire_writer_clear(&snap);
  wire_writer_clear(&features);
  wire_writer_clear(&metadata);
}

/* Waits for the answer. Returns 0 or what Ceph answered. */
static int
header_request_finish(struct header_request *request, struct header *header)
{
  (void)CEPH_CALL(rados_aio_wait_for_complete(request->completion));
  int r = rados_aio_get_return_value(request->completion);
  rados_aio_release(request->completion);
  *header = (struct header){.parent.pool_id = -1};
  if (r >= 0) {
    struct wire_reader answers[HEADER_ANSWERS];
    for (int i = 0; i < HEADER_ANSWERS; i++)
      answers[i] = class_read_reader(&request->reads[i]);
    r = header_decode(answers, header);
  }
  for (int i = 0; i < HEADER_ANSWERS; i++)
    class_read_clear(&request->reads[i]);
  rados_release_read_op(request->op);
  return r;
}

int
header_read(struct location *location, const char *image_id, struct header *ret_header,
            struct error **err)
{
  struct header_request request = {0};
  header_request_start(&request, location, image_id);
  int r = header_request_finish(&request, ret_header);
  if (r < 0)
    return location_error_set(location, err, r, "read the header of image id '%s' in '%s'",
                              image_id, location->label);
  return 0;
}

int
header_read_many(struct location *location, char *const *image_ids, size_t count,
                 struct header *ret_headers, bool *ret_found, struct error **err)
{
  struct header_request requests[READS_IN_FLIGHT];
  int failure = 0;
  for (size_t first = 0; first < count; first += READS_IN_FLIGHT) {
    size_t n = count - first < READS_IN_FLIGHT ? count - first : READS_IN_FLIGHT;
    for (size_t i = 0; i < n; i++) {
      requests[i] = (struct header_request){0};
      header_request_start(&requests[i], location, image_ids[first + i]);
    }
    for (size_t i = 0; i < n; i++) {
      int r = header_request_finish(&requests[i], &ret_headers[first + i]);
      ret_found[first + i] = r == 0;
      if (r < 0 && r != -ENOENT && failure == 0)
        failure = r;
    }
  }
  if (failure == 0)
    return 0;
  for (size_t i = 0; i < count; i++)
    header_clear(&ret_headers[i]);
  return location_error_set(location, err, failure, "read image headers in '%s'", location->label);
}

void
header_clear(struct header *header)
{
  free(header->snap_ids);
  free(header->parent.name_space);
  free(header->parent.image_id);
  string_map_clear(&header->metadata);
  *header = (struct header){.parent.pool_id = -1};
}

void
header_encode_metadata(const struct string_map *metadata, struct wire_writer *w)
{
  wire_put_u32(w, (uint32_t)metadata->count);
  for (size_t i = 0; i < metadata->count; i++) {
    wire_put_string(w, metadata->entries[i].key);
    wire_put_string(w, metadata->entries[i].value);
  }
}

static void
add_metadata_set(rados_write_op_t op, const struct string_map *map, int *result)
{
  struct wire_writer w = {0};
  header_encode_metadata(map, &w);
  rados_write_op_exec(op, "rbd", "metadata_set", w.data, w.len, result);
  wire_writer_clear(&w);
}

static void
add_metadata_remove(rados_write_op_t op, const char *key, int *result)
{
  struct wire_writer w = {0};
  wire_put_string(&w, key);
  rados_write_op_exec(op, "rbd", "metadata_remove", w.data, w.len, result);
  wire_writer_clear(&w);
}

/* A key as the object class keeps it. What is not there compares as empty. */
static void
add_condition(rados_write_op_t op, const char *key, const char *value, int *result)
{
  CLEANUP(freep) char *kept = xasprintf("metadata_%s", key);
  rados_write_op_omap_cmp2(op, kept, LIBRADOS_CMPXATTR_OP_EQ, value ? value : "", strlen(kept),
                           value ? strlen(value) : 0, result);
}

int
header_update_metadata_if(struct location *location, const char *image_id, const char *key,
                          const char *value, const struct string_map *set,
                          const struct string_map *remove, struct error **err)
{
  rados_write_op_t op = rados_create_write_op();
  int ignored = 0;
  rados_write_op_assert_exists(op); /* a write would make a new, empty header otherwise */
  if (key)
    add_condition(op, key, value, &ignored);
  for (size_t i = 0; remove && i < remove->count; i++)
    add_metadata_remove(op, remove->entries[i].key, &ignored);
  if (set && set->count > 0)
    add_metadata_set(op, set, &ignored);
  CLEANUP(freep) char *object = header_object(image_id);
  int r = CEPH_CALL(rados_write_op_operate(op, location->ioctx, object, NULL, 0));
  rados_release_write_op(op);
  if (r == -ECANCELED && key)
    return error_set(err, ERROR_ABORTED, "'%s' of image id '%s' in '%s' has changed", key, image_id,
                     location->label);
  if (r < 0)
    return location_error_set(location, err, r, "write the metadata of image id '%s' in '%s'",
                              image_id, location->label);
  return 0;
}

int
header_update_metadata(struct location *location, const char *image_id,
                       const struct string_map *set, const struct string_map *remove,
                       struct error **err)
{
  return header_update_metadata_if(location, image_id, NULL, NULL, set, remove, err);
}

static int
read_snap(struct location *location, const char *object, uint64_t snap_id, struct snap *snap)
{
  struct wire_writer input = {0};
  wire_put_u64(&input, snap_id);
  struct class_read read = {0};
  rados_read_op_t op = rados_create_read_op();
  class_read_add(&read, op, "snapshot_get", &input);
  int r = CEPH_CALL(rados_read_op_operate(op, location->ioctx, object, 0));
  rados_release_read_op(op);
  wire_writer_clear(&input);
  if (r >= 0)
    r = header_decode_snap(class_read_reader(&read), snap);
  class_read_clear(&read);
  return r;
}

int
header_read_snaps(struct location *location, const char *image_id, const uint64_t *snap_ids,
                  size_t count, struct snaps *ret_snaps, struct error **err)
{
  struct snaps snaps = {.items = xcalloc(count ? count : 1, sizeof(struct snap))};
  CLEANUP(freep) char *object = header_object(image_id);
  for (size_t i = 0; i < count; i++) {
    struct snap *snap = &snaps.items[snaps.count];
    int r = read_snap(location, object, snap_ids[i], snap);
    if (r == 0) {
      snaps.count++;
      continue;
    }
    if (r == -ENOENT)
      continue;
    snaps_clear(&snaps);
    return location_error_set(location, err, r, "read the snapshots of image id '%s' in '%s'",
                              image_id, location->label);
  }
  *ret_snaps = snaps;
  return 0;
}

void
snaps_clear(struct snaps *snaps)
{
  for (size_t i = 0; i < snaps->count; i++)
    free(snaps->items[i].name);
  free(snaps->items);
  *snaps = (struct snaps){0};
}

const struct snap *
snaps_find(const struct snaps *snaps, uint64_t id)
{
  for (size_t i = 0; i < snaps->count; i++) {
    if (snaps->items[i].id == id)
      return &snaps->items[i];
  }
  return NULL;
}

const struct snap *
snaps_find_name(const struct snaps *snaps, const char *name)
{
  for (size_t i = 0; i < snaps->count; i++) {
    if (snaps->items[i].kind == SNAP_KIND_USER && strcmp(snaps->items[i].name, name) == 0)
      return &snaps->items[i];
  }
  return NULL;
}
