/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/receive.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/formatting_mark.h"
#include "lib/ceph/header.h"
#include "lib/ceph/image_change.h"
#include "lib/ceph/image_writer.h"
#include "populator/format/zero.h"
#include "populator/source/rbd.h"
#include "populator/transfer/import_owner.h"

/* A piece ends where a multiple of that does, so it never crosses an object. */
#define PIECE_BYTES ((size_t)1 << 20)
#define BYTES_IN_FLIGHT ((size_t)16 << 20)
/* How often what was sent is made sure of. */
#define SETTLE_MS 1000
#define WAIT_MS 250

struct receiving {
  const struct receive_options *options;
  struct image_writer *writer;
  uint64_t position; /* of the next byte */
  char *piece;       /* what was read and is not written yet … */
  size_t len;
  bool is_over;
};

static void
on_written(void *context)
{
  free(context);
}

/* Nothing is behind the position in the image, so zeros need not be written. */
static int
submit(struct receiving *r, struct error **err)
{
  if (r->len == 0)
    return 0;
  if (zero_is_all(r->piece, r->len)) {
    r->position += r->len;
    r->len = 0; /* the memory serves again */
    return 0;
  }
  if (image_writer_submit(r->writer, r->piece, r->len, r->position, on_written, r->piece) < 0)
    return image_writer_check(r->writer, err);
  r->position += r->len;
  r->piece = NULL;
  r->len = 0;
  return 0;
}

static int
settle(struct receiving *r, struct error **err)
{
  if (submit(r, err) < 0 || image_writer_drain(r->writer, err) < 0)
    return -1;
  atomic_store(&r->options->progress->position, r->position);
  return 0;
}

/* Some bytes, or none when none came for a moment. */
static int
read_some(struct receiving *r, struct error **err)
{
  struct pollfd waiting = {.fd = r->options->fd, .events = POLLIN};
  size_t room = PIECE_BYTES - (r->position + r->len) % PIECE_BYTES;
  if (poll(&waiting, 1, WAIT_MS) <= 0)
    return 0;
  if (!r->piece)
    r->piece = xcalloc(1, PIECE_BYTES);
  ssize_t got = read(r->options->fd, r->piece + r->len, room);
  if (got < 0 && errno != EINTR && errno != EAGAIN)
    return error_set_errno(err, errno, "read what is sent");
  r->is_over = got == 0;
  r->len += got > 0 ? (size_t)got : 0;
  atomic_fetch_add(&r->options->progress->fetched, got > 0 ? (uint64_t)got : 0);
  if (r->position + r->len > r->options->size)
    return error_set(err, ERROR_OUT_OF_RANGE, "more than the %" PRIu64 " bytes that were announced",
                     r->options->size);
  return 0;
}

static int
take_all(struct receiving *r, struct error **err)
{
  int64_t settle_at_ms = clock_now_ms() + SETTLE_MS;
  while (!r->is_over) {
    if (atomic_load(&r->options->progress->is_cancelled))
      return error_set(err, ERROR_CANCELLED, "stopped");
    if (read_some(r, err) < 0)
      return -1;
    bool is_full = r->len > 0 && (r->position + r->len) % PIECE_BYTES == 0;
    if (is_full && submit(r, err) < 0)
      return -1;
    if (clock_now_ms() >= settle_at_ms) {
      if (settle(r, err) < 0)
        return -1;
      settle_at_ms = clock_now_ms() + SETTLE_MS;
    }
  }
  return settle(r, err);
}

/* Nobody else is at it, and those to come know who is. It is not complete any more. */
static int
take_over(const struct receive_options *options, const char *id, struct error **err)
{
  struct location *location = options->location;
  struct header header;
  struct string_map set = {0}, remove = {0};
  CLEANUP(freep) char *self = import_owner_text(location->cluster);
  if (header_read(location, id, &header, err) < 0)
    return -1;
  string_map_set(&set, IMPORT_OWNER_KEY, self);
  if (string_map_get(&header.metadata, RBD_SOURCE_RECEIVED_KEY))
    string_map_set(&remove, RBD_SOURCE_RECEIVED_KEY, "");
  formatting_mark_list(&remove);
  int r = import_owner_check(location, options->image, id, &header.metadata, err);
  if (r == 0)
    r = header_update_metadata(location, id, &set, &remove, err);
  header_clear(&header);
  string_map_clear(&set);
  string_map_clear(&remove);
  return r;
}

/* From now on nobody writes to it. */
static int
mark_complete(const struct receive_options *options, const char *id, struct error **err)
{
  struct string_map set = {0}, remove = {0};
  string_map_set(&set, RBD_SOURCE_RECEIVED_KEY, id);
  string_map_set(&remove, IMPORT_OWNER_KEY, "");
  int r = header_update_metadata(options->location, id, &set, &remove, err);
  string_map_clear(&set);
  string_map_clear(&remove);
  return r;
}

/* As large as it is to be, with nothing behind the offset: neither of another file that was sent
 * before, nor of this one by somebody who died before it was acknowledged. */
static int
make_room(const struct receive_options *options, struct image *image, struct error **err)
{
  if (image_grow(image, options->offset, err) < 0 || image_cut(image, options->offset, err) < 0)
    return -1;
  return image_grow(image, options->size, err);
}

int
receive_run(const struct receive_options *options, struct error **err)
{
  CLEANUP(freep) char *id = NULL;
  CLEANUP(image_closep) struct image *image = NULL;
  if (directory_id_of(options->location, options->image, &id, err) < 0 ||
      take_over(options, id, err) < 0 || image_open(options->location, id, &image, err) < 0 ||
      make_room(options, image, err) < 0)
    return -1;
  atomic_store(&options->progress->total, options->size);
  atomic_store(&options->progress->position, options->offset);
  if (options->on_ready)
    options->on_ready();
  CLEANUP(image_writer_freep)
  struct image_writer *writer = image_writer_new(image, BYTES_IN_FLIGHT);
  struct receiving r = {.options = options, .writer = writer, .position = options->offset};
  int result = take_all(&r, err);
  (void)image_writer_drain(writer, NULL);
  free(r.piece);
  if (result == 0 && r.position == options->size)
    result = mark_complete(options, id, err);
  return result;
}
