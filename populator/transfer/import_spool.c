/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/import_spool.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/image_writer.h"
#include "populator/format/qcow2_spool.h"
#include "populator/source/rbd.h"

/* Of what is taken over, on the way. */
#define BYTES_IN_FLIGHT ((size_t)16 << 20)

struct import_spool {
  struct target *image;
  const char *identity;
  struct checkpoint checkpoint; /* where an earlier process got to */
};

void
import_spool_close(struct import_spool *spool)
{
  if (!spool)
    return;
  target_close(spool->image);
  checkpoint_clear(&spool->checkpoint);
  free(spool);
}

int
import_spool_open(struct target *target, const struct import_spool_options *options,
                  struct import_spool **ret_spool, struct error **err)
{
  CLEANUP(import_spool_closep) struct import_spool *spool = xcalloc(1, sizeof(*spool));
  const struct target_options image = {
      .name = target_spool_name(target),
      .layout = options->layout,
      .source_label = options->source_label,
      .identity = options->is_anew ? NULL : options->identity,
      .virtual_size = TARGET_SIZE_UNKNOWN,
  };
  spool->identity = options->identity;
  if (target_open(target_location(target), &image, &spool->image, &spool->checkpoint, err) < 0)
    return error_wrap(err, "temporary image");
  *ret_spool = TAKE(spool);
  return 0;
}

int
import_spool_discard(struct import_spool *spool, struct error **err)
{
  if (!spool)
    return 0;
  int r = target_discard(TAKE(spool->image), err);
  import_spool_close(spool);
  return r < 0 ? error_wrap(err, "remove the temporary image") : 0;
}

const struct checkpoint *
import_spool_state(const struct import_spool *spool)
{
  bool has_state = spool->checkpoint.identity && spool->checkpoint.kind == CHECKPOINT_STREAM &&
                   spool->checkpoint.state.len > 0;
  return has_state ? &spool->checkpoint : NULL;
}

const struct checkpoint *
import_spool_end(const struct import_spool *spool)
{
  bool is_complete = spool->checkpoint.identity && spool->checkpoint.kind == CHECKPOINT_DONE;
  return is_complete ? &spool->checkpoint : NULL;
}

struct target *
import_spool_target(struct import_spool *spool)
{
  return spool->image;
}

/* ---- what a qcow2 stream leaves ----------------------------------------------------------------
 */

struct taking_over {
  struct target *image;
  struct image_writer *writer;
};

static void
on_written(void *context)
{
  free(context);
}

static int
write_at(void *context, const void *buf, size_t len, uint64_t offset, struct error **err)
{
  const struct taking_over *taking = context;
  if (target_make_room(taking->image, offset + len, err) < 0)
    return -1;
  char *copy = xcalloc(1, len);
  memcpy(copy, buf, len);
  if (image_writer_submit(taking->writer, copy, len, offset, on_written, copy) < 0) {
    free(copy);
    return image_writer_check(taking->writer, err);
  }
  return 0;
}

int
import_spool_take_over(struct import_spool *spool, struct qcow2_stream *stream,
                       uint64_t *ret_offset, struct error **err)
{
  struct taking_over taking = {.image = spool->image,
                               .writer =
                                   image_writer_new(target_image(spool->image), BYTES_IN_FLIGHT)};
  const struct qcow2_spool writer = {.write_at = write_at, .context = &taking};
  int r = qcow2_spool_write(stream, &writer, ret_offset, err);
  if (image_writer_drain(taking.writer, r < 0 ? NULL : err) < 0)
    r = -1;
  image_writer_free(taking.writer);
  return r;
}

/* ---- reading it --------------------------------------------------------------------------------
 */

int
import_spool_complete(struct import_spool *spool, uint64_t size, const struct checksum *checksum,
                      struct error **err)
{
  checkpoint_clear(&spool->checkpoint);
  spool->checkpoint =
      (struct checkpoint){.kind = CHECKPOINT_DONE,
                          .identity = xstrdup(spool->identity ? spool->identity : ""),
                          .position = size,
                          .has_checksum = checksum != NULL};
  if (checksum)
    spool->checkpoint.checksum = *checksum;
  if (target_make_room(spool->image, size, err) < 0)
    return -1;
  return spool->identity ? target_save(spool->image, &spool->checkpoint, err) : 0;
}

int
import_spool_source(struct import_spool *spool, const char *label, struct source **ret_source,
                    struct error **err)
{
  if (rbd_source_open(target_location(spool->image), target_name(spool->image), NULL, ret_source,
                      err) < 0)
    return error_wrap(err, "temporary image");
  free((*ret_source)->label);
  (*ret_source)->label = xstrdup(label);
  (*ret_source)->size = spool->checkpoint.position;
  return 0;
}
