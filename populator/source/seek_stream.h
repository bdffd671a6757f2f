/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of a source that can be read anywhere, for those that have nothing better. */
#ifndef POPULATOR_SOURCE_SEEK_STREAM_H
#define POPULATOR_SOURCE_SEEK_STREAM_H

#include "populator/source/source.h"

/* A member of the ops table. */
int seek_stream_open(struct source *source, uint64_t offset, struct stream **ret_stream,
                     struct error **err);

#endif
