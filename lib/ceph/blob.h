/* SPDX-License-Identifier: Apache-2.0 */
/* A small thing kept in the pool as one object: the checkpoint of an import. Written whole, in one
 * atomic step. */
#ifndef LIB_CEPH_BLOB_H
#define LIB_CEPH_BLOB_H

#include "lib/base/buffer.h"
#include "lib/ceph/location.h"

/* What an OSD takes in one write, with room to spare. */
#define BLOB_MAX_BYTES ((size_t)64 << 20)

int blob_write(struct location *location, const char *name, const void *data, size_t len,
               struct error **err);
/* NOT_FOUND when there is none. */
int blob_read(struct location *location, const char *name, struct buffer *ret_data,
              struct error **err);
/* Fine when there is none. */
int blob_remove(struct location *location, const char *name, struct error **err);

#endif
