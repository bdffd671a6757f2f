/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/import_disk.h"

#include "lib/base/memory.h"
#include "populator/format/foreign/foreign_source.h"
#include "populator/transfer/qcow2_layout.h"
#include "populator/transfer/raw_layout.h"

int
import_disk_probe(struct source *file, struct probe *ret_probe, struct error **err)
{
  size_t len = file->size < PROBE_BYTES ? (size_t)file->size : PROBE_BYTES;
  CLEANUP(freep) char *bytes = xcalloc(len + 1, 1);
  if (len > 0 && file->ops->read_at(file, bytes, len, 0, err) < 0)
    return -1;
  probe_bytes(bytes, len, ret_probe);
  return 0;
}

/* A raw disk, or a VHD of fixed size: that is one with a footer. */
static int
open_raw(struct source *file, struct import_disk *disk, struct error **err)
{
  char footer[PROBE_FOOTER_BYTES];
  disk->layout = raw_layout_new(file);
  if (file->size <= sizeof(footer))
    return 0;
  if (file->ops->read_at(file, footer, sizeof(footer), file->size - sizeof(footer), err) < 0)
    return -1;
  if (probe_is_vhd_footer(footer, sizeof(footer))) {
    disk->layout->virtual_size -= sizeof(footer);
    disk->format = "vhd";
  }
  return 0;
}

/* What qemu calls it. */
static const char *
qemu_name(const struct probe *probe)
{
  return probe->format == PROBE_VHD ? "vpc" : probe->name;
}

static int
open_foreign(struct source *file, const struct probe *probe, struct foreign_helper *helper,
             struct import_disk *disk, struct error **err)
{
  if (!helper)
    return error_set(err, ERROR_UNIMPLEMENTED, "a %s image cannot be read without qemu-nbd",
                     probe->name);
  if (foreign_source_open(helper, file, qemu_name(probe), &disk->decoded, err) < 0)
    return -1;
  disk->source = disk->decoded;
  disk->layout = raw_layout_new(disk->decoded);
  return 0;
}

int
import_disk_open(struct source *file, const struct probe *probe, struct foreign_helper *helper,
                 unsigned workers, struct import_disk *ret_disk, struct error **err)
{
  struct import_disk disk = {.source = file, .format = probe->name};
  int r;
  if (probe->format == PROBE_QCOW2)
    r = qcow2_layout_open(file, workers, &disk.layout, err);
  else if (probe->format == PROBE_RAW)
    r = open_raw(file, &disk, err);
  else if (probe_is_foreign(probe->format))
    r = open_foreign(file, probe, helper, &disk, err);
  else
    r = probe_refuse(probe, err);
  if (r < 0) {
    import_disk_close(&disk);
    return -1;
  }
  *ret_disk = disk;
  return 0;
}

void
import_disk_close(struct import_disk *disk)
{
  layout_close(disk->layout);
  source_close(disk->decoded);
  *disk = (struct import_disk){0};
}
