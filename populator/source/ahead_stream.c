/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/ahead_stream.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>

#include "lib/base/lock.h"
#include "lib/base/memory.h"

#define SLOT_BYTES ((size_t)256 << 10)
#define SLOTS (AHEAD_STREAM_BYTES / SLOT_BYTES)
/* So much is read by the reader itself: many a stream is only looked at. */
#define START_BYTES ((uint64_t)4 << 20)

struct slot {
  char *data;
  size_t len;
};

struct ahead_stream {
  struct stream stream;
  struct buffer restored; /* what another process had read ahead: it comes first */
  size_t restored_at;
  uint64_t passed; /* before there was a thread */
  bool has_thread;
  pthread_t thread;
  size_t taken;          /* of the slot that is being read */
  bool is_saved;         /* just now: with the next read the thread goes on */
  pthread_mutex_t mutex; /* guards all below; slots [first, end) belong to the reader */
  pthread_cond_t change;
  struct slot slots[SLOTS];
  uint64_t first, end; /* modulo SLOTS */
  bool is_pausing;     /* the thread is to pause … */
  bool is_paused;      /* … and does: it does not touch the stream below */
  bool is_over;        /* it is to end */
  bool has_ended;      /* there is no more to come: the end, or a failure */
  struct error *failure;
};

static struct ahead_stream *
ahead_of(struct stream *stream)
{
  return CONTAINER_OF(stream, struct ahead_stream, stream);
}

/* ---- the thread --------------------------------------------------------------------------------
 */

/* A slot to be filled, or NULL when the thread is to end. */
static struct slot *
take_slot(struct ahead_stream *ahead)
{
  MUTEX_GUARD(&ahead->mutex);
  while (!ahead->is_over && (ahead->is_pausing || ahead->end - ahead->first == SLOTS)) {
    ahead->is_paused = ahead->is_pausing;
    if (ahead->is_paused)
      (void)pthread_cond_broadcast(&ahead->change);
    (void)pthread_cond_wait(&ahead->change, &ahead->mutex);
  }
  ahead->is_paused = false;
  return ahead->is_over ? NULL : &ahead->slots[ahead->end % SLOTS];
}

/* Whether what is in the slot is to be handed out although there is room for more: somebody waits.
 */
static bool
is_urgent(struct ahead_stream *ahead)
{
  MUTEX_GUARD(&ahead->mutex);
  return ahead->is_pausing || ahead->is_over || ahead->first == ahead->end;
}

static ssize_t
fill(struct ahead_stream *ahead, struct slot *slot, struct error **err)
{
  ssize_t got;
  slot->len = 0;
  if (!slot->data)
    slot->data = xcalloc(1, SLOT_BYTES);
  do {
    got = stream_read(ahead->stream.below, slot->data + slot->len, SLOT_BYTES - slot->len, err);
    if (got > 0)
      slot->len += (size_t)got;
  } while (got > 0 && slot->len < SLOT_BYTES && !is_urgent(ahead));
  return got;
}

static void *
ahead_main(void *arg)
{
  struct ahead_stream *ahead = arg;
  struct slot *slot;
  (void)prctl(PR_SET_NAME, "ahead");
  while ((slot = take_slot(ahead))) {
    struct error *failure = NULL;
    ssize_t got = fill(ahead, slot, &failure);
    MUTEX_GUARD(&ahead->mutex);
    ahead->end += slot->len > 0;
    ahead->failure = failure;
    ahead->has_ended = got <= 0;
    (void)pthread_cond_broadcast(&ahead->change);
    if (got <= 0)
      return NULL;
  }
  return NULL;
}

/* ---- the reader --------------------------------------------------------------------------------
 */

static void
resume(struct ahead_stream *ahead)
{
  MUTEX_GUARD(&ahead->mutex);
  ahead->is_pausing = ahead->is_saved = false;
  (void)pthread_cond_broadcast(&ahead->change);
}

/* Waits until there is a slot; false at the end. */
static bool
await(struct ahead_stream *ahead)
{
  MUTEX_GUARD(&ahead->mutex);
  while (ahead->first == ahead->end && !ahead->has_ended)
    (void)pthread_cond_wait(&ahead->change, &ahead->mutex);
  return ahead->first != ahead->end;
}

static size_t
copy_out(void *buf, size_t len, const char *data, size_t data_len, size_t *at)
{
  size_t left = data_len - *at;
  size_t n = len < left ? len : left;
  memcpy(buf, data + *at, n);
  *at += n;
  return n;
}

static ssize_t
read_slot(struct ahead_stream *ahead, void *buf, size_t len)
{
  const struct slot *slot = &ahead->slots[ahead->first % SLOTS];
  size_t n = copy_out(buf, len, slot->data, slot->len, &ahead->taken);
  if (ahead->taken < slot->len)
    return (ssize_t)n;
  MUTEX_GUARD(&ahead->mutex);
  ahead->taken = 0;
  ahead->first++;
  (void)pthread_cond_broadcast(&ahead->change);
  return (ssize_t)n;
}

