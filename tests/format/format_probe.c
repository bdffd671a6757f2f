/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an image file the way the populator does and writes the disk that it holds, as a sparse
 * file, for a comparison with what qemu-img makes of it.
 *
 *   format_probe probe FILE            what it is
 *   format_probe unpack FILE OUT       a stream with all compressions taken off
 *   format_probe map FILE OUT          a qcow2 file that is read anywhere, in chunks
 *   format_probe stream FILE OUT       a qcow2 file that is read once, also a compressed one; where
 *                                      that cannot be done, through the spool OUT.spool
 *
 * Options: --save-every N   after so many bytes save, forget everything and restore
 *          --piece N        no read of the file gives more
 *          --chunk N        of a map
 *          --window N       of a stream
 *          --threads N      of a map
 *          --passes N       decode so many times, write nothing: for measuring; 0: only look
 * Prints what it did, a "name value" a line. Exit status 1, and the message, when it refuses. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "populator/format/qcow2_cluster.h"
#include "populator/format/qcow2_map.h"
#include "populator/format/qcow2_spool.h"
#include "populator/format/qcow2_stream.h"
#include "populator/format/unpack.h"
#include "populator/format/zero.h"
#include "tests/format/memory_stream.h"

#define BLOCK 4096

struct options {
  size_t save_every, piece, chunk, window;
  unsigned threads, passes;
};

/* A file in memory, and the disk that comes out. */
struct job {
  struct options options;
  const char *file_name, *out_name;
  const char *data;
  size_t len;
  int out; /* -1: nothing is written */
  struct qcow2_cluster_decoder *decoder;
  char *content;
  uint64_t made;
  size_t extents, saves, state_max, spooled;
};

/* ---- what comes out ----------------------------------------------------------------------------
 */

static int
write_at(void *context, const void *buf, size_t len, uint64_t offset, struct error **err)
{
  int fd = *(int *)context;
  if (fd < 0)
    return 0;
  for (size_t done = 0; done < len;) {
    ssize_t n = pwrite(fd, (const char *)buf + done, len - done, (off_t)(offset + done));
    if (n < 0)
      return error_set_errno(err, errno, "write");
    done += (size_t)n;
  }
  return 0;
}

static int
put(struct job *job, const char *content, size_t len, uint64_t offset, struct error **err)
{
  struct zero_run run;
  job->made += len;
  for (size_t at = 0; job->out >= 0 && zero_next_run(content, len, BLOCK, at, &run);
       at = run.offset + run.len) {
    if (write_at(&job->out, content + run.offset, run.len, offset + run.offset, err) < 0)
      return -1;
  }
  return 0;
}

/* One extent, whose bytes in the file are `bytes`. */
static int
put_extent(struct job *job, const struct qcow2_extent *extent, const char *bytes,
           struct error **err)
{
  job->extents++;
  if (!extent->is_compressed)
    return put(job, bytes, extent->length, extent->virtual_offset, err);
  if (qcow2_cluster_decode(job->decoder, bytes, extent->host_length, job->content, extent->length,
                           err) < 0)
    return -1;
  return put(job, job->content, extent->length, extent->virtual_offset, err);
}

static int
begin_disk(struct job *job, const struct qcow2_header *header, struct error **err)
{
  job->decoder = qcow2_cluster_decoder_new(header->compression, header->cluster_size);
  job->content = xcalloc(1, header->cluster_size);
  if (job->out >= 0 && ftruncate(job->out, (off_t)header->virtual_size) < 0)
    return error_set_errno(err, errno, "size the disk");
  return 0;
}

static void
end_disk(struct job *job)
{
  qcow2_cluster_decoder_free(TAKE(job->decoder));
  free(TAKE(job->content));
}

/* ---- streams -----------------------------------------------------------------------------------
 */

/* Restores the stack of streams that a state describes, from the lowest up. */
static int
restore_stack(struct job *job, const struct buffer *state, size_t *ret_used,
              struct stream **ret_stream, struct error **err)
{
  const char *at = state->data, *end = state->data + state->len;
  uint64_t offset;
  at += strlen("memory") + 1;
  memcpy(&offset, at, sizeof(offset));
  at += sizeof(offset);
  struct stream *stream = memory_stream_new(job->data, job->len, offset, job->options.piece);
  while (at < end && (strcmp(at, "peek") == 0 || strcmp(at, "gzip") == 0)) {
    const char *name = at;
    size_t used;
    at += strlen(name) + 1;
    if (unpack_stream_restore(stream, name, at, (size_t)(end - at), &used, &stream, err) < 0)
      return -1;
    at += used;
  }
  *ret_used = (size_t)(at - state->data);
  *ret_stream = stream;
  return 0;
}

