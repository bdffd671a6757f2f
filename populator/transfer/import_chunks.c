/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/import_chunks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>

#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "lib/ceph/image_writer.h"
#include "populator/transfer/buffer_pool.h"
#include "populator/transfer/content_writer.h"

/* Fetched in one request: large enough that the round trip does not matter, small enough that
 * little is lost with a broken connection. */
#define CHUNK_BYTES ((uint64_t)4 << 20)
/* A gap in what is needed of a chunk is fetched along if it is smaller: a new request costs more.
 */
#define GAP_BYTES ((uint64_t)256 << 10)
/* However many workers are asked for, memory is bounded: by what is fetched at a time, and what of
 * it waits to be written. There are always more buffers than workers, so that whoever has the
 * chunk that the others' checksums wait for gets one. */
#define WORKERS_MAX 20
#define FETCH_BUFFERS_MAX 24
#define BUFFERS_BEING_WRITTEN 16
#define CHECKPOINT_MS 2000
/* Chunks that may be ahead of the first that is not complete. */
#define CHUNKS_AHEAD 128

/* A chunk from the moment a worker takes it until its last write is done. */
struct chunk {
  struct chunk_import *import;
  uint64_t index;
  atomic_uint pending;      /* the worker, and each write under way */
  bool is_complete;         /* under the import's mutex */
  struct checksum checksum; /* of the file up to and with this chunk */
};

struct chunk_import {
  const struct import_chunks_options *options;
  struct image_writer *writer;
  struct buffer_pool *fetch_pool;
  struct buffer_pool *decode_pool;
  unsigned workers;
  uint64_t file_size;
  uint64_t chunk_count;
  bool has_checksum;
  bool is_proof; /* the checksum is of more than the file: the source began it and will end it */

  pthread_mutex_t mutex; /* guards all below */
  pthread_cond_t change;
  uint64_t next;                   /* chunk to be taken */
  uint64_t first;                  /* chunk that is not complete; all before it are */
  struct chunk ring[CHUNKS_AHEAD]; /* chunk i stands at i % CHUNKS_AHEAD while first <= i < next */
  uint64_t hashed;                 /* chunks whose bytes are in the checksum */
  struct checksum checksum;        /* of these */
  struct checksum first_checksum;  /* of the chunks before `first` */
  unsigned running;                /* workers */
  struct error *failure;
};

/* ---- the state of the whole -------------------------------------------------------------------
 */

/* Takes the error; the first one counts. */
static void
fail(struct chunk_import *import, struct error *failure)
{
  MUTEX_GUARD(&import->mutex);
  if (import->failure)
    error_free(failure);
  else
    import->failure = failure;
  (void)pthread_cond_broadcast(&import->change);
}

static bool
is_over(const struct chunk_import *import)
{
  return import->failure || atomic_load(&import->options->progress->is_cancelled);
}

/* The next chunk, or NULL when there is none or the import is over. */
static struct chunk *
take_chunk(struct chunk_import *import)
{
  MUTEX_GUARD(&import->mutex);
  while (!is_over(import) && import->next < import->chunk_count &&
         import->next - import->first >= CHUNKS_AHEAD)
    (void)pthread_cond_wait(&import->change, &import->mutex);
  if (is_over(import) || import->next >= import->chunk_count)
    return NULL;
  struct chunk *chunk = &import->ring[import->next % CHUNKS_AHEAD];
  *chunk = (struct chunk){.import = import, .index = import->next++};
  atomic_init(&chunk->pending, 1);
  return chunk;
}

/* One of those who worked on the chunk is done; the last one completes it. Any thread. */
static void
chunk_release(struct chunk *chunk)
{
  if (atomic_fetch_sub(&chunk->pending, 1) != 1)
    return;
  struct chunk_import *import = chunk->import;
  MUTEX_GUARD(&import->mutex);
  chunk->is_complete = true;
  while (import->first < import->next && import->ring[import->first % CHUNKS_AHEAD].is_complete) {
    if (import->has_checksum)
      import->first_checksum = import->ring[import->first % CHUNKS_AHEAD].checksum;
    import->first++;
  }
  uint64_t position = import->first * CHUNK_BYTES;
  atomic_store(&import->options->progress->position,
               position < import->file_size ? position : import->file_size);
  (void)pthread_cond_broadcast(&import->change);
}

/* A chunk that failed must not look complete. */
static void
chunk_abandon(struct chunk *chunk)
{
  atomic_fetch_add(&chunk->pending, 1);
}

