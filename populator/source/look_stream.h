/* SPDX-License-Identifier: Apache-2.0 */
/* A stream whose first bytes were looked at, and which gives them all the same. To whoever saves
 * the stack it is the stream below it, in every respect. */
#ifndef POPULATOR_SOURCE_LOOK_STREAM_H
#define POPULATOR_SOURCE_LOOK_STREAM_H

#include "populator/source/stream.h"

#define LOOK_STREAM_BYTES ((size_t)512)

/* Of what was looked at. */
struct look {
  char bytes[LOOK_STREAM_BYTES];
  size_t len; /* less only where the stream has no more */
};

/* `below` stands at its first byte, and is saved as its position in 64 bits. Takes it, also when it
 * fails. */
int look_stream_new(struct stream *below, const char *name, struct look *ret_look,
                    struct stream **ret_stream, struct error **err);

#endif
