/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/export.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/qcow2_writer.h"
#include "populator/transfer/cancel_watch.h"
#include "populator/transfer/export_pipeline.h"

/* The allocated parts are asked for in steps, so that a cancelled export ends soon. */
#define SCAN_BYTES ((uint64_t)64 << 30)
/* Tables are made and sent in pieces of this size. */
#define TABLE_PIECE_BYTES ((size_t)1 << 20)
/* Of giving a file to a destination that loses what it was given. */
#define ATTEMPTS_MAX 3

/* An export on its way. */
struct exporting {
  const struct export_options *options;
  struct qcow2_writer *writer;
  struct sink *sink; /* NULL in the pass that only measures */
  uint64_t sent;     /* bytes given to the sink: the offset in the file of the next */
  int (*give)(struct exporting *e, struct error **err); /* the whole file; NULL: only once */
};

static int
scan(struct exporting *e, struct error **err)
{
  struct image_reader *reader = e->options->reader;
  uint64_t size = image_reader_size(reader);
  for (uint64_t at = 0; at < size; at += SCAN_BYTES) {
    uint64_t len = size - at < SCAN_BYTES ? size - at : SCAN_BYTES;
    struct image_extents extents;
    if (image_reader_extents(reader, at, len, &extents, err) < 0)
      return -1;
    int r = 0;
    for (size_t i = 0; r == 0 && i < extents.count; i++)
      r = qcow2_writer_allocate(e->writer, extents.items[i].offset, extents.items[i].len, err);
    image_extents_clear(&extents);
    if (r < 0)
      return -1;
    if (atomic_load(&e->options->progress->is_cancelled))
      return error_set(err, ERROR_CANCELLED, "stopped");
  }
  return 0;
}

/* ---- sending -----------------------------------------------------------------------------------
 */

/* Bytes that belong at this offset of the file, which is not before what was sent. */
static int
send_at(struct exporting *e, uint64_t offset, const void *data, size_t len, struct error **err)
{
  if (!e->sink)
    return 0;
  if (offset < e->sent)
    return error_set(err, ERROR_DATA_LOSS, "the disk changed while it was read");
  if (offset > e->sent && e->sink->ops->append_zeros(e->sink, offset - e->sent, err) < 0)
    return -1;
  if (e->sink->ops->append(e->sink, data, len, err) < 0)
    return -1;
  e->sent = offset + len;
  atomic_fetch_add(&e->options->progress->written, len);
  return 0;
}

/* One cluster of a qcow2 file, in its turn. */
static int
send_cluster(void *context, const struct export_cluster *cluster, struct error **err)
{
  struct exporting *e = context;
  uint64_t offset;
  if (cluster->is_zero) {
    qcow2_writer_place_nothing(e->writer);
    return 0;
  }
  if (cluster->compressed_len > 0)
    qcow2_writer_place_compressed(e->writer, cluster->compressed_len, &offset);
  else
    qcow2_writer_place_plain(e->writer, &offset);
  return send_at(e, offset, cluster->data,
                 cluster->compressed_len > 0 ? cluster->compressed_len : QCOW2_WRITER_CLUSTER, err);
}

/* In the second pass every cluster has its place: what is sent must be what was measured. */
static int
resend_cluster(void *context, const struct export_cluster *cluster, struct error **err)
{
  struct exporting *e = context;
  uint64_t offset = qcow2_writer_place_of(e->writer, cluster->index);
  if (offset == 0)
    return 0; /* it holds zeros */
  return send_at(e, offset, cluster->data,
                 cluster->compressed_len > 0 ? cluster->compressed_len : QCOW2_WRITER_CLUSTER, err);
}

/* Tells the sink how long the file will be, if it wants to know. */
static int
tell_size(struct exporting *e, uint64_t size, struct error **err)
{
  return e->sink->ops->set_size ? e->sink->ops->set_size(e->sink, size, err) : 0;
}

