/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/tar_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/memory.h"
#include "populator/source/image_path.h"

/* An image has some files a layer. */
#define ENTRIES_MAX 100000
#define FOLLOWED_MAX 8

struct tar_file {
  int fd;
  char *path;
  struct tar_file_entry *entries; /* sorted by path; of one that is there twice the last counts */
  size_t count;
};

/* ---- streams -----------------------------------------------------------------------------------
 */

struct region_stream {
  struct stream stream;
  struct stream_ops ops; /* of its own, for its name */
  const struct tar_file *file;
  uint64_t begin; /* in the file */
  uint64_t position;
  uint64_t size;
};

static struct region_stream *
region_of(struct stream *stream)
{
  return CONTAINER_OF(stream, struct region_stream, stream);
}

/* Exactly len bytes. */
static int
read_exactly(const struct tar_file *file, void *buf, size_t len, uint64_t offset,
             struct error **err)
{
  for (size_t done = 0; done < len;) {
    ssize_t got = pread(file->fd, (char *)buf + done, len - done, (off_t)(offset + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return error_set_errno(err, errno, "read '%s'", file->path);
    if (got == 0)
      return error_set(err, ERROR_DATA_LOSS, "'%s' is cut off", file->path);
    done += (size_t)got;
  }
  return 0;
}

static ssize_t
region_read(struct stream *stream, void *buf, size_t len, struct error **err)
{
  struct region_stream *region = region_of(stream);
  if (region->size - region->position < len)
    len = (size_t)(region->size - region->position);
  if (read_exactly(region->file, buf, len, region->begin + region->position, err) < 0)
    return -1;
  region->position += len;
  return (ssize_t)len;
}

static int
region_skip(struct stream *stream, uint64_t len, struct error **err)
{
  struct region_stream *region = region_of(stream);
  if (region->size - region->position < len)
    return error_set(err, ERROR_DATA_LOSS, "'%s' is cut off", region->file->path);
  region->position += len;
  return 0;
}

static int
region_save(struct stream *stream, struct buffer *state, struct error **err)
{
  (void)err;
  buffer_append_u64(state, region_of(stream)->position);
  return 0;
}

static void
region_close(struct stream *stream)
{
  free(region_of(stream));
}

static struct stream *
region_new(const struct tar_file *file, const char *name, uint64_t begin, uint64_t size,
           uint64_t offset)
{
  struct region_stream *region = xcalloc(1, sizeof(*region));
  region->ops = (struct stream_ops){
      .name = name,
      .read = region_read,
      .save = region_save,
      .skip = region_skip,
      .close = region_close,
  };
  region->stream.ops = &region->ops;
  region->file = file;
  region->begin = begin;
  region->size = size;
  region->position = offset < size ? offset : size;
  return &region->stream;
}

struct stream *
tar_file_stream(const struct tar_file *file, const struct tar_file_entry *entry,
                const char *name_of_stream, uint64_t offset)
{
  return region_new(file, name_of_stream, entry->offset, entry->size, offset);
}

int
tar_file_read_at(const struct tar_file *file, const struct tar_file_entry *entry, void *buf,
                 size_t len, uint64_t offset, struct error **err)
{
  return read_exactly(file, buf, len, entry->offset + offset, err);
}

int
tar_file_read(const struct tar_file *file, const struct tar_file_entry *entry, size_t max,
              struct buffer *ret_content, struct error **err)
{
  if (entry->size > max)
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "'%s' in '%s' is larger than %zu bytes",
                     entry->path, file->path, max);
  CLEANUP(freep) char *data = xcalloc(entry->size + 1, 1);
  if (read_exactly(file, data, entry->size, entry->offset, err) < 0)
    return -1;
  *ret_content = (struct buffer){.len = entry->size, .room = entry->size + 1};
  ret_content->data = TAKE(data);
  return 0;
}

/* ---- the index ---------------------------------------------------------------------------------
 */

static int
add_entry(struct tar_file *file, const struct tar_entry *entry, uint64_t offset, struct error **err)
{
  bool is_link = entry->type == TAR_SYMLINK || entry->type == TAR_HARDLINK;
  if (entry->type != TAR_FILE && !is_link)
    return 0;
  if (file->count >= ENTRIES_MAX)
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "'%s' has more than %d entries", file->path,
                     ENTRIES_MAX);
  size_t count = file->count;
  if ((count & (count - 1)) == 0) /* powers of two */
    file->entries = xrealloc(file->entries, count > 0 ? count * 2 : 1, sizeof(file->entries[0]));
  struct tar_file_entry added = {
      .path = xstrdup(entry->path), .offset = offset, .size = entry->size};
  if (entry->type == TAR_HARDLINK)
    added.link = xstrdup(entry->link);
  else if (is_link)
    added.link = image_path_follow(entry->path, entry->link);
  file->entries[file->count++] = added;
  return 0;
}

