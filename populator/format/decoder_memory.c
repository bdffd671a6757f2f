/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/decoder_memory.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "lib/base/memory.h"

struct decoder_memory {
  atomic_uint users;
  atomic_size_t taken;
  atomic_bool was_too_much;
};

static struct decoder_memory *
find(struct stream *stream)
{
  struct decoder_memory *memory = NULL;
  for (; stream && !memory; stream = stream->below)
    memory = stream->ops->memory ? stream->ops->memory(stream) : NULL;
  return memory;
}

size_t
decoder_memory_taken(struct stream *top)
{
  const struct decoder_memory *memory = find(top);
  return memory ? atomic_load(&memory->taken) : 0;
}

struct decoder_memory *
decoder_memory_join(struct stream *below)
{
  struct decoder_memory *memory = find(below);
  if (!memory)
    memory = xcalloc(1, sizeof(*memory));
  atomic_fetch_add(&memory->users, 1);
  return memory;
}

void
decoder_memory_leave(struct decoder_memory *memory)
{
  if (memory && atomic_fetch_sub(&memory->users, 1) == 1)
    free(memory);
}

void *
decoder_memory_take(struct decoder_memory *memory, size_t size)
{
  size_t before = atomic_fetch_add(&memory->taken, size);
  bool is_too_much = size > DECODER_MEMORY_MAX || before > DECODER_MEMORY_MAX - size;
  if (is_too_much)
    atomic_store(&memory->was_too_much, true);
  void *taken = is_too_much ? NULL : malloc(size);
  /* What is given back is counted by what malloc() has really taken. */
  atomic_fetch_add(&memory->taken, (taken ? malloc_usable_size(taken) : 0) - size);
  return taken;
}

void
decoder_memory_give(struct decoder_memory *memory, void *taken)
{
  if (!taken)
    return;
  atomic_fetch_sub(&memory->taken, malloc_usable_size(taken));
  free(taken);
}

int
decoder_memory_refuse(const struct decoder_memory *memory, const char *name, struct error **err)
{
  if (!atomic_load(&memory->was_too_much))
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "%s: no memory", name);
  return error_set(err, ERROR_RESOURCE_EXHAUSTED,
                   "%s: unpacked, the compressions around each other need more than %zu MiB of "
                   "memory together, which is the limit: pack it again with a smaller window",
                   name, DECODER_MEMORY_MAX >> 20);
}
