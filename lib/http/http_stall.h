/* SPDX-License-Identifier: Apache-2.0 */
/* Tells a transfer that does not move any more, or so slowly that it might as well not. Only the
 * time spent waiting for the server counts: a reader may take as long as he likes between two
 * reads. */
#ifndef LIB_HTTP_HTTP_STALL_H
#define LIB_HTTP_HTTP_STALL_H

#include <stdbool.h>
#include <stdint.h>

/* Less than that in each second of a whole window is no transfer. */
#define HTTP_STALL_MIN_BYTES_A_SECOND 1024

struct http_stall {
  int64_t limit_ms;
  bool may_idle;           /* slow is not stalled, only silent is */
  int64_t waited_ms;       /* all in all */
  int64_t ticked_at_ms;    /* of the clock */
  int64_t moved_at_ms;     /* of the time waited, as the window */
  uint64_t moved;          /* bytes then */
  int64_t window_start_ms; /* … */
  uint64_t window_moved;
};

void http_stall_init(struct http_stall *stall, unsigned limit_s);
/* Begins to wait. */
void http_stall_resume(struct http_stall *stall, int64_t now_ms);
/* While waiting: `moved` is how many bytes went either way so far. True when it has stalled. */
bool http_stall_tick(struct http_stall *stall, int64_t now_ms, uint64_t moved);

#endif