/* By path, and the later one of two with the same path first. */
static int
compare(const void *a, const void *b)
{
  const struct tar_file_entry *x = a, *y = b;
  int order = strcmp(x->path, y->path);
  return order != 0 ? order : (x->offset < y->offset) - (x->offset > y->offset);
}

static int
read_index(struct tar_file *file, uint64_t size, struct error **err)
{
  CLEANUP(tar_freep) struct tar *tar = tar_new(region_new(file, "file", 0, size, 0));
  const struct tar_entry *entry;
  do {
    if (tar_next(tar, &entry, err) < 0)
      return error_wrap(err, "'%s'", file->path);
    if (entry && add_entry(file, entry, tar_position(tar), err) < 0)
      return -1;
  } while (entry);
  if (file->count > 0)
    qsort(file->entries, file->count, sizeof(file->entries[0]), compare);
  return 0;
}

/* An archive is read at many places, which only a plain one allows. */
static int
check_plain(const struct tar_file *file, struct error **err)
{
  static const struct {
    const char *magic;
    size_t len;
    const char *name;
  } kinds[] = {{"\x1f\x8b", 2, "gzip"},
               {"\x28\xb5\x2f\xfd", 4, "zstd"},
               {"\xfd"
                "7zXZ",
                5, "xz"},
               {"BZh", 3, "bzip2"}};
  char begin[8] = {0};
  ssize_t got = pread(file->fd, begin, sizeof(begin), 0);
  for (size_t i = 0; got > 0 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
    if (memcmp(begin, kinds[i].magic, kinds[i].len) == 0)
      return error_set(err, ERROR_UNIMPLEMENTED,
                       "'%s' is compressed, and an archive of images must not be: decompress it "
                       "first (%s -d)",
                       file->path, kinds[i].name);
  }
  return 0;
}

int
tar_file_open(const char *path, struct tar_file **ret_file, struct error **err)
{
  CLEANUP(tar_file_closep) struct tar_file *file = xcalloc(1, sizeof(*file));
  struct stat status;
  file->path = xstrdup(path);
  file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (file->fd < 0 || fstat(file->fd, &status) < 0)
    return error_set_errno(err, errno, "open '%s'", path);
  if (!S_ISREG(status.st_mode))
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%s' is not a file", path);
  if (check_plain(file, err) < 0 || read_index(file, (uint64_t)status.st_size, err) < 0)
    return -1;
  *ret_file = TAKE(file);
  return 0;
}

void
tar_file_close(struct tar_file *file)
{
  if (!file)
    return;
  for (size_t i = 0; i < file->count; i++) {
    free(file->entries[i].path);
    free(file->entries[i].link);
  }
  free(file->entries);
  if (file->fd >= 0)
    (void)close(file->fd);
  free(file->path);
  free(file);
}

/* The first of those with this path. */
static const struct tar_file_entry *
find_one(const struct tar_file *file, const char *path)
{
  size_t low = 0, high = file->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (strcmp(file->entries[middle].path, path) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low < file->count && strcmp(file->entries[low].path, path) == 0 ? &file->entries[low]
                                                                         : NULL;
}

const struct tar_file_entry *
tar_file_find(const struct tar_file *file, const char *path)
{
  CLEANUP(freep) char *clean = image_path_clean(path);
  const struct tar_file_entry *entry = find_one(file, clean);
  for (unsigned i = 0; i < FOLLOWED_MAX && entry && entry->link; i++)
    entry = find_one(file, entry->link);
  return entry && !entry->link ? entry : NULL;
}
