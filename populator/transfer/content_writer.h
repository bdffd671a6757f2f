/* SPDX-License-Identifier: Apache-2.0 */
/* Turns pieces of content into writes that suit RBD: zeros are dropped, neighbours are put together
 * up to an object, large pieces are written from where they lie. Each worker has its own. */
#ifndef POPULATOR_TRANSFER_CONTENT_WRITER_H
#define POPULATOR_TRANSFER_CONTENT_WRITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/ceph/image_writer.h"
#include "populator/transfer/buffer_pool.h"
#include "populator/transfer/progress.h"

/* What pieces are gathered in: an object of RBD's default size. */
#define CONTENT_WRITER_BUFFER_BYTES ((size_t)4 << 20)
/* Gathered and under way at once, over all workers. */
#define CONTENT_WRITER_BUFFERS 20
/* Bytes of writes under way: some sixteen objects keep an OSD busy. */
#define IMPORT_BYTES_IN_FLIGHT ((size_t)64 << 20)

struct content_writer {
  struct image_writer *image;
  struct buffer_pool *pool;
  struct progress *progress;
  /* Each write adds one to *hold before it starts and calls release(context) when it is done. */
  atomic_uint *hold;
  void (*release)(void *context);
  void *context;

  struct pool_buffer *gathered; /* NULL: nothing */
  uint64_t offset;              /* of its first byte */
  size_t len;
};

void content_writer_init(struct content_writer *writer, struct image_writer *image,
                         struct buffer_pool *pool, struct progress *progress);
/* Drops what is gathered and not flushed. */
void content_writer_clear(struct content_writer *writer);

/* Content that lies in a buffer, which is held until it is written. */
int content_writer_plain(struct content_writer *writer, struct pool_buffer *buffer,
                         const char *data, size_t len, uint64_t offset, struct error **err);
/* Content that lies anywhere: it is copied. len is at most CONTENT_WRITER_BUFFER_BYTES. */
int content_writer_copy(struct content_writer *writer, const char *data, size_t len,
                        uint64_t offset, struct error **err);
/* Whether content at this offset goes next to what is gathered, or nothing is. */
bool content_writer_has_room(const struct content_writer *writer, uint64_t offset, size_t len);
/* Room for content; len is at most CONTENT_WRITER_BUFFER_BYTES. It must have been made when the
 * writer is asked for something else: for room at an offset that it has none for, too, because then
 * what is gathered is written. An error stays with the image writer. */
char *content_writer_place(struct content_writer *writer, uint64_t offset, size_t len);
/* Starts the writes of what is gathered. */
int content_writer_flush(struct content_writer *writer, struct error **err);

#endif
