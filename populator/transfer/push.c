/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/push.h"

#include <string.h>
#include <strings.h>

#include "lib/base/memory.h"
#include "populator/sink/archive_name.h"
#include "populator/sink/sink.h"
#include "populator/source/source.h"

#define COPY_BYTES ((size_t)1 << 20)

/* The file while it is read; it is opened anew for each reading. */
struct pushing {
  const struct push_file_options *options;
  struct source *source;
  char *identity; /* when it was opened first: it must not change between two readings */
};

struct counted_stream {
  struct stream stream;
  struct progress *progress;
};

static ssize_t
counted_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct progress *progress = CONTAINER_OF(stream, struct counted_stream, stream)->progress;
  if (atomic_load(&progress->is_cancelled))
    return error_set(err, ERROR_CANCELLED, "stopped");
  ssize_t got = stream_read(stream->below, buf, len, err);
  if (got > 0) {
    atomic_fetch_add(&progress->position, (uint64_t)got);
    atomic_fetch_add(&progress->fetched, (uint64_t)got);
  }
  return got;
}

static void
counted_close(struct stream *stream)
{
  stream_close(stream->below);
  free(CONTAINER_OF(stream, struct counted_stream, stream));
}

static const struct stream_ops counted_ops = {
    .name = "counted",
    .read = counted_read,
    .close = counted_close,
};

static int
open_source(struct pushing *pushing, struct error **err)
{
  const struct source_options none = {0};
  source_close(TAKE(pushing->source));
  if (source_open(pushing->options->path, &none, &pushing->source, err) < 0)
    return -1;
  if (pushing->source->size == SOURCE_SIZE_UNKNOWN || !pushing->source->identity)
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%s' is not a file that can be read twice",
                     pushing->options->path);
  if (!pushing->identity)
    pushing->identity = xstrdup(pushing->source->identity);
  return 0;
}

static int
open_content(void *context, struct stream **ret_stream, struct error **err)
{
  struct pushing *pushing = context;
  struct stream *below;
  if (open_source(pushing, err) < 0)
    return -1;
  if (strcmp(pushing->source->identity, pushing->identity) != 0)
    return error_set(err, ERROR_FAILED_PRECONDITION, "'%s' changed while it was pushed",
                     pushing->options->path);
  if (pushing->source->ops->stream(pushing->source, 0, &below, err) < 0)
    return -1;
  struct counted_stream *counted = xcalloc(1, sizeof(*counted));
  counted->stream = (struct stream){.ops = &counted_ops, .below = below};
  counted->progress = pushing->options->progress;
  *ret_stream = &counted->stream;
  return 0;
}

/* ---- into an archive ----------------------------------------------------------------------------
 */

static int
copy_into(struct pushing *pushing, struct sink *sink, struct error **err)
{
  CLEANUP(stream_closep) struct stream *stream = NULL;
  CLEANUP(freep) char *piece = xcalloc(COPY_BYTES, 1);
  if (sink->ops->set_size(sink, pushing->source->size, err) < 0 ||
      open_content(pushing, &stream, err) < 0)
    return -1;
  for (;;) {
    ssize_t got = stream_read_most(stream, piece, COPY_BYTES, err);
    if (got <= 0)
      return (int)got;
    if (sink->ops->append(sink, piece, (size_t)got, err) < 0)
      return -1;
  }
}

static int
push_into_archive(struct pushing *pushing, char **ret_digest, struct error **err)
{
  const struct push_file_options *options = pushing->options;
  const struct sink_options sink_options = {.disk_name = options->push.name,
                                            .platform = options->push.platform,
                                            .layer_gzip = options->push.is_compressed,
                                            .ret_digest = ret_digest};
  struct sink *sink;
  atomic_store(&options->progress->total, pushing->source->size);
  if (sink_open(options->url, &sink_options, pushing->source->size, &sink, err) < 0)
    return -1;
  int r = copy_into(pushing, sink, err);
  if (r == 0)
    r = sink->ops->commit(sink, err);
  if (r < 0)
    sink->ops->abort(sink);
  sink->ops->close(sink);
  return r;
}

/* ---- into a registry ----------------------------------------------------------------------------
 */

static int
push_into_registry(struct pushing *pushing, char **ret_digest, struct error **err)
{
  const struct push_file_options *options = pushing->options;
  struct progress *progress = options->progress;
  const struct push_content content = {
      .size = pushing->source->size, .open = open_content, .context = pushing};
  atomic_store(&progress->total, 2 * content.size);
  if (container_disk_push(options->url, &options->push, &content, true, ret_digest, err) < 0)
    return -1;
  /* Once was enough where the registry had it. */
  atomic_store(&progress->position, atomic_load(&progress->total));
  return 0;
}

int
push_file(const struct push_file_options *options, char **ret_digest, struct error **err)
{
  struct pushing pushing = {.options = options};
  bool is_archive =
      strncasecmp(options->url, ARCHIVE_NAME_SCHEME, strlen(ARCHIVE_NAME_SCHEME)) == 0;
  int r = open_source(&pushing, err);
  if (r == 0)
    r = (is_archive ? push_into_archive : push_into_registry)(&pushing, ret_digest, err);
  source_close(pushing.source);
  free(pushing.identity);
  return r;
}