/* ---- one chunk ---------------------------------------------------------------------------------
 */

/* Adds the chunk's bytes to the checksum, in the order of the file: chunks are taken in that order,
 * so whoever has to wait waits for one that is just being fetched. */
static int
add_to_checksum(struct chunk *chunk, const char *data, size_t len)
{
  struct chunk_import *import = chunk->import;
  (void)pthread_mutex_lock(&import->mutex);
  while (!is_over(import) && import->hashed != chunk->index)
    (void)pthread_cond_wait(&import->change, &import->mutex);
  bool may_go = !is_over(import);
  (void)pthread_mutex_unlock(&import->mutex);
  if (!may_go)
    return -1;
  checksum_update(&import->checksum, data, len); /* only one at a time comes here */
  (void)pthread_mutex_lock(&import->mutex);
  chunk->checksum = import->checksum;
  import->hashed++;
  (void)pthread_cond_broadcast(&import->change);
  (void)pthread_mutex_unlock(&import->mutex);
  return 0;
}

static int
fetch(struct chunk_import *import, char *buf, uint64_t offset, uint64_t len, struct error **err)
{
  struct source *source = import->options->source;
  if (source->ops->read_at(source, buf, len, offset, err) < 0)
    return -1;
  if (!import->options->is_local)
    atomic_fetch_add(&import->options->progress->fetched, len);
  return 0;
}

/* Everything of the chunk, and what its last extent has behind its end. */
static int
fetch_whole(struct chunk_import *import, const struct layout_extents *extents, uint64_t begin,
            uint64_t end, char *buf, struct error **err)
{
  uint64_t fetch_end = end;
  for (size_t i = 0; i < extents->count; i++) {
    uint64_t extent_end = extents->items[i].file_offset + extents->items[i].file_len;
    if (extent_end > fetch_end)
      fetch_end = extent_end;
  }
  return fetch(import, buf, begin, fetch_end - begin, err);
}

/* Only what the extents need. They are in the order of the file, so neighbours are fetched
 * together. */
static int
fetch_needed(struct chunk_import *import, const struct layout_extents *extents, uint64_t begin,
             char *buf, struct error **err)
{
  size_t i = 0;
  while (i < extents->count) {
    uint64_t first = extents->items[i].file_offset;
    uint64_t last = first + extents->items[i].file_len;
    for (i++; i < extents->count && extents->items[i].file_offset <= last + GAP_BYTES; i++) {
      uint64_t end = extents->items[i].file_offset + extents->items[i].file_len;
      if (end > last)
        last = end;
    }
    if (fetch(import, buf + (first - begin), first, last - first, err) < 0)
      return -1;
  }
  return 0;
}

static void
on_written(void *context)
{
  chunk_release(context);
}

/* Encoded extents on their way: they have their room, and are decoded together. */
struct decoding {
  struct layout *layout;
  struct layout_piece pieces[LAYOUT_PIECES_MAX];
  size_t count;
};

static int
decode_all(struct decoding *decoding, struct error **err)
{
  size_t count = decoding->count;
  decoding->count = 0;
  return count > 0 ? decoding->layout->ops->decode(decoding->layout, decoding->pieces, count, err)
                   : 0;
}

static int
write_encoded(struct decoding *decoding, struct content_writer *writer,
              const struct layout_extent *extent, const char *bytes, struct error **err)
{
  if ((decoding->count == LAYOUT_PIECES_MAX ||
       !content_writer_has_room(writer, extent->virtual_offset, extent->len)) &&
      decode_all(decoding, err) < 0)
    return -1;
  decoding->pieces[decoding->count++] = (struct layout_piece){
      .extent = extent,
      .bytes = bytes,
      .content = content_writer_place(writer, extent->virtual_offset, extent->len)};
  return image_writer_check(writer->image, err);
}

static int
write_extents(struct chunk *chunk, const struct layout_extents *extents,
              struct pool_buffer *fetched, uint64_t begin, struct error **err)
{
  struct chunk_import *import = chunk->import;
  struct decoding decoding = {.layout = import->options->layout};
  struct content_writer writer;
  content_writer_init(&writer, import->writer, import->decode_pool, import->options->progress);
  writer.hold = &chunk->pending;
  writer.release = on_written;
  writer.context = chunk;
  int r = 0;
  for (size_t i = 0; r == 0 && i < extents->count; i++) {
    const struct layout_extent *extent = &extents->items[i];
    const char *bytes = fetched->data + (extent->file_offset - begin);
    if (extent->is_encoded) {
      r = write_encoded(&decoding, &writer, extent, bytes, err);
      continue;
    }
    r = decode_all(&decoding, err);
    if (r == 0)
      r = content_writer_plain(&writer, fetched, bytes, extent->len, extent->virtual_offset, err);
  }
  if (r == 0)
    r = decode_all(&decoding, err);
  if (r == 0)
    r = content_writer_flush(&writer, err);
  content_writer_clear(&writer);
  return r;
}