static ssize_t
read_below(struct ahead_stream *ahead, void *buf, size_t len, struct error **err)
{
  ssize_t got = stream_read(ahead->stream.below, buf, len, err);
  if (got > 0)
    ahead->passed += (uint64_t)got;
  return got;
}

static ssize_t
ahead_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct ahead_stream *ahead = ahead_of(stream);
  if (len == 0)
    return 0;
  if (ahead->restored_at < ahead->restored.len)
    return (ssize_t)copy_out(buf, len, ahead->restored.data, ahead->restored.len,
                             &ahead->restored_at);
  if (!ahead->has_thread && !ahead->is_over && ahead->passed >= START_BYTES)
    ahead->has_thread = pthread_create(&ahead->thread, NULL, ahead_main, ahead) == 0;
  if (!ahead->has_thread)
    return read_below(ahead, buf, len, err);
  if (ahead->is_saved)
    resume(ahead);
  if (await(ahead))
    return read_slot(ahead, buf, len);
  if (!ahead->failure)
    return 0;
  return error_set(err, ahead->failure->code, "%s", ahead->failure->message);
}

/* ---- saving and restoring ----------------------------------------------------------------------
 */

/* Until the stream below is nobody's. */
static void
pause_thread(struct ahead_stream *ahead)
{
  MUTEX_GUARD(&ahead->mutex);
  ahead->is_pausing = true;
  (void)pthread_cond_broadcast(&ahead->change);
  while (!ahead->is_paused && !ahead->has_ended)
    (void)pthread_cond_wait(&ahead->change, &ahead->mutex);
  ahead->is_saved = true;
}

/* The bytes that have been read ahead. */
static void
append_unread(const struct ahead_stream *ahead, struct buffer *unread)
{
  if (ahead->restored_at < ahead->restored.len)
    (void)buffer_append(unread, ahead->restored.data + ahead->restored_at,
                        ahead->restored.len - ahead->restored_at);
  size_t taken = ahead->taken;
  for (uint64_t i = ahead->first; i < ahead->end; i++, taken = 0) {
    const struct slot *slot = &ahead->slots[i % SLOTS];
    (void)buffer_append(unread, slot->data + taken, slot->len - taken);
  }
}

/* Their number, and they themselves. */
static int
ahead_save(struct stream *stream, struct buffer *state, struct error **err)
{
  struct ahead_stream *ahead = ahead_of(stream);
  CLEANUP(buffer_clear) struct buffer unread = {0};
  (void)err;
  if (ahead->has_thread)
    pause_thread(ahead);
  append_unread(ahead, &unread);
  buffer_append_u64(state, unread.len);
  if (unread.len > 0)
    (void)buffer_append(state, unread.data, unread.len);
  return 0;
}

void
ahead_stream_stop(struct stream *stream)
{
  struct ahead_stream *ahead = ahead_of(stream);
  if (!ahead->has_thread)
    return;
  (void)pthread_mutex_lock(&ahead->mutex);
  ahead->is_over = true;
  (void)pthread_cond_broadcast(&ahead->change);
  (void)pthread_mutex_unlock(&ahead->mutex);
  (void)pthread_join(ahead->thread, NULL);
  ahead->has_thread = false;
}

static void
ahead_close(struct stream *stream)
{
  struct ahead_stream *ahead = ahead_of(stream);
  ahead_stream_stop(stream);
  stream_close(stream->below);
  for (size_t i = 0; i < SLOTS; i++)
    free(ahead->slots[i].data);
  buffer_clear(&ahead->restored);
  error_free(ahead->failure);
  (void)pthread_mutex_destroy(&ahead->mutex);
  (void)pthread_cond_destroy(&ahead->change);
  free(ahead);
}

static const struct stream_ops ops = {
    .name = AHEAD_STREAM_NAME,
    .read = ahead_read,
    .save = ahead_save,
    .close = ahead_close,
};

struct stream *
ahead_stream_new(struct stream *below)
{
  struct ahead_stream *ahead = xcalloc(1, sizeof(*ahead));
  ahead->stream = (struct stream){.ops = &ops, .below = below};
  (void)pthread_mutex_init(&ahead->mutex, NULL);
  condition_init(&ahead->change);
  return &ahead->stream;
}

int
ahead_stream_restore(struct stream *below, const void *state, size_t len, size_t *ret_used,
                     struct stream **ret_stream, struct error **err)
{
  uint64_t unread = UINT64_MAX;
  if (len >= sizeof(unread))
    memcpy(&unread, state, sizeof(unread));
  unread = le64toh(unread);
  if (unread > AHEAD_STREAM_BYTES || unread > len - sizeof(unread)) {
    stream_close(below);
    return error_set(err, ERROR_DATA_LOSS, "the saved state of a stream is not one");
  }
  struct stream *stream = ahead_stream_new(below);
  if (unread > 0)
    (void)buffer_append(&ahead_of(stream)->restored, (const char *)state + sizeof(unread),
                        (size_t)unread);
  *ret_used = sizeof(unread) + (size_t)unread;
  *ret_stream = stream;
  return 0;
}
