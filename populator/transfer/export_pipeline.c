/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/export_pipeline.h"

#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>

#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "populator/format/qcow2_compress.h"
#include "populator/format/zero.h"

#define CLUSTER QCOW2_WRITER_CLUSTER
/* Clusters that a worker takes at once: an object of RBD's default size. */
#define BATCH 64
/* Batches made and not yet taken, for each worker. */
#define BATCHES_AHEAD 3
/* Batches at all: 96 MiB, however many workers are asked for. */
#define BATCHES_MAX 12

enum batch_state { BATCH_EMPTY, BATCH_TAKEN, BATCH_READY };

struct batch {
  enum batch_state state; /* under the mutex */
  uint64_t first;
  size_t count;
  char *plain;        /* BATCH clusters */
  char *compressed;   /* the same room */
  size_t lens[BATCH]; /* compressed lengths; 0: plain */
  bool is_zero[BATCH];
};

struct pipeline {
  const struct export_pipeline_options *options;
  uint64_t cluster_count;
  uint64_t disk_size;
  struct batch *ring;
  size_t ring_size;

  pthread_mutex_t mutex; /* guards all below */
  pthread_cond_t change;
  uint64_t next; /* batch to be made */
  uint64_t batch_count;
  struct error *failure;
  bool is_over;
};

/* ---- the workers' side -------------------------------------------------------------------------
 */

/* Reads clusters [from, to) of the batch, which lie next to each other on the disk. */
static int
read_run(struct pipeline *pipeline, struct batch *batch, size_t from, size_t to, struct error **err)
{
  uint64_t offset = qcow2_writer_cluster_offset(pipeline->options->writer, batch->first + from);
  uint64_t len = (to - from) * CLUSTER;
  char *buf = batch->plain + from * CLUSTER;
  if (len > pipeline->disk_size - offset) { /* the disk ends inside the last cluster */
    uint64_t there = pipeline->disk_size - offset;
    memset(buf + there, 0, len - there);
    len = there;
  }
  return image_reader_read(pipeline->options->reader, buf, len, offset, err);
}

static int
read_batch(struct pipeline *pipeline, struct batch *batch, struct error **err)
{
  const struct qcow2_writer *writer = pipeline->options->writer;
  size_t from = 0;
  while (from < batch->count) {
    uint64_t offset = qcow2_writer_cluster_offset(writer, batch->first + from);
    size_t to = from + 1;
    while (to < batch->count &&
           qcow2_writer_cluster_offset(writer, batch->first + to) == offset + (to - from) * CLUSTER)
      to++;
    if (read_run(pipeline, batch, from, to, err) < 0)
      return -1;
    from = to;
  }
  return 0;
}

static void
compress_batch(struct batch *batch, struct qcow2_compressor *compressor)
{
  for (size_t i = 0; i < batch->count; i++) {
    const char *plain = batch->plain + i * CLUSTER;
    batch->is_zero[i] = zero_is_all(plain, CLUSTER);
    batch->lens[i] = compressor && !batch->is_zero[i]
                         ? qcow2_compress(compressor, plain, batch->compressed + i * CLUSTER)
                         : 0;
  }
}

/* A batch to be made, or NULL when there is none left. */
static struct batch *
take_batch(struct pipeline *pipeline)
{
  MUTEX_GUARD(&pipeline->mutex);
  for (;;) {
    if (pipeline->is_over || pipeline->next >= pipeline->batch_count)
      return NULL;
    struct batch *batch = &pipeline->ring[pipeline->next % pipeline->ring_size];
    if (batch->state == BATCH_EMPTY) {
      batch->state = BATCH_TAKEN;
      batch->first = pipeline->next * BATCH;
      uint64_t left = pipeline->cluster_count - batch->first;
      batch->count = left < BATCH ? (size_t)left : BATCH;
      pipeline->next++;
      return batch;
    }
    (void)pthread_cond_wait(&pipeline->change, &pipeline->mutex);
  }
}

static void
finish_batch(struct pipeline *pipeline, struct batch *batch, struct error *failure)
{
  MUTEX_GUARD(&pipeline->mutex);
  batch->state = BATCH_READY;
  if (failure && !pipeline->failure)
    pipeline->failure = failure;
  else
    error_free(failure);
  (void)pthread_cond_broadcast(&pipeline->change);
}

static struct qcow2_compressor *
make_compressor(enum export_format format)
{
  switch (format) {
  case EXPORT_QCOW2_ZLIB:
    return qcow2_compressor_new(QCOW2_COMPRESSION_ZLIB);
  case EXPORT_QCOW2_ZSTD:
    return qcow2_compressor_new(QCOW2_COMPRESSION_ZSTD);
  default:
    return NULL;
  }
}