/* The tables, by append() or by write_start(). */
static int
send_tables(struct exporting *e,
            int (*write)(struct sink *sink, const void *data, size_t len, struct error **err),
            struct error **err)
{
  uint64_t end = qcow2_writer_data_offset(e->writer);
  CLEANUP(freep) char *piece = xcalloc(TABLE_PIECE_BYTES, 1);
  for (uint64_t at = 0; at < end; at += TABLE_PIECE_BYTES) {
    size_t len = end - at < TABLE_PIECE_BYTES ? (size_t)(end - at) : TABLE_PIECE_BYTES;
    qcow2_writer_tables(e->writer, at, len, piece);
    if (write(e->sink, piece, len, err) < 0)
      return -1;
  }
  return 0;
}

/* The last cluster is whole, whatever was stored in it. */
static int
pad_end(struct exporting *e, struct error **err)
{
  uint64_t size = qcow2_writer_file_size(e->writer);
  return size > e->sent ? e->sink->ops->append_zeros(e->sink, size - e->sent, err) : 0;
}

/* ---- the ways to make a file --------------------------------------------------------------------
 */

static int
run_pipeline(struct exporting *e, export_take *take, struct error **err)
{
  const struct export_pipeline_options pipeline = {
      .reader = e->options->reader,
      .writer = e->writer,
      .format = e->options->format,
      .workers = e->options->workers,
      .progress = e->options->progress,
      .take = take,
      .context = e,
  };
  return export_pipeline_run(&pipeline, err);
}

/* The sink takes the tables last: one pass, and zeros can be left out. */
static int
export_tables_last(struct exporting *e, struct error **err)
{
  qcow2_writer_seal(e->writer, e->sink->start_align);
  e->sent = qcow2_writer_data_offset(e->writer);
  if (e->sink->ops->reserve_start(e->sink, e->sent, err) < 0 ||
      run_pipeline(e, send_cluster, err) < 0 || pad_end(e, err) < 0)
    return -1;
  return send_tables(e, e->sink->ops->write_start, err);
}

/* Finds the place of every cluster without sending any. Plain ones follow each other; for
 * compressed ones there is no other way than to compress them. */
static int
place_all(struct exporting *e, struct error **err)
{
  if (e->options->format == EXPORT_QCOW2) {
    uint64_t ignored;
    for (uint64_t i = 0; i < qcow2_writer_cluster_count(e->writer); i++)
      qcow2_writer_place_plain(e->writer, &ignored);
    return 0;
  }
  struct sink *sink = TAKE(e->sink);
  int r = run_pipeline(e, send_cluster, err);
  e->sink = sink;
  atomic_store(&e->options->progress->position, 0);
  return r;
}

static int
give_once_more(struct exporting *e, struct error **err)
{
  atomic_store(&e->options->progress->position, 0);
  atomic_store(&e->options->progress->written, 0);
  e->sent = 0;
  return e->give(e, err);
}

/* Gives the whole file, and once more if the sink wants to measure it first. */
static int
give_file(struct exporting *e, struct error **err)
{
  bool is_there = true;
  if (e->give(e, err) < 0)
    return -1;
  if (e->sink->ops->measured && e->sink->ops->measured(e->sink, &is_there, err) < 0)
    return -1;
  return is_there ? 0 : give_once_more(e, err);
}

static int
give_qcow2(struct exporting *e, struct error **err)
{
  if (send_tables(e, e->sink->ops->append, err) < 0)
    return -1;
  e->sent = qcow2_writer_data_offset(e->writer);
  if (run_pipeline(e, resend_cluster, err) < 0)
    return -1;
  return pad_end(e, err);
}

/* The tables go first. */
static int
export_tables_first(struct exporting *e, struct error **err)
{
  qcow2_writer_seal(e->writer, 0);
  e->give = give_qcow2;
  if (place_all(e, err) < 0 || tell_size(e, qcow2_writer_file_size(e->writer), err) < 0)
    return -1;
  return give_file(e, err);
}

/* A raw file is its own table: clusters are sent to where they lie on the disk. */
static int
send_raw_cluster(void *context, const struct export_cluster *cluster, struct error **err)
{
  struct exporting *e = context;
  uint64_t size = image_reader_size(e->options->reader);
  uint64_t offset = qcow2_writer_cluster_offset(e->writer, cluster->index);
  uint64_t len = size - offset < QCOW2_WRITER_CLUSTER ? size - offset : QCOW2_WRITER_CLUSTER;
  return cluster->is_zero ? 0 : send_at(e, offset, cluster->data, (size_t)len, err);
}

