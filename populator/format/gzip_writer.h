/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a gzip file through ISA-L, at a level that a core keeps up with a network at. The same
 * bytes in, the same bytes out: the header has no time and no name. One thread at a time. */
#ifndef POPULATOR_FORMAT_GZIP_WRITER_H
#define POPULATOR_FORMAT_GZIP_WRITER_H

#include <stddef.h>

#include "lib/base/error.h"

/* Takes a piece of the file. */
typedef int gzip_writer_take(void *context, const void *data, size_t len, struct error **err);

struct gzip_writer;

struct gzip_writer *gzip_writer_new(gzip_writer_take *take, void *context);
void gzip_writer_free(struct gzip_writer *writer);
DEFINE_CLEANUP(struct gzip_writer *, gzip_writer_free)

int gzip_writer_write(struct gzip_writer *writer, const void *data, size_t len, struct error **err);
/* The end of the file. */
int gzip_writer_finish(struct gzip_writer *writer, struct error **err);

#endif
