/* SPDX-License-Identifier: Apache-2.0 */
/* Writes data to an image from any number of threads: asynchronously, with a bound on what is under
 * way. A write that is done is durable on the OSDs. */
#ifndef LIB_CEPH_IMAGE_WRITER_H
#define LIB_CEPH_IMAGE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/ceph/image.h"

struct image_writer;

/* Images that are opened on this location's connection from now on hand data over without a copy of
 * it: half the memory, and a tenth of the processor time of an import. It has a price: a write that
 * librbd refuses because the image's lock is lost, after the cluster has blocklisted us, never
 * returns, and neither does closing the image. So when nothing is answered for some time, writers
 * find out why and call `on_stuck` from a thread of theirs, which must end the process. Only for
 * processes that can be ended. */
void image_writer_hand_over(struct location *location, void (*on_stuck)(const struct error *err));

/* At most max_bytes are under way. The image stays the caller's and must outlive the writer. */
struct image_writer *image_writer_new(struct image *image, size_t max_bytes);
/* Everything submitted must be done: image_writer_drain(). */
void image_writer_free(struct image_writer *writer);
DEFINE_CLEANUP(struct image_writer *, image_writer_free)

/* Called from a librbd thread when the data is written or has failed; must not block. Which of the
 * two it was, image_writer_check() knows by then. */
typedef void image_written(void *context);

/* Waits while too much is under way, then starts the write. The data must stay as it is until
 * done() was called, which happens exactly once if 0 is returned. -1, with nothing started, when an
 * earlier write failed. */
int image_writer_submit(struct image_writer *writer, const void *data, size_t len, uint64_t offset,
                        image_written *done, void *context);
/* Waits until nothing is under way. The error is that of the first write that failed. */
int image_writer_drain(struct image_writer *writer, struct error **err);
/* The error of the first write that failed, if any did. Whoever notes down what is written asks
 * here behind the last done(): a write that failed is done, too. */
int image_writer_check(struct image_writer *writer, struct error **err);

#endif