static int
give_raw(struct exporting *e, struct error **err)
{
  uint64_t size = image_reader_size(e->options->reader);
  if (run_pipeline(e, send_raw_cluster, err) < 0)
    return -1;
  return size > e->sent ? e->sink->ops->append_zeros(e->sink, size - e->sent, err) : 0;
}

static int
export_raw(struct exporting *e, struct error **err)
{
  e->give = give_raw;
  if (tell_size(e, image_reader_size(e->options->reader), err) < 0)
    return -1;
  return give_file(e, err);
}

static uint64_t
estimate(const struct exporting *e)
{
  uint64_t data = qcow2_writer_cluster_count(e->writer) * QCOW2_WRITER_CLUSTER;
  uint64_t size = image_reader_size(e->options->reader);
  return e->options->format == EXPORT_RAW ? size : data + data / 100 + size / 8192 + (64 << 20);
}

static int
make_file(struct exporting *e, struct error **err)
{
  if (e->options->format == EXPORT_RAW)
    return export_raw(e, err);
  if (e->sink->ops->reserve_start)
    return export_tables_last(e, err);
  return export_tables_first(e, err);
}

/* ---- from the beginning again -------------------------------------------------------------------
 */

static int
make_again(struct exporting *e, struct error **err)
{
  return e->sink->ops->begin_anew(e->sink, err) < 0 ? -1 : give_once_more(e, err);
}

static bool
may_begin_anew(const struct exporting *e, const struct error *failure)
{
  return failure->code == ERROR_ABORTED && e->sink->ops->begin_anew && e->give &&
         !atomic_load(&e->options->progress->is_cancelled);
}

static int
attempt(struct exporting *e, bool is_first, struct error **err)
{
  if ((is_first ? make_file : make_again)(e, err) < 0 ||
      image_reader_check(e->options->reader, err) < 0)
    return -1;
  return e->sink->ops->commit(e->sink, err);
}

/* A snapshot can be read as often as it takes; but a destination that always fails is left. */
static int
run_attempts(struct exporting *e, struct error **err)
{
  http_retry_listener *on_retry = e->options->sink.http.on_retry;
  for (unsigned number = 1;; number++) {
    CLEANUP(error_freep) struct error *failure = NULL;
    if (attempt(e, number == 1, &failure) == 0)
      return 0;
    if (!may_begin_anew(e, failure))
      return error_set(err, failure->code, "%s", failure->message);
    if (number == ATTEMPTS_MAX)
      return error_set(err, failure->code, "given up after %u attempts: %s", number,
                       failure->message);
    if (on_retry)
      on_retry(number, failure->message);
  }
}

static void
cancel(void *context)
{
  struct sink *sink = context;
  if (sink->ops->cancel)
    sink->ops->cancel(sink);
}

static uint64_t
file_bytes(const struct exporting *e)
{
  return e->options->format == EXPORT_RAW ? image_reader_size(e->options->reader)
                                          : qcow2_writer_file_size(e->writer);
}

int
export_image(const struct export_options *options, struct error **err)
{
  CLEANUP(qcow2_writer_freep)
  struct qcow2_writer *writer = qcow2_writer_new(
      image_reader_size(options->reader),
      options->format == EXPORT_QCOW2_ZSTD ? QCOW2_COMPRESSION_ZSTD : QCOW2_COMPRESSION_ZLIB);
  struct exporting e = {.options = options, .writer = writer};
  if (scan(&e, err) < 0)
    return -1;
  atomic_store(&options->progress->total,
               qcow2_writer_cluster_count(writer) * QCOW2_WRITER_CLUSTER);
  if (sink_open(options->url, &options->sink, estimate(&e), &e.sink, err) < 0)
    return -1;
  /* From here on a signal reaches the sink too. */
  struct cancel_watch *watch = cancel_watch_start(options->progress, cancel, e.sink);
  int r = run_attempts(&e, err);
  cancel_watch_stop(watch);
  if (r < 0)
    e.sink->ops->abort(e.sink);
  else if (options->ret_bytes)
    *options->ret_bytes = file_bytes(&e);
  e.sink->ops->close(e.sink);
  return r;
}
