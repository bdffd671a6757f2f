/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/sink/part_sender.h"

#include <pthread.h>
#include <stdbool.h>

#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "lib/base/worker_pool.h"

#define MIB ((size_t)1 << 20)
/* An object of qcow2 has its tables padded to a part: not worth it for a small one, while for a
 * large one each request costs a round trip. */
#define SMALL_OBJECT_BYTES ((uint64_t)1 << 30)
#define PART_BYTES (16 * MIB)
/* Some to spare, for an estimate that was a little too small. */
#define PARTS (S3_PARTS_MAX - 100)
/* Of all parts that are being sent, and of these and the one that is filled. Parts so large that
 * two are too much share one room: it is filled when the one before is with the store. */
#define SENT_BYTES (64 * MIB)
#define ROOM_BYTES (128 * MIB)
#define SENT_PARTS 4

enum part_state { PART_FREE, PART_FILLED, PART_SENT };

struct part {
  struct job job;
  struct part_sender *sender;
  enum part_state state; /* under the sender's mutex */
  char *data;
  unsigned number;
  size_t len;
};

struct part_sender {
  struct s3_upload *upload;
  size_t part_bytes;
  struct worker_pool *pool;
  pthread_mutex_t mutex; /* guards all below */
  pthread_cond_t change;
  struct error *failure; /* the first one */
  size_t count;
  struct part parts[SENT_PARTS + 1]; /* those being sent, and one that is filled */
};

size_t
part_sender_part_bytes(uint64_t object_bytes)
{
  if (object_bytes < SMALL_OBJECT_BYTES)
    return S3_PART_MIN_BYTES;
  uint64_t needed = (object_bytes / PARTS + MIB) / MIB * MIB;
  if (needed > S3_PART_MAX_BYTES)
    return (size_t)S3_PART_MAX_BYTES; /* the store will tell */
  return needed > PART_BYTES ? (size_t)needed : PART_BYTES;
}

size_t
part_sender_rooms(size_t part_bytes)
{
  if (part_bytes > ROOM_BYTES / 2)
    return 1;
  size_t sent = SENT_BYTES / part_bytes;
  return (sent > SENT_PARTS ? SENT_PARTS : sent) + 1;
}

struct part_sender *
part_sender_new(struct s3_upload *upload, size_t part_bytes)
{
  struct part_sender *sender = xcalloc(1, sizeof(*sender));
  sender->upload = upload;
  sender->part_bytes = part_bytes;
  sender->count = part_sender_rooms(part_bytes);
  sender->pool =
      worker_pool_new("s3-part", sender->count > 1 ? sender->count - 1 : 1, sender->count);
  (void)pthread_mutex_init(&sender->mutex, NULL);
  condition_init(&sender->change);
  for (size_t i = 0; i < sender->count; i++)
    sender->parts[i].sender = sender;
  return sender;
}

void
part_sender_free(struct part_sender *sender)
{
  if (!sender)
    return;
  while (!worker_pool_stop(sender->pool, INT64_MAX))
    ;
  worker_pool_free(sender->pool);
  for (size_t i = 0; i < sender->count; i++)
    free(sender->parts[i].data);
  error_free(sender->failure);
  (void)pthread_mutex_destroy(&sender->mutex);
  (void)pthread_cond_destroy(&sender->change);
  free(sender);
}

/* Then there will be no object: further parts are of no use. */
static bool
has_failed(struct part_sender *sender)
{
  MUTEX_GUARD(&sender->mutex);
  return sender->failure != NULL;
}

/* In a thread of the pool. */
static void
send_part(struct job *job)
{
  struct part *part = CONTAINER_OF(job, struct part, job);
  struct part_sender *sender = part->sender;
  struct error *failure = NULL;
  if (!has_failed(sender))
    (void)s3_upload_part(sender->upload, part->number, part->data, part->len, &failure);
  MUTEX_GUARD(&sender->mutex);
  if (failure && !sender->failure)
    sender->failure = TAKE(failure);
  error_free(failure);
  part->state = PART_FREE;
  (void)pthread_cond_broadcast(&sender->change);
}

static int
check(struct part_sender *sender, struct error **err)
{
  if (!sender->failure)
    return 0;
  return error_set(err, sender->failure->code, "%s", sender->failure->message);
}

static struct part *
find_free(struct part_sender *sender)
{
  for (size_t i = 0; i < sender->count; i++) {
    if (sender->parts[i].state == PART_FREE)
      return &sender->parts[i];
  }
  return NULL;
}

char *
part_sender_room(struct part_sender *sender, struct error **err)
{
  MUTEX_GUARD(&sender->mutex);
  struct part *part;
  while (!sender->failure && !(part = find_free(sender)))
    (void)pthread_cond_wait(&sender->change, &sender->mutex);
  if (check(sender, err) < 0)
    return NULL;
  if (!part->data)
    part->data = xcalloc(sender->part_bytes, 1);
  part->state = PART_FILLED;
  return part->data;
}

void
part_sender_send(struct part_sender *sender, char *room, unsigned number, size_t len)
{
  struct part *part = sender->parts;
  while (part->data != room)
    part++;
  part->number = number;
  part->len = len;
  part->job = (struct job){.run = send_part};
  (void)pthread_mutex_lock(&sender->mutex);
  part->state = PART_SENT;
  (void)pthread_mutex_unlock(&sender->mutex);
  if (!worker_pool_submit(sender->pool, &part->job))
    send_part(&part->job); /* no thread could be started */
}

int
part_sender_drain(struct part_sender *sender, struct error **err)
{
  MUTEX_GUARD(&sender->mutex);
  for (size_t i = 0; i < sender->count; i++) {
    while (sender->parts[i].state == PART_SENT)
      (void)pthread_cond_wait(&sender->change, &sender->mutex);
  }
  return check(sender, err);
}