static void
note_save(struct job *job, const struct buffer *state)
{
  job->saves++;
  if (state->len > job->state_max)
    job->state_max = state->len;
}

/* Puts another stream in place of this one, as a restart would. */
static int
restart(struct job *job, struct stream **stream, struct error **err)
{
  CLEANUP(buffer_clear) struct buffer state = {0};
  size_t used;
  if (stream_save(*stream, &state, err) < 0)
    return -1;
  note_save(job, &state);
  stream_close(TAKE(*stream));
  return restore_stack(job, &state, &used, stream, err);
}

static int
open_unpacked(struct job *job, struct stream **ret_stream, struct error **err)
{
  struct probe probe;
  struct stream *file = memory_stream_new(job->data, job->len, 0, job->options.piece);
  return unpack_stream_new(file, ret_stream, &probe, err);
}

static int
unpack(struct job *job, struct error **err)
{
  CLEANUP(stream_closep) struct stream *stream = NULL;
  if (open_unpacked(job, &stream, err) < 0)
    return -1;
  size_t every = job->options.save_every;
  size_t room = every > 0 && every < (1 << 20) ? every : 1 << 20;
  CLEANUP(freep) char *buf = xcalloc(1, room);
  size_t since = 0;
  for (;;) {
    ssize_t n = stream_read(stream, buf, room, err);
    if (n < 0 || write_at(&job->out, buf, (size_t)(n > 0 ? n : 0), job->made, err) < 0)
      return -1;
    if (n == 0)
      return 0;
    job->made += (uint64_t)n;
    since += (size_t)n;
    if (every > 0 && since >= every) {
      since = 0;
      if (restart(job, &stream, err) < 0)
        return -1;
    }
  }
}

/* ---- qcow2, read anywhere ----------------------------------------------------------------------
 */

static int
read_at(void *context, void *buf, size_t len, uint64_t offset, struct error **err)
{
  const struct job *job = context;
  if (offset > job->len || len > job->len - offset)
    return error_set(err, ERROR_OUT_OF_RANGE, "read of %zu bytes at %" PRIu64, len, offset);
  memcpy(buf, job->data + offset, len);
  return 0;
}

static int
map_chunks(struct job *job, struct qcow2_map *map, struct error **err)
{
  struct qcow2_extents extents = {0};
  int r = 0;
  for (uint64_t at = 0; r == 0 && at < job->len; at += job->options.chunk) {
    uint64_t end = at + job->options.chunk;
    r = qcow2_map_chunk(map, at, end < job->len ? end : job->len, &extents, err);
    if (job->options.passes == 0)
      job->extents += extents.count;
    for (size_t i = 0; r == 0 && i < extents.count && job->options.passes > 0; i++)
      r = put_extent(job, &extents.items[i], job->data + extents.items[i].host_offset, err);
  }
  qcow2_extents_clear(&extents);
  return r;
}

static int
map_file(struct job *job, struct error **err)
{
  struct qcow2_file file = {.read_at = read_at, .context = job, .size = job->len};
  CLEANUP(qcow2_map_closep) struct qcow2_map *map = NULL;
  if (qcow2_map_open(&file, job->options.threads, &map, err) < 0)
    return -1;
  const struct qcow2_header *header = qcow2_map_header(map);
  int r = begin_disk(job, header, err);
  for (unsigned i = 0; r == 0 && (i == 0 || i < job->options.passes); i++)
    r = map_chunks(job, map, err);
  end_disk(job);
  (void)printf("virtual_size %" PRIu64 "\nallocated %" PRIu64 "\n", header->virtual_size,
               qcow2_map_allocated(map));
  return r;
}

/* ---- qcow2, read once --------------------------------------------------------------------------
 */

