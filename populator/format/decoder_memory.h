/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that decompressors take as a file asks for it: all of one stack of streams share one
 * limit, else compressions around each other would need the memory of an import several times over.
 * Decompressors of one stack may run in several threads. */
#ifndef POPULATOR_FORMAT_DECODER_MEMORY_H
#define POPULATOR_FORMAT_DECODER_MEMORY_H

#include <stddef.h>

#include "populator/source/stream.h"

/* The largest window of zstd, and what is common around or inside it. */
#define DECODER_MEMORY_MAX ((size_t)137 << 20)

struct decoder_memory;

/* What the decompressors below share, or a new one. */
struct decoder_memory *decoder_memory_join(struct stream *below);
void decoder_memory_leave(struct decoder_memory *memory);

/* What all decompressors of the stack have taken so far. */
size_t decoder_memory_taken(struct stream *top);

/* As malloc() and free(), for the libraries. NULL also when it would be too much in all. */
void *decoder_memory_take(struct decoder_memory *memory, size_t size);
void decoder_memory_give(struct decoder_memory *memory, void *taken);

/* Fails with why there was no memory; `name` is the compression. Returns -1. */
int decoder_memory_refuse(const struct decoder_memory *memory, const char *name,
                          struct error **err);

#endif
