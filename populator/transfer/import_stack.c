/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/import_stack.h"

#include <assert.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/wire.h"
#include "populator/format/unpack.h"
#include "populator/source/ahead_stream.h"
#include "populator/source/tar_disk.h"
#include "populator/transfer/checksum.h"
#include "populator/transfer/checksum_stream.h"
#include "populator/transfer/qcow2_content.h"
#include "populator/transfer/raw_content.h"

/* Taken off behind a tar archive's end, at most: records are padded, but not to this. */
#define BEHIND_ARCHIVE_MAX ((uint64_t)64 << 20)

/* What the content is made of, once all compressions are off. Takes `stream`. */
static int
open_content(struct stream *stream, const struct probe *probe, uint64_t raw_size,
             struct content_stream **ret_content, struct error **err)
{
  CLEANUP(stream_closep) struct stream *owned = stream;
  switch (probe->format) {
  case PROBE_QCOW2:
    return qcow2_content_new(TAKE(owned), ret_content, err);
  case PROBE_RAW:
    *ret_content = raw_content_new(TAKE(owned), raw_size);
    return 0;
  default:
    break;
  }
  if (!probe_is_foreign(probe->format)) {
    (void)probe_refuse(probe, err);
    return -1;
  }
  *ret_content = raw_content_new_file(TAKE(owned), 0);
  return 0;
}

static_assert(CONTENT_SIZE_UNKNOWN == SOURCE_SIZE_UNKNOWN, "one is given for the other");

int
import_stack_unwrap(struct stream *below, const char *path, struct stream **ret_inside,
                    struct probe *ret_probe, uint64_t *size, struct error **err)
{
  struct stream *inside;
  struct stream *disk;
  if (unpack_stream_new(below, &inside, ret_probe, err) < 0)
    return -1;
  if (ret_probe->format == PROBE_TAR) {
    if (tar_disk_stream_new(inside, path, &disk, size, err) < 0)
      return -1;
    below = disk;
    if (unpack_stream_new(disk, &inside, ret_probe, err) < 0)
      return -1;
  }
  /* A peek right on top means: nothing was taken off. */
  if (inside->below != below)
    *size = CONTENT_SIZE_UNKNOWN;
  *ret_inside = inside;
  return 0;
}

/* ---- a source that may have been cut off --------------------------------------------------------
 */

/* One that is only made of the bytes proves nothing. */
static bool
is_proof(const char *checksum)
{
  return checksum && strcmp(checksum, CHECKSUM_ASKED) != 0;
}

static struct stream *
fetched_of(const struct import_stack *stack)
{
  return stack->ahead ? stack->ahead : stack->counted;
}

static int
refuse_unproven(const struct source *source, const char *what, struct error **err)
{
  return error_set(err, ERROR_FAILED_PRECONDITION,
                   "%s: the server does not say where the file ends, and %s does not tell either, "
                   "so a broken transfer could not be told from a complete one: give --checksum, "
                   "or have the server send a Content-Length",
                   source->label, what);
}

/* Compressions and archives know where they end, and a qcow2 file where its clusters are. A disk as
 * it is knows nothing, and of foreign formats only qemu could say. */
static int
check_provable(const struct import_stack *stack, struct error **err)
{
  /* A peek right on top means: nothing was taken off. */
  bool is_wrapped = stack->content->below->below != fetched_of(stack);
  if (!stack->needs_proof || is_wrapped || stack->probe.format == PROBE_QCOW2)
    return 0;
  CLEANUP(freep) char *what = xasprintf("a %s image", stack->probe.name);
  return refuse_unproven(stack->source, what, err);
}

/* At the end. Of files that were compressed one by one and put behind each other, the last ones may
 * be missing, unless what is inside would have noticed. */
