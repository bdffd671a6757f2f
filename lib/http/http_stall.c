/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_stall.h"

void
http_stall_init(struct http_stall *stall, unsigned limit_s)
{
  *stall = (struct http_stall){.limit_ms = (int64_t)limit_s * 1000};
}

void
http_stall_resume(struct http_stall *stall, int64_t now_ms)
{
  stall->ticked_at_ms = now_ms;
}

bool
http_stall_tick(struct http_stall *stall, int64_t now_ms, uint64_t moved)
{
  stall->waited_ms += now_ms - stall->ticked_at_ms;
  stall->ticked_at_ms = now_ms;
  if (moved != stall->moved) {
    stall->moved = moved;
    stall->moved_at_ms = stall->waited_ms;
  }
  if (stall->waited_ms - stall->moved_at_ms >= stall->limit_ms)
    return true;
  int64_t window_ms = stall->waited_ms - stall->window_start_ms;
  if (stall->may_idle || window_ms < stall->limit_ms)
    return false;
  uint64_t least = (uint64_t)window_ms * HTTP_STALL_MIN_BYTES_A_SECOND / 1000;
  bool is_slow = moved - stall->window_moved < least;
  stall->window_start_ms = stall->waited_ms;
  stall->window_moved = moved;
  return is_slow;
}