static int
import_chunk(struct chunk *chunk, struct layout_extents *extents, struct error **err)
{
  struct chunk_import *import = chunk->import;
  struct layout *layout = import->options->layout;
  uint64_t begin = chunk->index * CHUNK_BYTES;
  uint64_t end = begin + CHUNK_BYTES < import->file_size ? begin + CHUNK_BYTES : import->file_size;
  if (layout->ops->extents(layout, begin, end, extents, err) < 0)
    return -1;
  if (extents->count == 0 && !import->has_checksum)
    return 0;
  CLEANUP(pool_buffer_unrefp) struct pool_buffer *buffer = buffer_pool_take(import->fetch_pool);
  int r = import->has_checksum ? fetch_whole(import, extents, begin, end, buffer->data, err)
                               : fetch_needed(import, extents, begin, buffer->data, err);
  if (r < 0)
    return -1;
  if (import->has_checksum && add_to_checksum(chunk, buffer->data, end - begin) < 0)
    return error_set(err, ERROR_CANCELLED, "stopped");
  return write_extents(chunk, extents, buffer, begin, err);
}

static void *
worker_main(void *arg)
{
  struct chunk_import *import = arg;
  struct layout_extents extents = {0};
  struct chunk *chunk;
  (void)prctl(PR_SET_NAME, "import");
  while ((chunk = take_chunk(import))) {
    struct error *err = NULL;
    if (import_chunk(chunk, &extents, &err) < 0) {
      chunk_abandon(chunk);
      fail(import, err);
    }
    chunk_release(chunk);
  }
  layout_extents_clear(&extents);
  MUTEX_GUARD(&import->mutex);
  import->running--;
  (void)pthread_cond_broadcast(&import->change);
  return NULL;
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

/* Saves what is complete now. */
static int
save(struct chunk_import *import, struct error **err)
{
  struct checkpoint checkpoint = {
      .kind = CHECKPOINT_CHUNKS,
      .identity = (char *)import->options->identity,
      .virtual_size = import->options->layout->virtual_size,
      .has_checksum = import->has_checksum,
      .chunk_bytes = CHUNK_BYTES,
  };
  (void)pthread_mutex_lock(&import->mutex);
  checkpoint.position = import->first * CHUNK_BYTES;
  checkpoint.checksum = import->first_checksum;
  (void)pthread_mutex_unlock(&import->mutex);
  if (image_writer_check(import->writer, err) < 0) /* what failed counts as complete, too */
    return -1;
  return target_save(import->options->target, &checkpoint, err);
}

/* Waits until all workers have ended, saving every now and then. */
static void
supervise(struct chunk_import *import)
{
  (void)pthread_mutex_lock(&import->mutex);
  uint64_t saved = import->first;
  int64_t next_ms = clock_now_ms() + CHECKPOINT_MS;
  while (import->running > 0) {
    struct timespec until = clock_timespec_of_ms(next_ms);
    (void)pthread_cond_timedwait(&import->change, &import->mutex, &until);
    if (atomic_load(&import->options->progress->is_cancelled))
      (void)pthread_cond_broadcast(&import->change);
    if (clock_now_ms() < next_ms)
      continue;
    next_ms = clock_now_ms() + CHECKPOINT_MS;
    if (!import->options->identity || import->first == saved)
      continue;
    saved = import->first;
    (void)pthread_mutex_unlock(&import->mutex);
    struct error *err = NULL;
    if (save(import, &err) < 0)
      fail(import, err);
    (void)pthread_mutex_lock(&import->mutex);
  }
  (void)pthread_mutex_unlock(&import->mutex);
}

/* The checksum that is wanted, or the one that the source proves itself with. */
static int
begin_checksum(struct chunk_import *import, struct error **err)
{
  const char *wanted = import->options->checksum;
  struct source *source = import->options->source;
  import->has_checksum = wanted != NULL;
  checksum_init(&import->checksum, wanted ? checksum_kind_of(wanted) : CHECKSUM_SHA256);
  if (wanted || !source->ops->digest_begin)
    return 0;
  import->has_checksum = import->is_proof = true;
  return source->ops->digest_begin(source, &import->checksum, err);
}

static void
start_from(struct chunk_import *import, const struct checkpoint *from)
{
  enum checksum_kind kind = import->checksum.kind;
  bool fits = from && from->kind == CHECKPOINT_CHUNKS && from->chunk_bytes == CHUNK_BYTES &&
              from->position / CHUNK_BYTES <= import->chunk_count &&
              (!import->has_checksum || (from->has_checksum && from->checksum.kind == kind));
  if (fits) {
    import->first = import->next = import->hashed = from->position / CHUNK_BYTES;
    if (import->has_checksum)
      import->checksum = from->checksum;
  }
  import->first_checksum = import->checksum;
  uint64_t position = import->first * CHUNK_BYTES;
  atomic_store(&import->options->progress->total, import->file_size);
  atomic_store(&import->options->progress->position,
               position < import->file_size ? position : import->file_size);
}

static int
run_workers(struct chunk_import *import, struct error **err)
{
  unsigned count = import->workers;
  CLEANUP(freep) pthread_t *threads = xcalloc(count, sizeof(pthread_t));
  unsigned started = 0;
  for (; started < count; started++) {
    (void)pthread_mutex_lock(&import->mutex);
    import->running++;
    (void)pthread_mutex_unlock(&import->mutex);
    int r = pthread_create(&threads[started], NULL, worker_main, import);
    if (r != 0) {
      struct error *failure = NULL;
      error_make_errno(&failure, r, "start an import thread");
      fail(import, failure);
      (void)pthread_mutex_lock(&import->mutex);
      import->running--;
      (void)pthread_mutex_unlock(&import->mutex);
      break;
    }
  }
  supervise(import);
  for (unsigned i = 0; i < started; i++)
    (void)pthread_join(threads[i], NULL);
  struct error *write_failure = NULL;
  if (image_writer_drain(import->writer, &write_failure) < 0)
    fail(import, write_failure);
  if (import->failure)
    return error_set(err, import->failure->code, "%s", import->failure->message);
  if (import->first < import->chunk_count)
    return error_set(err, ERROR_CANCELLED, "stopped; what was done is kept");
  return 0;
}

static int
check_checksum(const struct chunk_import *import, struct error **err)
{
  struct source *source = import->options->source;
  if (!import->has_checksum)
    return 0;
  if (import->is_proof)
    return source->ops->digest_end(source, &import->first_checksum, err);
  if (import->options->ret_digest)
    checksum_text(&import->first_checksum, import->options->ret_digest);
  return checksum_check(&import->first_checksum, import->options->checksum, err);
}

int
import_chunks(const struct import_chunks_options *options, const struct checkpoint *from,
              struct error **err)
{
  struct chunk_import import = {.options = options, .file_size = options->source->size};
  import.chunk_count = (import.file_size + CHUNK_BYTES - 1) / CHUNK_BYTES;
  if (begin_checksum(&import, err) < 0)
    return -1;
  (void)pthread_mutex_init(&import.mutex, NULL);
  condition_init(&import.change);
  start_from(&import, from);
  import.writer = image_writer_new(target_image(options->target), IMPORT_BYTES_IN_FLIGHT);
  import.workers = options->workers < WORKERS_MAX ? options->workers : WORKERS_MAX;
  unsigned buffers = import.workers + BUFFERS_BEING_WRITTEN;
  import.fetch_pool = buffer_pool_new(buffers < FETCH_BUFFERS_MAX ? buffers : FETCH_BUFFERS_MAX,
                                      CHUNK_BYTES + LAYOUT_OVERHANG_MAX, CHUNK_BYTES);
  import.decode_pool = buffer_pool_new(CONTENT_WRITER_BUFFERS, CONTENT_WRITER_BUFFER_BYTES,
                                       CONTENT_WRITER_BUFFER_BYTES);
  int r = run_workers(&import, err);
  if (r < 0 && options->identity)
    (void)save(&import, NULL); /* so that the next one repeats as little as may be */
  if (r == 0)
    r = check_checksum(&import, err);
  buffer_pool_free(import.fetch_pool);
  buffer_pool_free(import.decode_pool);
  image_writer_free(import.writer);
  error_free(import.failure);
  (void)pthread_mutex_destroy(&import.mutex);
  (void)pthread_cond_destroy(&import.change);
  return r;
}