static int
restart_qcow2(struct job *job, struct qcow2_stream **stream, struct error **err)
{
  CLEANUP(buffer_clear) struct buffer own = {0};
  CLEANUP(buffer_clear) struct buffer state = {0};
  CLEANUP(error_freep) struct error *failure = NULL;
  size_t used;
  if (qcow2_stream_save(*stream, &own, &failure) < 0)
    return failure->code == ERROR_RESOURCE_EXHAUSTED
               ? 0 /* not here */
               : error_set(err, failure->code, "%s", failure->message);
  if (stream_save(qcow2_stream_below(*stream), &state, err) < 0)
    return -1;
  (void)buffer_append(&state, own.data, own.len);
  note_save(job, &state);
  qcow2_stream_close(TAKE(*stream));
  struct stream *below;
  if (restore_stack(job, &state, &used, &below, err) < 0)
    return -1;
  return qcow2_stream_restore(below, job->options.window, state.data + used, state.len - used,
                              &used, stream, err);
}

/* The rest of the file, through a spool. */
static int
spool_rest(struct job *job, struct qcow2_stream *stream, struct error **err)
{
  CLEANUP(freep) char *name = xasprintf("%s.spool", job->out_name);
  CLEANUP(closep) int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  struct qcow2_spool spool = {.write_at = write_at, .context = &fd};
  CLEANUP(freep) char *buf = xcalloc(1, 1 << 20);
  uint64_t offset;
  if (fd < 0)
    return error_set_errno(err, errno, "open '%s'", name);
  if (qcow2_spool_write(stream, &spool, &offset, err) < 0)
    return -1;
  for (;;) {
    ssize_t n = stream_read(qcow2_stream_below(stream), buf, 1 << 20, err);
    if (n < 0 || (n > 0 && write_at(&fd, buf, (size_t)n, offset, err) < 0))
      return -1;
    if (n == 0)
      break;
    offset += (uint64_t)n;
  }
  job->spooled = offset;
  struct job rest = *job;
  rest.data = offset == 0 ? NULL : mmap(NULL, offset, PROT_READ, MAP_PRIVATE, fd, 0);
  rest.len = offset;
  rest.options.passes = 1;
  if (rest.data == MAP_FAILED)
    return error_set_errno(err, errno, "map '%s'", name);
  int r = map_file(&rest, err);
  (void)munmap((void *)rest.data, offset);
  job->extents = rest.extents;
  job->made = rest.made;
  return r;
}

static int
stream_extents(struct job *job, struct qcow2_stream **stream, struct error **err)
{
  CLEANUP(freep) char *buf = xcalloc(1, QCOW2_STREAM_BUFFER_MIN);
  uint64_t saved_at = 0;
  struct qcow2_extent extent;
  int r;
  while ((r = qcow2_stream_next(*stream, buf, QCOW2_STREAM_BUFFER_MIN, &extent, err)) ==
         QCOW2_STREAM_EXTENT) {
    if (put_extent(job, &extent, buf, err) < 0)
      return -1;
    size_t every = job->options.save_every;
    if (every > 0 && job->made - saved_at >= every) {
      saved_at = job->made;
      if (restart_qcow2(job, stream, err) < 0)
        return -1;
    }
  }
  return r == QCOW2_STREAM_FULL ? spool_rest(job, *stream, err) : r;
}

static int
stream_file(struct job *job, struct error **err)
{
  struct stream *below;
  if (open_unpacked(job, &below, err) < 0)
    return -1;
  CLEANUP(qcow2_stream_closep) struct qcow2_stream *stream = NULL;
  if (qcow2_stream_open(below, job->options.window, &stream, err) < 0)
    return -1;
  (void)printf("virtual_size %" PRIu64 "\n", qcow2_stream_header(stream)->virtual_size);
  int r = begin_disk(job, qcow2_stream_header(stream), err);
  if (r == 0)
    r = stream_extents(job, &stream, err);
  end_disk(job);
  return r;
}

/* ---- the program -------------------------------------------------------------------------------
 */

static int
probe_file(struct job *job, struct error **err)
{
  (void)err;
  struct probe probe;
  probe_bytes(job->data, job->len < PROBE_BYTES ? job->len : PROBE_BYTES, &probe);
  (void)printf("format %s\ndetail %s\n", probe.name, probe.detail ? probe.detail : "none");
  bool is_vhd = job->len >= PROBE_FOOTER_BYTES &&
                probe_is_vhd_footer(job->data + job->len - PROBE_FOOTER_BYTES, PROBE_FOOTER_BYTES);
  (void)printf("vhd_footer %d\n", is_vhd);
  return 0;
}

