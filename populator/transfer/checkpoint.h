/* SPDX-License-Identifier: Apache-2.0 */
/* How far an import has come, in a form that another process can go on from. It is read back from
 * the pool, so it is checked like everything else from outside: a record that does not fit is no
 * record, and the import starts from its beginning. */
#ifndef POPULATOR_TRANSFER_CHECKPOINT_H
#define POPULATOR_TRANSFER_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buffer.h"
#include "populator/transfer/checksum.h"

enum checkpoint_kind {
  CHECKPOINT_CHUNKS, /* a source that can be read anywhere: which chunks are done */
  CHECKPOINT_STREAM, /* one that is read front to back: the state of its streams */
  CHECKPOINT_SPOOL,  /* the same, and all that is left goes to a spool first: see there */
  CHECKPOINT_DONE,   /* all is written and proven; only the end is missing */
};

struct checkpoint {
  enum checkpoint_kind kind;
  char *identity; /* of the source; never NULL */
  uint64_t virtual_size;
  bool has_checksum;
  struct checksum checksum; /* of the bytes before `position` */
  uint64_t position;        /* bytes of the source that are done with */
  uint64_t chunk_bytes;     /* CHECKPOINT_CHUNKS: the size of a chunk */
  struct buffer state;      /* CHECKPOINT_STREAM: of the streams */
  struct buffer tail;       /* of an upload: its bytes behind that state */
};

void checkpoint_encode(const struct checkpoint *checkpoint, struct buffer *data);
/* False when it is not a whole and sound record. */
bool checkpoint_decode(const void *data, size_t len, struct checkpoint *ret_checkpoint);
void checkpoint_clear(struct checkpoint *checkpoint);

#endif
