/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/image_writer.h"

#include <errno.h>
#include <pthread.h>
#include <rbd/librbd.h>

#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "lib/ceph/ceph_call.h"

struct image_writer {
  struct image *image;
  size_t max_bytes;
  pthread_mutex_t mutex; /* guards all below */
  pthread_cond_t change;
  size_t bytes; /* under way */
  size_t writes;
  int failure; /* of the first write that failed, or 0 */
  uint64_t failed_at;
};

/* One write under way. */
struct write {
  struct image_writer *writer;
  size_t len;
  uint64_t offset;
  image_written *done;
  void *context;
};

struct image_writer *
image_writer_new(struct image *image, size_t max_bytes)
{
  struct image_writer *writer = xcalloc(1, sizeof(*writer));
  writer->image = image;
  writer->max_bytes = max_bytes;
  (void)pthread_mutex_init(&writer->mutex, NULL);
  condition_init(&writer->change);
  return writer;
}

void
image_writer_free(struct image_writer *writer)
{
  if (!writer)
    return;
  (void)pthread_mutex_destroy(&writer->mutex);
  (void)pthread_cond_destroy(&writer->change);
  free(writer);
}

static void
finish(struct write *write, int r)
{
  struct image_writer *writer = write->writer;
  write->done(write->context); /* first: whoever drains may free the context */
  (void)pthread_mutex_lock(&writer->mutex);
  writer->bytes -= write->len;
  writer->writes--;
  if (r < 0 && writer->failure == 0) {
    writer->failure = r;
    writer->failed_at = write->offset;
  }
  (void)pthread_cond_broadcast(&writer->change);
  (void)pthread_mutex_unlock(&writer->mutex);
  free(write);
}

static void
on_complete(rbd_completion_t completion, void *arg)
{
  int r = (int)rbd_aio_get_return_value(completion);
  rbd_aio_release(completion);
  finish(arg, r);
}

/* librbd cuts off what goes past the end of the image, and never calls back when nothing is left.
 */
static int
check_end(struct image_writer *writer, size_t len, uint64_t offset)
{
  rbd_image_info_t info;
  int r = rbd_stat(image_rbd(writer->image), &info, sizeof(info));
  if (r == 0 && (offset > info.size || len > info.size - offset))
    r = -EINVAL;
  return r;
}

int
image_writer_submit(struct image_writer *writer, const void *data, size_t len, uint64_t offset,
                    image_written *done, void *context)
{
  struct write *write = xcalloc(1, sizeof(*write));
  *write = (struct write){
      .writer = writer, .len = len, .offset = offset, .done = done, .context = context};
  (void)pthread_mutex_lock(&writer->mutex);
  /* One write always may go, however large. */
  while (writer->failure == 0 && writer->bytes > 0 && writer->bytes + len > writer->max_bytes)
    (void)pthread_cond_wait(&writer->change, &writer->mutex);
  bool has_failed = writer->failure != 0;
  if (!has_failed) {
    writer->bytes += len;
    writer->writes++;
  }
  (void)pthread_mutex_unlock(&writer->mutex);
  if (has_failed) {
    free(write);
    return -1;
  }
  rbd_completion_t completion;
  int r = check_end(writer, len, offset);
  if (r == 0)
    r = rbd_aio_create_completion(write, on_complete, &completion);
  if (r == 0) {
    r = CEPH_CALL(rbd_aio_write(image_rbd(writer->image), offset, len, data, completion));
    if (r < 0)
      rbd_aio_release(completion);
  }
  if (r < 0)
    finish(write, r);
  return 0;
}

/* Called with the mutex held. */
static int
report(struct image_writer *writer, struct error **err)
{
  if (writer->failure == 0)
    return 0;
  struct location *location = image_location(writer->image);
  return location_error_set(location, err, writer->failure,
                            "write to image id '%s' in '%s' at byte %llu", image_id(writer->image),
                            location->label, (unsigned long long)writer->failed_at);
}

int
image_writer_drain(struct image_writer *writer, struct error **err)
{
  MUTEX_GUARD(&writer->mutex);
  while (writer->writes > 0)
    (void)pthread_cond_wait(&writer->change, &writer->mutex);
  return report(writer, err);
}

int
image_writer_check(struct image_writer *writer, struct error **err)
{
  MUTEX_GUARD(&writer->mutex);
  return report(writer, err);
}
