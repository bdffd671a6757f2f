/* SPDX-License-Identifier: Apache-2.0 */
/* An export onto the disk of an NBD server: nbd://, nbds://, nbd+unix://. The bytes of the disk
 * itself, so nothing but raw; what is not allocated is zeroed, and so is what the server's disk has
 * behind the end.
 *
 * What is written there cannot be taken back. So the beginning of the disk, where every partition
 * table and most file systems have their marks, is zeroed first and written when all the rest is
 * safe: a disk that an export was killed on is not taken for a whole one. */
#include <inttypes.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/sink/sinks.h"
#include "populator/source/disk_output.h"

#define HEAD_BYTES ((size_t)1 << 20)

struct remote_sink {
  struct sink sink;
  struct disk_uri uri;
  struct disk_output *output;
  uint64_t size;     /* of the disk that comes */
  uint64_t position; /* of what comes next */
  size_t head_len;   /* at most HEAD_BYTES, and what the server's disk has */
  char *head;        /* the beginning, written last */
};

static struct remote_sink *
remote_of(struct sink *sink)
{
  return CONTAINER_OF(sink, struct remote_sink, sink);
}

static void
remote_free(struct remote_sink *remote)
{
  if (!remote)
    return;
  disk_output_close(remote->output);
  disk_uri_clear(&remote->uri);
  free(remote->sink.label);
  free(remote->head);
  free(remote);
}

DEFINE_CLEANUP(struct remote_sink *, remote_free)

static int
remote_open(const char *url, const struct sink_options *options, uint64_t estimate,
            struct sink **ret_sink, struct error **err)
{
  (void)estimate;
  CLEANUP(remote_freep) struct remote_sink *remote = xcalloc(1, sizeof(*remote));
  if (disk_uri_parse(url, &remote->uri, err) < 0)
    return -1;
  const struct disk_output_options output = {
      .uri = &remote->uri,
      .ca_bundle = options->http.ca_bundle,
      .allow_local_addresses = options->http.allow_local_addresses,
      .retries = options->http.retries,
      .retry_first_ms = options->http.retry_first_ms,
      .stall_s = options->http.stall_s,
  };
  if (disk_output_open(&output, &remote->output, err) < 0)
    return -1;
  remote->sink.ops = &sink_nbd_ops;
  remote->sink.label = xstrdup(remote->uri.label);
  *ret_sink = &TAKE(remote)->sink;
  return 0;
}

/* Makes the disk one that nobody takes for whole. */
static int
begin(struct remote_sink *remote, struct error **err)
{
  uint64_t there = disk_output_size(remote->output);
  if (remote->size > there)
    return error_set(err, ERROR_OUT_OF_RANGE,
                     "'%s' has %" PRIu64 " bytes, and the disk %" PRIu64 ": it has to be larger",
                     remote->sink.label, there, remote->size);
  remote->position = 0;
  remote->head_len = there < HEAD_BYTES ? (size_t)there : HEAD_BYTES;
  memset(remote->head, 0, HEAD_BYTES);
  return disk_output_zero(remote->output, remote->head_len, 0, err);
}

static int
remote_set_size(struct sink *sink, uint64_t size, struct error **err)
{
  struct remote_sink *remote = remote_of(sink);
  remote->size = size;
  remote->head = xcalloc(1, HEAD_BYTES);
  return begin(remote, err);
}

static int
remote_begin_anew(struct sink *sink, struct error **err)
{
  struct remote_sink *remote = remote_of(sink);
  return disk_output_reconnect(remote->output, err) < 0 ? -1 : begin(remote, err);
}

/* How much of what comes next belongs to the beginning. */
static size_t
part_of_head(const struct remote_sink *remote, uint64_t len)
{
  uint64_t left = remote->position < remote->head_len ? remote->head_len - remote->position : 0;
  return (size_t)(len < left ? len : left);
}

static int
remote_append(struct sink *sink, const void *data, size_t len, struct error **err)
{
  struct remote_sink *remote = remote_of(sink);
  size_t part = part_of_head(remote, len);
  if (part > 0)
    memcpy(remote->head + remote->position, data, part);
  uint64_t at = remote->position + part;
  remote->position += len;
  return disk_output_write(remote->output, (const char *)data + part, len - part, at, err);
}

static int
remote_append_zeros(struct sink *sink, uint64_t len, struct error **err)
{
  struct remote_sink *remote = remote_of(sink);
  size_t part = part_of_head(remote, len);
  uint64_t at = remote->position + part;
  remote->position += len;
  return disk_output_zero(remote->output, len - part, at, err);
}

static int
remote_commit(struct sink *sink, struct error **err)
{
  struct remote_sink *remote = remote_of(sink);
  uint64_t rest = disk_output_size(remote->output) - remote->position;
  if (remote_append_zeros(sink, rest, err) < 0 || disk_output_flush(remote->output, err) < 0 ||
      disk_output_write(remote->output, remote->head, remote->head_len, 0, err) < 0)
    return -1;
  return disk_output_flush(remote->output, err);
}

static void
remote_cancel(struct sink *sink)
{
  disk_output_cancel(remote_of(sink)->output);
}

/* What is there is no disk any more. */
static void
remote_abort(struct sink *sink)
{
  (void)sink;
}

static void
remote_close(struct sink *sink)
{
  remote_free(remote_of(sink));
}

#define NBD_OPS                                                                                    \
  .kind = SINK_DISK, .open = remote_open, .set_size = remote_set_size, .append = remote_append,    \
  .append_zeros = remote_append_zeros, .begin_anew = remote_begin_anew, .cancel = remote_cancel,   \
  .commit = remote_commit, .abort = remote_abort, .close = remote_close

const struct sink_ops sink_nbd_ops = {.scheme = "nbd:", NBD_OPS};
const struct sink_ops sink_nbds_ops = {.scheme = "nbds:", NBD_OPS};
const struct sink_ops sink_nbd_unix_ops = {.scheme = "nbd+unix:", NBD_OPS};
