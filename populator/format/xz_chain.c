/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/xz_chain.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"

#define FILTERS_MAX (LZMA_FILTERS_MAX - 1) /* and LZMA2 */
#define BUFFER_BYTES ((size_t)64 << 10)
#define HELD_MAX (FILTERS_MAX * XZ_FILTER_HELD_MAX)

struct xz_chain {
  size_t count;
  struct xz_filter filters[FILTERS_MAX]; /* the one next to LZMA2 first */
  size_t done[FILTERS_MAX];              /* bytes of the buffer that each has undone */
  size_t len;                            /* bytes that LZMA2 has put there */
  size_t given;                          /* that were read */
  uint8_t bytes[BUFFER_BYTES];
};

static size_t
count_of(const lzma_filter *filters)
{
  size_t count = 0;
  while (filters[count].id != LZMA_VLI_UNKNOWN)
    count++;
  return count;
}

const lzma_filter *
xz_chain_last(const lzma_filter *filters)
{
  return &filters[count_of(filters) - 1];
}

bool
xz_chain_is_known(const lzma_filter *filters)
{
  const lzma_filter *last = xz_chain_last(filters);
  for (const lzma_filter *filter = filters; filter < last; filter++) {
    if (!xz_filter_is_known(filter))
      return false;
  }
  return last->id == LZMA_FILTER_LZMA2;
}

struct xz_chain *
xz_chain_new(const lzma_filter *filters)
{
  size_t count = count_of(filters) - 1;
  if (count == 0)
    return NULL;
  struct xz_chain *chain = xcalloc(1, sizeof(*chain));
  chain->count = count;
  for (size_t i = 0; i < count; i++)
    xz_filter_begin(&chain->filters[i], &filters[count - 1 - i]);
  return chain;
}

void
xz_chain_free(struct xz_chain *chain)
{
  free(chain);
}

/* What the last of them has undone. */
static size_t
ready(const struct xz_chain *chain)
{
  return chain->done[chain->count - 1];
}

uint8_t *
xz_chain_room(struct xz_chain *chain, size_t *ret_len)
{
  assert(xz_chain_is_read(chain));
  size_t passed = chain->given;
  memmove(chain->bytes, chain->bytes + passed, chain->len - passed);
  for (size_t i = 0; i < chain->count; i++)
    chain->done[i] -= passed;
  chain->len -= passed;
  chain->given = 0;
  *ret_len = BUFFER_BYTES - chain->len;
  return chain->bytes + chain->len;
}

void
xz_chain_add(struct xz_chain *chain, size_t len, bool is_end)
{
  chain->len += len;
  size_t there = chain->len;
  for (size_t i = 0; i < chain->count; i++) {
    size_t *done = &chain->done[i];
    *done += xz_filter_undo(&chain->filters[i], chain->bytes + *done, there - *done);
    if (is_end)
      *done = there;
    there = *done;
  }
}

size_t
xz_chain_read(struct xz_chain *chain, void *buf, size_t len)
{
  size_t left = ready(chain) - chain->given;
  if (len > left)
    len = left;
  if (len > 0)
    memcpy(buf, chain->bytes + chain->given, len);
  chain->given += len;
  return len;
}

bool
xz_chain_is_read(const struct xz_chain *chain)
{
  return chain->given == ready(chain);
}

/* ---- saving ------------------------------------------------------------------------------------
 */

void
xz_chain_save(const struct xz_chain *chain, struct buffer *body)
{
  state_put_number(body, chain ? chain->count : 0);
  for (size_t i = 0; chain && i < chain->count; i++) {
    xz_filter_save(&chain->filters[i], body);
    state_put_number(body, chain->done[i] - chain->given);
  }
  if (chain)
    state_put_bytes(body, chain->bytes + chain->given, chain->len - chain->given);
}

struct xz_chain *
xz_chain_restore(struct state_reader *reader)
{
  size_t count = (size_t)state_get_number_up_to(reader, FILTERS_MAX), len = 0;
  if (count == 0)
    return NULL;
  struct xz_chain *chain = xcalloc(1, sizeof(*chain));
  chain->count = count;
  for (size_t i = 0; i < count; i++) {
    xz_filter_restore(&chain->filters[i], reader);
    chain->done[i] = (size_t)state_get_number_up_to(reader, HELD_MAX);
  }
  const void *held = state_get_bytes(reader, HELD_MAX, &len);
  chain->len = len;
  if (held && len > 0)
    memcpy(chain->bytes, held, len);
  size_t there = len;
  for (size_t i = 0; i < count; i++) {
    reader->failed = reader->failed || chain->done[i] > there;
    there = chain->done[i];
  }
  reader->failed = reader->failed || !xz_chain_is_read(chain);
  return chain;
}
