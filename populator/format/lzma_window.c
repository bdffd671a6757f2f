/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/lzma_window.h"

#include <assert.h>

#include "lib/base/memory.h"

bool
lzma_window_open(struct lzma_window *window, size_t dict_size)
{
  assert(dict_size % LZMA_WINDOW_STEP == 0);
  if (!window->taken || window->dict_size != dict_size) {
    lzma_window_clear(window);
    size_t ring_size = dict_size + LZMA_WINDOW_SLACK;
    window->taken = decoder_memory_take(window->memory, ring_size + 2 * LZMA_WINDOW_STEP);
    if (!window->taken)
      return false;
    window->ring = window->taken + LZMA_WINDOW_STEP;
    window->dict_size = dict_size;
    window->ring_size = ring_size;
  }
  lzma_window_reset(window);
  return true;
}

void
lzma_window_clear(struct lzma_window *window)
{
  decoder_memory_give(window->memory, window->taken);
  *window = (struct lzma_window){.memory = window->memory};
}

void
lzma_window_reset(struct lzma_window *window)
{
  window->at = 0;
  window->has_wrapped = false;
  window->ring[-1] = 0;
}

size_t
lzma_window_stretch(struct lzma_window *window, size_t want)
{
  if (window->at == window->ring_size) {
    window->ring[-1] = window->ring[window->ring_size - 1];
    window->at = 0;
    window->has_wrapped = true;
  }
  size_t left = window->ring_size - window->at;
  return want < left ? want : left;
}

void
lzma_window_put(struct lzma_window *window, const void *data, size_t len)
{
  assert(len <= window->ring_size - window->at);
  memcpy(window->ring + window->at, data, len);
  window->at += len;
}

/* ---- saving ------------------------------------------------------------------------------------
 */

/* In two pieces where the ring was begun again: no copy of it is made. */
void
lzma_window_save(const struct lzma_window *window, struct state_sealer *sealer)
{
  CLEANUP(buffer_clear) struct buffer head = {0};
  bool is_full = window->has_wrapped || window->at > window->dict_size;
  size_t len = is_full ? window->dict_size : window->at;
  size_t late = window->at < len ? window->at : len;
  size_t early = len - late;
  state_put_number(&head, window->at % LZMA_WINDOW_STEP);
  state_put_number(&head, len);
  state_sealer_add(sealer, head.data, head.len);
  state_sealer_add(sealer, window->ring + window->ring_size - early, early);
  state_sealer_add(sealer, window->ring + window->at - late, late);
}

/* The place in the ring is another one, but the same modulo STEP. */
void
lzma_window_restore(struct lzma_window *window, struct state_reader *reader)
{
  size_t len = 0;
  size_t phase = (size_t)state_get_number_up_to(reader, LZMA_WINDOW_STEP - 1);
  const void *bytes = state_get_bytes(reader, window->dict_size, &len);
  if (reader->failed || (len < window->dict_size && len % LZMA_WINDOW_STEP != phase)) {
    reader->failed = true;
    return;
  }
  window->at = len + (phase - len) % LZMA_WINDOW_STEP;
  memcpy(window->ring + window->at - len, bytes, len);
}