static void *
worker_main(void *arg)
{
  struct pipeline *pipeline = arg;
  (void)prctl(PR_SET_NAME, "export");
  CLEANUP(qcow2_compressor_freep)
  struct qcow2_compressor *compressor = make_compressor(pipeline->options->format);
  struct batch *batch;
  while ((batch = take_batch(pipeline))) {
    struct error *failure = NULL;
    if (read_batch(pipeline, batch, &failure) == 0)
      compress_batch(batch, compressor);
    finish_batch(pipeline, batch, failure);
  }
  return NULL;
}

/* ---- the taker's side ---------------------------------------------------------------------------
 */

/* Waits for the number-th batch. NULL when something failed or the export is cancelled. */
static struct batch *
await_batch(struct pipeline *pipeline, uint64_t number, struct error **err)
{
  MUTEX_GUARD(&pipeline->mutex);
  struct batch *batch = &pipeline->ring[number % pipeline->ring_size];
  while (!pipeline->failure && !(batch->state == BATCH_READY && batch->first == number * BATCH))
    (void)pthread_cond_wait(&pipeline->change, &pipeline->mutex);
  if (pipeline->failure) {
    error_make(err, pipeline->failure->code, "%s", pipeline->failure->message);
    return NULL;
  }
  if (atomic_load(&pipeline->options->progress->is_cancelled)) {
    error_make(err, ERROR_CANCELLED, "stopped");
    return NULL;
  }
  return batch;
}

static int
hand_out(struct pipeline *pipeline, struct batch *batch, struct error **err)
{
  for (size_t i = 0; i < batch->count; i++) {
    const struct export_cluster cluster = {
        .index = batch->first + i,
        .is_zero = batch->is_zero[i],
        .compressed_len = batch->lens[i],
        .data = (batch->lens[i] ? batch->compressed : batch->plain) + i * CLUSTER,
    };
    if (pipeline->options->take(pipeline->options->context, &cluster, err) < 0)
      return -1;
  }
  atomic_fetch_add(&pipeline->options->progress->position, batch->count * CLUSTER);
  return 0;
}

static int
take_all(struct pipeline *pipeline, struct error **err)
{
  for (uint64_t number = 0; number < pipeline->batch_count; number++) {
    struct batch *batch = await_batch(pipeline, number, err);
    if (!batch || hand_out(pipeline, batch, err) < 0)
      return -1;
    MUTEX_GUARD(&pipeline->mutex);
    batch->state = BATCH_EMPTY;
    (void)pthread_cond_broadcast(&pipeline->change);
  }
  return 0;
}

static int
run(struct pipeline *pipeline, struct error **err)
{
  unsigned workers = pipeline->options->workers;
  if (workers > pipeline->ring_size)
    workers = (unsigned)pipeline->ring_size; /* each has a batch of its own */
  CLEANUP(freep) pthread_t *threads = xcalloc(workers, sizeof(pthread_t));
  unsigned started = 0;
  int r = 0;
  while (r == 0 && started < workers) {
    r = pthread_create(&threads[started], NULL, worker_main, pipeline);
    if (r == 0)
      started++;
  }
  r = r == 0 ? take_all(pipeline, err) : error_set_errno(err, r, "start an export thread");
  (void)pthread_mutex_lock(&pipeline->mutex);
  pipeline->is_over = true;
  (void)pthread_cond_broadcast(&pipeline->change);
  (void)pthread_mutex_unlock(&pipeline->mutex);
  for (unsigned i = 0; i < started; i++)
    (void)pthread_join(threads[i], NULL);
  return r;
}

int
export_pipeline_run(const struct export_pipeline_options *options, struct error **err)
{
  struct pipeline pipeline = {.options = options,
                              .cluster_count = qcow2_writer_cluster_count(options->writer),
                              .disk_size = image_reader_size(options->reader),
                              .ring_size = (size_t)options->workers * BATCHES_AHEAD};
  if (pipeline.ring_size > BATCHES_MAX)
    pipeline.ring_size = BATCHES_MAX;
  pipeline.batch_count = (pipeline.cluster_count + BATCH - 1) / BATCH;
  (void)pthread_mutex_init(&pipeline.mutex, NULL);
  condition_init(&pipeline.change);
  pipeline.ring = xcalloc(pipeline.ring_size, sizeof(struct batch));
  for (size_t i = 0; i < pipeline.ring_size; i++) {
    pipeline.ring[i].plain = xcalloc(BATCH, CLUSTER);
    pipeline.ring[i].compressed = xcalloc(BATCH, CLUSTER);
  }
  int r = run(&pipeline, err);
  for (size_t i = 0; i < pipeline.ring_size; i++) {
    free(pipeline.ring[i].plain);
    free(pipeline.ring[i].compressed);
  }
  free(pipeline.ring);
  error_free(pipeline.failure);
  (void)pthread_mutex_destroy(&pipeline.mutex);
  (void)pthread_cond_destroy(&pipeline.change);
  return r;
}