static const struct {
  const char *name;
  int (*run)(struct job *job, struct error **err);
  bool has_output;
} commands[] = {
    {"probe", probe_file, false},
    {"unpack", unpack, true},
    {"map", map_file, true},
    {"stream", stream_file, true},
};

static int
run(struct job *job, size_t command)
{
  struct error *err = NULL;
  int64_t start = clock_now_ms();
  if (commands[command].run(job, &err) < 0) {
    (void)fprintf(stderr, "%s: %s\n", error_code_name((int)err->code), err->message);
    error_free(err);
    return 1;
  }
  struct rusage usage;
  (void)getrusage(RUSAGE_SELF, &usage);
  (void)printf("made %" PRIu64 "\nextents %zu\nsaves %zu\nstate_max %zu\nspooled %zu\n", job->made,
               job->extents, job->saves, job->state_max, job->spooled);
  (void)printf("milliseconds %" PRId64 "\ncpu_milliseconds %ld\nmax_rss_kb %ld\n",
               clock_now_ms() - start,
               usage.ru_utime.tv_sec * 1000 + usage.ru_utime.tv_usec / 1000 +
                   usage.ru_stime.tv_sec * 1000 + usage.ru_stime.tv_usec / 1000,
               usage.ru_maxrss);
  return 0;
}

static bool
parse_options(int argc, char **argv, struct options *options)
{
  static const struct option names[] = {
      {"save-every", required_argument, NULL, 's'},
      {"piece", required_argument, NULL, 'p'},
      {"chunk", required_argument, NULL, 'c'},
      {"window", required_argument, NULL, 'w'},
      {"threads", required_argument, NULL, 't'},
      {"passes", required_argument, NULL, 'n'},
      {NULL, 0, NULL, 0},
  };
  int c;
  while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
    size_t value = optarg ? strtoull(optarg, NULL, 10) : 0;
    switch (c) {
    case 's':
      options->save_every = value;
      break;
    case 'p':
      options->piece = value;
      break;
    case 'c':
      options->chunk = value;
      break;
    case 'w':
      options->window = value;
      break;
    case 't':
      options->threads = (unsigned)value;
      break;
    case 'n':
      options->passes = (unsigned)value;
      break;
    default:
      return false;
    }
  }
  return true;
}

static int
open_files(struct job *job, bool has_output)
{
  CLEANUP(closep) int fd = open(job->file_name, O_RDONLY | O_CLOEXEC);
  struct stat st;
  if (fd < 0 || fstat(fd, &st) < 0) {
    perror(job->file_name);
    return -1;
  }
  job->len = (size_t)st.st_size;
  job->data = job->len == 0 ? "" : mmap(NULL, job->len, PROT_READ, MAP_PRIVATE, fd, 0);
  job->out = has_output && job->options.passes == 1
                 ? open(job->out_name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
                 : -1;
  if (job->data == MAP_FAILED || (has_output && job->options.passes == 1 && job->out < 0)) {
    perror(has_output ? job->out_name : job->file_name);
    return -1;
  }
  return 0;
}

int
main(int argc, char **argv)
{
  struct job job = {
      .out = -1,
      .options = {
          .chunk = (size_t)8 << 20, .window = QCOW2_STREAM_WINDOW, .threads = 1, .passes = 1}};
  size_t command = 0;
  const size_t count = sizeof(commands) / sizeof(commands[0]);
  bool is_good = parse_options(argc, argv, &job.options) && argc - optind >= 2;
  while (is_good && command < count && strcmp(argv[optind], commands[command].name) != 0)
    command++;
  if (!is_good || command == count || argc - optind != 2 + commands[command].has_output) {
    (void)fprintf(stderr, "usage: format_probe probe|unpack|map|stream FILE [OUT] [OPTION…]\n");
    return 2;
  }
  job.file_name = argv[optind + 1];
  job.out_name = argv[optind + 2];
  if (open_files(&job, commands[command].has_output) < 0)
    return 2;
  int status = run(&job, command);
  if (job.len > 0)
    (void)munmap((void *)job.data, job.len);
  closep(&job.out);
  return status;
}
