/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/tar_disk.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/wire.h"
#include "populator/source/disk_search.h"
#include "populator/source/disk_stream.h"

struct tar_disk {
  struct stream stream; /* its `below` is the archive, which `disk` owns */
  struct disk_search *search;
  struct stream *disk;
};

static struct tar_disk *
tar_disk_of(struct stream *stream)
{
  return CONTAINER_OF(stream, struct tar_disk, stream);
}

static ssize_t
tar_disk_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  return stream_read(tar_disk_of(stream)->disk, buf, len, err);
}

/* What was looked for, what was found, and how far it was read. */
static int
tar_disk_save(struct stream *stream, struct buffer *state, struct error **err)
{
  struct tar_disk *disk = tar_disk_of(stream);
  const char *const texts[] = {disk_search_place(disk->search), disk_search_path(disk->search)};
  for (size_t i = 0; i < 2; i++) {
    buffer_append_u32(state, (uint32_t)strlen(texts[i]));
    (void)buffer_append_text(state, texts[i]);
  }
  return disk->disk->ops->save(disk->disk, state, err);
}

static void
tar_disk_close(struct stream *stream)
{
  struct tar_disk *disk = tar_disk_of(stream);
  stream_close(disk->disk);
  disk_search_free(disk->search);
  free(disk);
}

static const struct stream_ops tar_disk_ops = {
    .name = TAR_DISK_STREAM_NAME,
    .read = tar_disk_read,
    .save = tar_disk_save,
    .close = tar_disk_close,
};

/* Takes both. */
static struct stream *
tar_disk_make(struct disk_search *search, struct stream *disk)
{
  struct tar_disk *made = xcalloc(1, sizeof(*made));
  made->stream = (struct stream){.ops = &tar_disk_ops, .below = disk->below};
  made->search = search;
  made->disk = disk;
  return &made->stream;
}

int
tar_disk_stream_new(struct stream *below, const char *path, struct stream **ret_stream,
                    uint64_t *ret_size, struct error **err)
{
  CLEANUP(disk_search_freep) struct disk_search *search = disk_search_new(path ? path : "");
  const struct disk_layer layer = {.archive = below};
  struct disk_place place;
  struct stream *disk;
  enum disk_search_step step;
  if (disk_stream_open(&layer, search, &place, &disk, err) < 0)
    return -1;
  if (!disk) {
    /* A link may lead to a file that has passed: this cannot be read again. */
    if (disk_search_layer_end(search, true, &step, err) < 0)
      return -1;
    return error_set(err, ERROR_UNIMPLEMENTED,
                     "the tar archive has links where the disk should be");
  }
  *ret_size = place.size;
  *ret_stream = tar_disk_make(TAKE(search), disk);
  return 0;
}

static int
restore(struct stream *below, struct wire_reader *state, struct stream **ret_stream,
        struct error **err)
{
  CLEANUP(stream_closep) struct stream *owned = below;
  CLEANUP(freep) char *place = wire_get_string(state);
  CLEANUP(freep) char *path = wire_get_string(state);
  if (state->failed)
    return error_set(err, ERROR_DATA_LOSS, "the saved state of a stream is not one");
  CLEANUP(disk_search_freep) struct disk_search *search = disk_search_new(place);
  const struct disk_layer layer = {.archive = TAKE(owned)};
  struct stream *disk;
  disk_search_found(search, path);
  if (disk_stream_restore(&layer, search, state, &disk, err) < 0)
    return -1;
  *ret_stream = tar_disk_make(TAKE(search), disk);
  return 0;
}

int
tar_disk_stream_restore(struct stream *below, const void *state, size_t len, size_t *ret_used,
                        struct stream **ret_stream, struct error **err)
{
  struct wire_reader reader = {.at = state, .left = len};
  if (restore(below, &reader, ret_stream, err) < 0)
    return -1;
  *ret_used = len - reader.left;
  return 0;
}