static int
check_proven(const struct import_stack *stack, struct error **err)
{
  struct stream *lowest = NULL; /* decompressor */
  bool is_in_archive = false;
  for (struct stream *at = stack->content->below; at && at != fetched_of(stack); at = at->below) {
    is_in_archive = is_in_archive || strcmp(at->ops->name, TAR_DISK_STREAM_NAME) == 0;
    lowest = at->ops->count ? at : lowest;
  }
  if (!stack->needs_proof || is_in_archive || stack->probe.format == PROBE_QCOW2 || !lowest ||
      lowest->ops->count(lowest) <= 1)
    return 0;
  CLEANUP(freep)
  char *what =
      xasprintf("a %s file of several parts, of which more could follow,", lowest->ops->name);
  return refuse_unproven(stack->source, what, err);
}

int
import_stack_open(struct source *source, const char *checksum, const char *path,
                  struct import_stack *ret_stack, struct error **err)
{
  struct stream *base;
  struct stream *ahead = NULL;
  struct stream *inside;
  struct probe probe;
  uint64_t raw_size = source->size;
  if (source->container)
    path = NULL;
  if (source->ops->stream(source, 0, &base, err) < 0)
    return -1;
  struct stream *counted = checksum_stream_new(base, checksum);
  if (!source->ops->restore)
    ahead = ahead_stream_new(counted);
  if (import_stack_unwrap(ahead ? ahead : counted, path, &inside, &probe, &raw_size, err) < 0)
    return -1;
  struct content_stream *content;
  if (open_content(inside, &probe, raw_size, &content, err) < 0)
    return -1;
  struct import_stack stack = {.source = source,
                               .content = content,
                               .counted = counted,
                               .ahead = ahead,
                               .probe = probe,
                               .needs_proof = source->is_end_unproven && !is_proof(checksum)};
  if (check_provable(&stack, err) < 0) {
    import_stack_close(&stack);
    return -1;
  }
  *ret_stack = stack;
  return 0;
}

/* The tar archive around the image, if that is compressed. */
static struct stream *
compressed_archive(const struct import_stack *stack)
{
  struct stream *at = stack->content->below;
  while (at && strcmp(at->ops->name, TAR_DISK_STREAM_NAME) != 0)
    at = at->below;
  /* A peek right on top of what is fetched means: nothing was taken off. */
  return at && at->below->below != fetched_of(stack) ? at->below : NULL;
}

/* A compression proves what was in it at its end, by a checksum and a length; whoever reads an
 * archive stops at the archive's. Little but padding stands between the two. */
static int
read_behind(struct stream *archive, struct error **err)
{
  char rest[65536];
  uint64_t len = 0;
  ssize_t n;
  while ((n = stream_read(archive, rest, sizeof(rest), err)) > 0) {
    len += (uint64_t)n;
    if (len > BEHIND_ARCHIVE_MAX)
      return error_set(err, ERROR_INVALID_ARGUMENT,
                       "more than %d MiB stand behind the end of the tar archive",
                       (int)(BEHIND_ARCHIVE_MAX >> 20));
  }
  return n < 0 ? -1 : 0;
}

int
import_stack_finish(struct import_stack *stack, struct error **err)
{
  struct stream *archive = compressed_archive(stack);
  if ((archive && read_behind(archive, err) < 0) || check_proven(stack, err) < 0)
    return -1;
  if (stack->ahead)
    ahead_stream_stop(stack->ahead);
  return checksum_stream_finish(stack->counted, err);
}

void
import_stack_close(struct import_stack *stack)
{
  content_stream_close(stack->content);
  *stack = (struct import_stack){0};
}

bool
import_stack_can_save(const struct import_stack *stack)
{
  return stack->content->ops->save && stream_can_save(stack->content->below);
}

/* "content name" NUL, its size, the length of its state, its state, the streams' states. */
int
import_stack_save(struct import_stack *stack, struct buffer *state, struct error **err)
{
  struct content_stream *content = stack->content;
  CLEANUP(buffer_clear) struct buffer own = {0};
  if (content->ops->save(content, &own, err) < 0)
    return -1;
  (void)buffer_append(state, content->ops->name, strlen(content->ops->name) + 1);
  buffer_append_u64(state, content->virtual_size);
  buffer_append_u64(state, own.len);
  (void)buffer_append(state, own.data, own.len);
  return stream_save(content->below, state, err);
}

