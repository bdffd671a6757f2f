/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/deflate_lanes.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/deflate_lanes_parts.h"

/* Streams that wait for a lane. */
struct queue {
  struct deflate_stream *next;
  struct deflate_stream *end;
  unsigned running;
};

struct deflate_lanes *
deflate_lanes_new(void)
{
  if (!deflate_steps_are_possible())
    return NULL;
  struct deflate_lanes *lanes = aligned_alloc(64, sizeof(*lanes));
  if (!lanes)
    abort();
  memset(lanes, 0, sizeof(*lanes));
  for (int i = 0; i < DEFLATE_LANES; i++) {
    lanes->blocks[i].litlen_table = lanes->litlen[i];
    lanes->blocks[i].distance_table = lanes->distance[i];
  }
  return lanes;
}

void
deflate_lanes_free(struct deflate_lanes *lanes)
{
  free(lanes);
}

/* ---- a lane ------------------------------------------------------------------------------------
 */

/* A code of one bit, whatever the bit is: literals for ever. */
static void
let_idle(struct deflate_lanes *lanes, int i)
{
  for (int k = 0; k < 1 << DEFLATE_LITLEN_BITS; k++)
    lanes->litlen[i][k] = DEFLATE_LITERAL | 1;
  lanes->at[i] = (uint64_t)(uintptr_t)lanes->idle_in * 8;
  lanes->at_safe[i] = lanes->at[i] + (DEFLATE_IDLE_BYTES - DEFLATE_STEP_IN) * 8;
  lanes->out[i] = lanes->idle_out[i];
  lanes->made[i] = 0;
  lanes->made_safe[i] = DEFLATE_IDLE_BYTES - DEFLATE_STEP_OUT;
}

static void
take_stream(struct deflate_lanes *lanes, int i, struct queue *queue)
{
  struct deflate_stream *stream = queue->next++;
  queue->running++;
  lanes->streams[i] = stream;
  lanes->at[i] = (uint64_t)(uintptr_t)stream->in * 8;
  lanes->ends[i] = lanes->at[i] + stream->in_len * 8;
  lanes->at_safe[i] = stream->in_len > DEFLATE_STEP_IN ? lanes->ends[i] - DEFLATE_STEP_IN * 8 : 0;
  lanes->out[i] = stream->out;
  lanes->made[i] = 0;
  lanes->made_safe[i] = stream->out_len > DEFLATE_STEP_OUT ? stream->out_len - DEFLATE_STEP_OUT : 0;
}

static void
leave_stream(struct deflate_lanes *lanes, int i, bool is_done, struct queue *queue)
{
  lanes->streams[i]->is_done = is_done;
  lanes->streams[i] = NULL;
  queue->running--;
}

static bool
has_room(const struct deflate_lanes *lanes, int i)
{
  return lanes->made[i] <= lanes->made_safe[i] && lanes->made_safe[i] > 0 &&
         lanes->at[i] <= lanes->at_safe[i];
}

static int
begin_block(struct deflate_lanes *lanes, int i)
{
  struct deflate_input input = {.at = lanes->at[i], .end = lanes->ends[i]};
  int r = deflate_block_begin(&lanes->blocks[i], &input);
  lanes->at[i] = input.at;
  return r;
}

/* ---- without vectors ---------------------------------------------------------------------------
 */

/* One item of the stream, with all bounds looked at. */
static enum deflate_item
make_item(struct deflate_lanes *lanes, int i, struct deflate_input *input)
{
  struct deflate_stream *stream = lanes->streams[i];
  unsigned value, distance;
  enum deflate_item item = deflate_block_next(&lanes->blocks[i], input, &value, &distance);
  uint64_t made = lanes->made[i], room = stream->out_len - made;
  if (item == DEFLATE_ITEM_LITERAL && room > 0) {
    stream->out[made] = (uint8_t)value;
    lanes->made[i]++;
    return item;
  }
  if (item == DEFLATE_ITEM_MATCH && room >= value && distance <= made) {
    for (unsigned k = 0; k < value; k++)
      stream->out[made + k] = stream->out[made + k - distance];
    lanes->made[i] += value;
    return item;
  }
  return item == DEFLATE_ITEM_END ? item : DEFLATE_ITEM_DAMAGED;
}

/* The rest of the stream, from within a block. Whether it is as it should be. */
static bool
finish(struct deflate_lanes *lanes, int i)
{
  struct deflate_input input = {.at = lanes->at[i], .end = lanes->ends[i]};
  for (;;) {
    enum deflate_item item = make_item(lanes, i, &input);
    if (item == DEFLATE_ITEM_DAMAGED)
      return false;
    if (item != DEFLATE_ITEM_END)
      continue;
    if (lanes->blocks[i].is_last)
      return lanes->made[i] == lanes->streams[i]->out_len;
    if (deflate_block_begin(&lanes->blocks[i], &input) < 0)
      return false;
  }
}

/* ---- all of them -------------------------------------------------------------------------------
 */

/* Gives the lane what it can do steps of: the stream that it has, the next ones, or nothing. */
static void
make_ready(struct deflate_lanes *lanes, int i, bool is_in_block, struct queue *queue)
{
  for (;; is_in_block = false) {
    if (!lanes->streams[i]) {
      if (queue->next == queue->end) {
        let_idle(lanes, i);
        return;
      }
      take_stream(lanes, i, queue);
      is_in_block = false;
    }
    if (!is_in_block && begin_block(lanes, i) < 0)
      leave_stream(lanes, i, false, queue);
    else if (has_room(lanes, i))
      return;
    else
      leave_stream(lanes, i, finish(lanes, i), queue);
  }
}

static void
handle_event(struct deflate_lanes *lanes, int i, const struct deflate_events *events,
             struct queue *queue)
{
  uint32_t lane = (uint32_t)1 << i;
  bool has_ended = events->ended & lane;
  struct deflate_stream *stream = lanes->streams[i];
  if (stream && events->damaged & lane)
    leave_stream(lanes, i, false, queue);
  else if (stream && has_ended && lanes->blocks[i].is_last)
    leave_stream(lanes, i, lanes->made[i] == stream->out_len, queue);
  make_ready(lanes, i, !has_ended, queue);
}

void
deflate_lanes_inflate(struct deflate_lanes *lanes, struct deflate_stream *streams, size_t count)
{
  struct queue queue = {.next = streams, .end = streams + count};
  for (int i = 0; i < DEFLATE_LANES; i++)
    make_ready(lanes, i, false, &queue);
  while (queue.running > 0) {
    struct deflate_events events;
    deflate_steps_run(lanes, &events);
    uint32_t all = events.near | events.ended | events.damaged;
    for (; all; all &= all - 1)
      handle_event(lanes, __builtin_ctz(all), &events, &queue);
  }
}
