/* SPDX-License-Identifier: Apache-2.0 */
/* An export into a registry, docker://HOST[:PORT]/REPOSITORY[:TAG], as a container disk. The disk's
 * size stands in front of it in the layer, so it is said before the first byte (set_size). And a
 * layer is called by its digest, so the disk is measured first: what the registry has is not sent
 * again. */
#include "lib/base/memory.h"
#include "populator/sink/container_disk_push.h"
#include "populator/sink/sinks.h"

#define ZEROS_BYTES ((size_t)1 << 20)

struct registry_sink {
  struct sink sink;
  struct container_disk_push *push;
  char **ret_digest;
  bool is_begun;
};

static struct registry_sink *
registry_of(struct sink *sink)
{
  return CONTAINER_OF(sink, struct registry_sink, sink);
}

static int
registry_open(const char *url, const struct sink_options *options, uint64_t estimate,
              struct sink **ret_sink, struct error **err)
{
  (void)estimate;
  const struct push_options push = {
      .registry = {.http = options->http,
                   .insecure = options->registry_insecure,
                   .auth_file = options->registry_auth_file},
      .name = options->disk_name,
      .platform = options->platform,
      .is_compressed = options->layer_gzip,
  };
  CLEANUP(freep) struct registry_sink *registry = xcalloc(1, sizeof(*registry));
  if (container_disk_push_open(url, &push, &registry->push, err) < 0)
    return -1;
  registry->ret_digest = options->ret_digest;
  registry->sink.ops = &sink_registry_ops;
  registry->sink.label = xstrdup(url);
  *ret_sink = &TAKE(registry)->sink;
  return 0;
}

static int
registry_set_size(struct sink *sink, uint64_t size, struct error **err)
{
  struct registry_sink *registry = registry_of(sink);
  registry->is_begun = true;
  return container_disk_push_measure(registry->push, size, err);
}

static int
registry_measured(struct sink *sink, bool *ret_is_there, struct error **err)
{
  return container_disk_push_measured(registry_of(sink)->push, ret_is_there, err);
}

static int
registry_begin_anew(struct sink *sink, struct error **err)
{
  return container_disk_push_begin_anew(registry_of(sink)->push, err);
}

static int
registry_append(struct sink *sink, const void *data, size_t len, struct error **err)
{
  struct registry_sink *registry = registry_of(sink);
  if (!registry->is_begun)
    return error_set(err, ERROR_INTERNAL, "%s: the size of the disk was not said", sink->label);
  return container_disk_push_write(registry->push, data, len, err);
}

static int
registry_append_zeros(struct sink *sink, uint64_t len, struct error **err)
{
  CLEANUP(freep) char *zeros = xcalloc(ZEROS_BYTES, 1);
  for (uint64_t left = len; left > 0;) {
    size_t piece = left < ZEROS_BYTES ? (size_t)left : ZEROS_BYTES;
    if (registry_append(sink, zeros, piece, err) < 0)
      return -1;
    left -= piece;
  }
  return 0;
}

static int
registry_commit(struct sink *sink, struct error **err)
{
  struct registry_sink *registry = registry_of(sink);
  CLEANUP(freep) char *digest = NULL;
  if (container_disk_push_commit(registry->push, &digest, err) < 0)
    return -1;
  if (registry->ret_digest)
    *registry->ret_digest = TAKE(digest);
  return 0;
}

static void
registry_cancel(struct sink *sink)
{
  container_disk_push_cancel(registry_of(sink)->push);
}

static void
registry_abort(struct sink *sink)
{
  struct registry_sink *registry = registry_of(sink);
  container_disk_push_close(TAKE(registry->push));
}

static void
registry_close(struct sink *sink)
{
  struct registry_sink *registry = registry_of(sink);
  container_disk_push_close(registry->push);
  free(registry->sink.label);
  free(registry);
}

const struct sink_ops sink_registry_ops = {
    .scheme = "docker:",
    .kind = SINK_CONTAINER_DISK,
    .open = registry_open,
    .set_size = registry_set_size,
    .begin_anew = registry_begin_anew,
    .append = registry_append,
    .append_zeros = registry_append_zeros,
    .measured = registry_measured,
    .cancel = registry_cancel,
    .commit = registry_commit,
    .abort = registry_abort,
    .close = registry_close,
};
