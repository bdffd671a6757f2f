/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/disk_stream.h"

#include "lib/base/memory.h"
#include "populator/source/tar.h"
#include "populator/source/verified_stream.h"

struct disk_stream {
  struct stream stream; /* its `below` is the archive, which `tar` owns */
  struct tar *tar;
  struct stream *proof;
  struct disk_search *search;
  bool is_checked; /* what stands behind the disk */
};

static struct disk_stream *
disk_of(struct stream *stream)
{
  return CONTAINER_OF(stream, struct disk_stream, stream);
}

/* Tells the search of all entries up to the disk, which *ret_entry is, or to the end. */
static int
look(struct tar *tar, struct disk_search *search, const struct tar_entry **ret_entry,
     struct error **err)
{
  const struct tar_entry *entry;
  bool is_disk = false;
  do {
    if (tar_next(tar, &entry, err) < 0)
      return -1;
    if (entry && disk_search_entry(search, entry, &is_disk, err) < 0)
      return -1;
  } while (entry && !is_disk);
  *ret_entry = entry;
  return 0;
}

/* Everything behind the disk. Once the archive has ended, what is left of a compressed layer need
 * not be decompressed for its digest. */
static int
check_rest(struct tar *tar, struct stream *proof, struct disk_search *search, struct error **err)
{
  const struct tar_entry *entry;
  if (look(tar, search, &entry, err) < 0 || disk_search_check(search, err) < 0)
    return -1;
  return proof ? verified_stream_drain(proof, err) : 0;
}

static ssize_t
disk_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct disk_stream *disk = disk_of(stream);
  ssize_t got = tar_read(disk->tar, buf, len, err);
  if (got < 0)
    return -1;
  if (tar_left(disk->tar) == 0 && !disk->is_checked) {
    if (check_rest(disk->tar, disk->proof, disk->search, err) < 0)
      return -1;
    disk->is_checked = true;
  }
  return got;
}

static int
disk_save(struct stream *stream, struct buffer *state, struct error **err)
{
  (void)err;
  struct disk_stream *disk = disk_of(stream);
  buffer_append_u32(state, disk->is_checked);
  tar_save(disk->tar, state);
  return 0;
}

static void
disk_close(struct stream *stream)
{
  struct disk_stream *disk = disk_of(stream);
  tar_free(disk->tar);
  free(disk);
}

static const struct stream_ops disk_ops = {
    .name = DISK_STREAM_NAME,
    .read = disk_read,
    .save = disk_save,
    .close = disk_close,
};

static struct disk_stream *
disk_new(struct tar *tar, const struct disk_layer *layer, struct disk_search *search)
{
  struct disk_stream *disk = xcalloc(1, sizeof(*disk));
  disk->stream = (struct stream){.ops = &disk_ops, .below = tar_below(tar)};
  disk->tar = tar;
  disk->proof = layer->proof;
  disk->search = search;
  return disk;
}

int
disk_stream_open(const struct disk_layer *layer, struct disk_search *search,
                 struct disk_place *ret_place, struct stream **ret_stream, struct error **err)
{
  CLEANUP(tar_freep) struct tar *tar = tar_new(layer->archive);
  const struct tar_entry *entry;
  if (look(tar, search, &entry, err) < 0)
    return -1;
  if (!entry) {
    if (layer->proof && verified_stream_drain(layer->proof, err) < 0)
      return -1;
    *ret_stream = NULL;
    return 0;
  }
  *ret_place = (struct disk_place){
      .offset = tar_position(tar), .size = entry->size, .is_sparse = entry->type == TAR_SPARSE};
  struct disk_stream *disk = disk_new(TAKE(tar), layer, search);
  *ret_stream = &disk->stream;
  return 0;
}

int
disk_stream_restore(const struct disk_layer *layer, struct disk_search *search,
                    struct wire_reader *state, struct stream **ret_stream, struct error **err)
{
  bool is_checked = wire_get_u32(state) != 0;
  struct tar *tar = tar_restore(layer->archive, state);
  if (!tar) {
    stream_close(layer->archive);
    return error_set(err, ERROR_DATA_LOSS, "the saved state of a stream is not one");
  }
  struct disk_stream *disk = disk_new(tar, layer, search);
  disk->is_checked = is_checked;
  *ret_stream = &disk->stream;
  return 0;
}

int
disk_stream_check_rest(const struct disk_layer *layer, uint64_t size, struct disk_search *search,
                       struct error **err)
{
  CLEANUP(tar_freep) struct tar *tar = tar_new(layer->archive);
  if (stream_skip(layer->archive, tar_padding(size), err) < 0)
    return -1;
  return check_rest(tar, layer->proof, search, err);
}
