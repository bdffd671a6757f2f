/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/image_writer.h"

#include <errno.h>
#include <pthread.h>
#include <rbd/librbd.h>

#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "lib/ceph/ceph_call.h"

/* Without an answer for so long, the cluster is asked whether it has blocklisted us. */
#define ASK_MS 3000
/* It has not, and answers, but no write is answered: there is no hope. An OSD that is away for a
 * while is none of that; the cluster does without it after some minutes. */
#define HOPELESS_MS 900000

struct image_writer {
  struct image *image;
  size_t max_bytes;
  bool is_watched;
  pthread_t watcher;
  pthread_mutex_t mutex; /* guards all below */
  pthread_cond_t change;
  pthread_cond_t end; /* is_over was set */
  bool is_over;
  size_t bytes; /* under way */
  size_t writes;
  int64_t answered_ms; /* when a write was last answered, or the first of those under way begun */
  int failure;         /* of the first write that failed, or 0 */
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

void
image_writer_hand_over(struct location *location, void (*on_stuck)(const struct error *err))
{
  location->cluster->on_stuck = on_stuck;
  (void)rados_conf_set(location->cluster->rados, "rbd_disable_zero_copy_writes", "false");
}

/* Nothing was answered for a while. Called without the mutex. */
static void
ask_why(struct image_writer *writer, int64_t silent_ms)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct location *location = image_location(writer->image);
  CLEANUP(freep) char *header = xasprintf("rbd_header.%s", image_id(writer->image));
  int r = CEPH_CALL(rados_stat(location->ioctx, header, NULL, NULL)); /* waits for the OSD, too */
  if (r != -ESHUTDOWN && (r < 0 || silent_ms < HOPELESS_MS))
    return;
  (void)location_error_set(location, &err, r < 0 ? r : -ETIMEDOUT,
                           "write to image id '%s' in '%s': no answer for %lld s",
                           image_id(writer->image), location->label, (long long)(silent_ms / 1000));
  location->cluster->on_stuck(err);
}

/* A thread that looks after the writes, where they may get stuck. */
static void *
watch(void *arg)
{
  struct image_writer *writer = arg;
  (void)pthread_mutex_lock(&writer->mutex);
  while (!writer->is_over) {
    struct timespec until = clock_timespec_of_ms(clock_now_ms() + ASK_MS);
    (void)pthread_cond_timedwait(&writer->end, &writer->mutex, &until);
    int64_t silent_ms = clock_now_ms() - writer->answered_ms;
    if (writer->is_over || writer->writes == 0 || silent_ms < ASK_MS)
      continue;
    (void)pthread_mutex_unlock(&writer->mutex);
    ask_why(writer, silent_ms);
    (void)pthread_mutex_lock(&writer->mutex);
  }
  (void)pthread_mutex_unlock(&writer->mutex);
  return NULL;
}

struct image_writer *
image_writer_new(struct image *image, size_t max_bytes)
{
  struct image_writer *writer = xcalloc(1, sizeof(*writer));
  writer->image = image;
  writer->max_bytes = max_bytes;
  (void)pthread_mutex_init(&writer->mutex, NULL);
  condition_init(&writer->change);
  condition_init(&writer->end);
  writer->is_watched = image_location(image)->cluster->on_stuck &&
                       pthread_create(&writer->watcher, NULL, watch, writer) == 0;
  return writer;
}

void
image_writer_free(struct image_writer *writer)
{
  if (!writer)
    return;
  (void)pthread_mutex_lock(&writer->mutex);
  writer->is_over = true;
  (void)pthread_cond_broadcast(&writer->end);
  (void)pthread_mutex_unlock(&writer->mutex);
  if (writer->is_watched)
    (void)pthread_join(writer->watcher, NULL);
  (void)pthread_mutex_destroy(&writer->mutex);
  (void)pthread_cond_destroy(&writer->change);
  (void)pthread_cond_destroy(&writer->end);
  free(writer);
}

static void
note_failure(struct image_writer *writer, const struct write *write, int r)
{
  MUTEX_GUARD(&writer->mutex);
  if (writer->failure != 0)
    return;
  writer->failure = r;
  writer->failed_at = write->offset;
}

static void
finish(struct write *write, int r)
{
  struct image_writer *writer = write->writer;
  if (r < 0)
    note_failure(writer, write, r); /* before anybody may count it among what is written */
  write->done(write->context);      /* first: whoever drains may free the context */
  (void)pthread_mutex_lock(&writer->mutex);
  writer->bytes -= write->len;
  writer->writes--;
  writer->answered_ms = clock_now_ms();
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
    if (writer->writes == 0)
      writer->answered_ms = clock_now_ms();
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
