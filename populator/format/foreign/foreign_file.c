/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/foreign/foreign_file.h"

#include <string.h>

#include "lib/base/lock.h"
#include "populator/format/bytes.h"

#define CACHE_BLOCKS 32
#define SECTOR_BYTES 512
/* More than any file has, and less than what qemu takes for an error. */
#define ENDLESS_BYTES ((uint64_t)1 << 60)

/* Of the header of a sparse vmdk. */
#define VMDK_FLAGS 8
#define VMDK_DIRECTORY 56
#define VMDK_COMPRESSED ((uint32_t)1 << 16)
#define VMDK_DIRECTORY_AT_END UINT64_MAX

/* What is found from the end is a footer, and a descriptor is as long as its file. */
static void
look_at_vmdk(struct foreign_file *file, const char *head)
{
  bool has_header = memcmp(head, "KDMV", 4) == 0;
  file->is_compressed = has_header && (bytes_le32(head + VMDK_FLAGS) & VMDK_COMPRESSED) != 0;
  file->is_endless = memcmp(head, "COWD", 4) == 0 ||
                     (has_header && bytes_le64(head + VMDK_DIRECTORY) != VMDK_DIRECTORY_AT_END);
}

int
foreign_file_init(struct foreign_file *file, struct source *source, const char *format,
                  struct error **err)
{
  char head[SECTOR_BYTES] = {0};
  size_t len = source->size < sizeof(head) ? (size_t)source->size : sizeof(head);
  *file = (struct foreign_file){.source = source, .has_looked = strcmp(format, "vmdk") != 0};
  (void)pthread_mutex_init(&file->mutex, NULL);
  file->cache = block_cache_new(source, CACHE_BLOCKS);
  if (len > 0 && block_cache_read(file->cache, head, len, 0, err) < 0)
    return -1;
  if (strcmp(format, "vmdk") == 0)
    look_at_vmdk(file, head);
  else
    file->is_endless = strcmp(format, "vdi") == 0 || strcmp(format, "qed") == 0;
  /* As qemu sees any file: a whole number of sectors, the last one filled up with zeros. Its NBD
   * client hangs on a server that has it otherwise. */
  file->size = file->is_endless ? ENDLESS_BYTES
                                : (source->size + SECTOR_BYTES - 1) / SECTOR_BYTES * SECTOR_BYTES;
  return 0;
}

void
foreign_file_clear(struct foreign_file *file)
{
  if (!file->cache)
    return;
  block_cache_free(file->cache);
  (void)pthread_mutex_destroy(&file->mutex);
  *file = (struct foreign_file){0};
}

/* The first thing that is read of a vmdk is what may be a descriptor: a MiB, be the file as short
 * as it may. */
static bool
is_look_for_descriptor(struct foreign_file *file, size_t len, uint64_t offset)
{
  MUTEX_GUARD(&file->mutex);
  if (offset != file->looked_to)
    file->has_looked = true;
  file->looked_to = offset + len;
  return !file->has_looked;
}

static int
check_end(struct foreign_file *file, size_t len, uint64_t offset, struct error **err)
{
  bool is_look = is_look_for_descriptor(file, len, offset);
  uint64_t end = (file->source->size + SECTOR_BYTES - 1) / SECTOR_BYTES * SECTOR_BYTES;
  if (is_look || !file->is_endless || offset + len <= end || (file->is_compressed && offset < end))
    return 0;
  return error_set(err, ERROR_DATA_LOSS,
                   "the file ends too early: it has %llu bytes, and says that more is at %llu",
                   (unsigned long long)file->source->size, (unsigned long long)offset);
}

int
foreign_file_read(void *context, void *buf, size_t len, uint64_t offset, struct error **err)
{
  struct foreign_file *file = context;
  uint64_t size = file->source->size;
  uint64_t left = offset < size ? size - offset : 0;
  size_t part = len < left ? len : (size_t)left;
  if (check_end(file, len, offset, err) < 0)
    return -1;
  memset((char *)buf + part, 0, len - part);
  return part > 0 ? block_cache_read(file->cache, buf, part, offset, err) : 0;
}
