/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/sink/disk_layer.h"

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/sink/tar_head.h"

#define FOLDER "disk/"
#define NAME_MAX_LEN 64

int
disk_layer_check_name(const char *name, struct error **err)
{
  if (!text_is_plain_name(name, NAME_MAX_LEN))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "'%.80s' cannot name the disk in an image: at most %d letters, digits, '.', "
                     "'_', '-'",
                     name, NAME_MAX_LEN);
  return 0;
}

void
disk_layer_head(const char *name, uint64_t size, struct buffer *head)
{
  CLEANUP(freep) char *path = xasprintf(FOLDER "%s", name);
  const struct tar_head folder = {.name = FOLDER, .mode = 0555, .owner = DISK_LAYER_OWNER};
  const struct tar_head disk = {
      .name = path, .mode = 0440, .owner = DISK_LAYER_OWNER, .size = size};
  tar_head_add(&folder, head);
  tar_head_add(&disk, head);
}

void
disk_layer_tail(uint64_t size, struct buffer *tail)
{
  tar_head_pad(size, tail);
  tar_head_end(tail);
}
