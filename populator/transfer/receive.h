/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that somebody sends, put into an RBD image as they come, without a look at what they are:
 * an upload that may break off anywhere and go on in another process. Zeros are left out. What is
 * in them is looked at when all are there, by an import from this image. */
#ifndef POPULATOR_TRANSFER_RECEIVE_H
#define POPULATOR_TRANSFER_RECEIVE_H

#include "lib/ceph/location.h"
#include "populator/transfer/progress.h"

struct receive_options {
  struct location *location;
  const char *image; /* name of the image, which is there; it is given the size */
  int fd;            /* where the bytes come from, until its end */
  uint64_t offset;   /* where the first of them belongs */
  uint64_t size;     /* of all that is sent; more is OUT_OF_RANGE */
  /* Its position is what is durable: bytes before it are in Ceph, whatever happens now. */
  struct progress *progress;
  /* Called when the image is open, before the first byte is read; may be NULL. */
  void (*on_ready)(void);
};

/* Returns at the end of what is sent; that may be before the size. What was behind the offset is
 * gone. UNAVAILABLE, at once, while another client has the image open: one that died has it for
 * half a minute, unless it was on this machine. An image that has got all of it is marked
 * (populator/source/rbd.h). */
int receive_run(const struct receive_options *options, struct error **err);

#endif