/* ---- restoring ---------------------------------------------------------------------------------
 */

static int
broken(struct error **err)
{
  return error_set(err, ERROR_DATA_LOSS, "the saved state of the import is broken");
}

/* The text up to a NUL; NULL when there is none. */
static const char *
take_name(struct wire_reader *reader)
{
  const char *name = reader->at;
  size_t len = strnlen(name, reader->left);
  if (reader->failed || len == reader->left)
    return NULL;
  reader->at += len + 1;
  reader->left -= len + 1;
  return name;
}

static void
skip(struct wire_reader *reader, size_t len)
{
  reader->at += len;
  reader->left -= len;
}

/* Puts one stream back on *stream. */
static int
restore_one(struct wire_reader *reader, const char *checksum, struct stream **stream,
            struct import_stack *stack, struct error **err)
{
  size_t used = 0;
  struct stream *below = TAKE(*stream);
  const char *name = take_name(reader);
  if (!name) {
    stream_close(below);
    return broken(err);
  }
  int r;
  if (strcmp(name, CHECKSUM_STREAM_NAME) == 0) {
    r = checksum_stream_restore(below, checksum, reader->at, reader->left, &used, stream, err);
    if (r == 0)
      stack->counted = *stream;
  } else if (strcmp(name, AHEAD_STREAM_NAME) == 0) {
    r = ahead_stream_restore(below, reader->at, reader->left, &used, stream, err);
    if (r == 0)
      stack->ahead = *stream;
  } else if (strcmp(name, TAR_DISK_STREAM_NAME) == 0) {
    r = tar_disk_stream_restore(below, reader->at, reader->left, &used, stream, err);
  } else {
    r = unpack_stream_restore(below, name, reader->at, reader->left, &used, stream, err);
  }
  if (r == 0)
    skip(reader, used);
  return r;
}

/* The stream of the source itself: by its own means, or at the offset where it stood. */
static int
restore_source(struct source *source, struct wire_reader *reader, struct stream **ret_stream,
               struct error **err)
{
  if (source->ops->restore) {
    size_t used;
    if (source->ops->restore(source, reader->at, reader->left, &used, ret_stream, err) < 0)
      return -1;
    skip(reader, used);
    return 0;
  }
  if (!take_name(reader))
    return broken(err);
  uint64_t offset = wire_get_u64(reader);
  if (reader->failed || (offset > 0 && !source->can_resume))
    return broken(err);
  return source->ops->stream(source, offset, ret_stream, err);
}

static int
restore_streams(struct source *source, const char *checksum, struct wire_reader *reader,
                struct stream **ret_stream, struct import_stack *stack, struct error **err)
{
  CLEANUP(stream_closep) struct stream *stream = NULL;
  if (restore_source(source, reader, &stream, err) < 0)
    return -1;
  while (reader->left > 0) {
    if (restore_one(reader, checksum, &stream, stack, err) < 0)
      return -1;
  }
  if (!stack->counted)
    return broken(err);
  *ret_stream = TAKE(stream);
  return 0;
}

int
import_stack_restore(struct source *source, const char *checksum, const struct buffer *state,
                     struct import_stack *ret_stack, struct error **err)
{
  struct wire_reader reader = {.at = state->data, .left = state->len};
  const char *name = take_name(&reader);
  uint64_t size = wire_get_u64(&reader);
  uint64_t len = wire_get_u64(&reader);
  if (!name || reader.failed || len > reader.left)
    return broken(err);
  const char *own = reader.at;
  skip(&reader, (size_t)len);
  struct stream *stream;
  struct import_stack stack = {0};
  if (restore_streams(source, checksum, &reader, &stream, &stack, err) < 0)
    return -1;
  size_t used = 0;
  int r = strcmp(name, "qcow2") == 0
              ? qcow2_content_restore(stream, own, (size_t)len, &used, &stack.content, err)
              : raw_content_restore(stream, size, own, (size_t)len, &used, &stack.content, err);
  if (r < 0)
    return -1;
  *ret_stack = stack;
  return 0;
}
