/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/zstd_window.h"

#define ZSTD_STATIC_LINKING_ONLY /* how large the ring has to be */
#include <assert.h>
#include <string.h>
#include <zstd.h>

void
zstd_window_init(struct zstd_window *window, struct decoder_memory *memory)
{
  *window = (struct zstd_window){.memory = memory};
}

void
zstd_window_clear(struct zstd_window *window)
{
  if (window->ring)
    decoder_memory_give(window->memory, window->ring - ZSTD_DICTIONARY_MAX);
  zstd_window_init(window, window->memory);
}

bool
zstd_window_begin(struct zstd_window *window, uint64_t window_bytes, uint64_t content_bytes)
{
  size_t len = ZSTD_decodingBufferSize_min(window_bytes, content_bytes);
  assert(!ZSTD_isError(len));
  if (!window->ring || len > window->taken) {
    zstd_window_clear(window);
    char *taken = decoder_memory_take(window->memory, ZSTD_DICTIONARY_MAX + len);
    if (!taken)
      return false;
    window->ring = taken + ZSTD_DICTIONARY_MAX;
    window->taken = len;
  }
  window->len = len;
  window->end = window->turned_at = window->given = 0;
  window->turns = len < content_bytes;
  return true;
}

char *
zstd_window_room(struct zstd_window *window, size_t block_max, size_t *ret_len)
{
  assert(window->given == window->end);
  if (window->turns && window->end + block_max > window->len) {
    window->turned_at = window->end;
    window->end = window->given = 0;
  }
  *ret_len = window->len - window->end;
  return window->ring + window->end;
}

void
zstd_window_add(struct zstd_window *window, size_t len)
{
  assert(len <= window->len - window->end);
  window->end += len;
}

size_t
zstd_window_read(struct zstd_window *window, void *buf, size_t len)
{
  size_t left = window->end - window->given;
  if (len > left)
    len = left;
  if (len > 0)
    memcpy(buf, window->ring + window->given, len);
  window->given += len;
  return len;
}

void
zstd_window_save(const struct zstd_window *window, size_t len, struct state_sealer *sealer)
{
  size_t late = len < window->end ? len : window->end;
  size_t early = len - late;
  assert(early <= window->turned_at);
  if (early > 0)
    state_sealer_add(sealer, window->ring + window->turned_at - early, early);
  if (late > 0)
    state_sealer_add(sealer, window->ring + window->end - late, late);
}

const void *
zstd_window_restore(struct zstd_window *window, const struct zstd_dictionary *dictionary,
                    const void *content, size_t len)
{
  if (len > window->len)
    return NULL;
  if (len > 0)
    memcpy(window->ring, content, len);
  window->end = window->given = len;
  return memcpy(window->ring - dictionary->len, dictionary->bytes, dictionary->len);
}
