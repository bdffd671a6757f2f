/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_held.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"

void
qcow2_held_clear(struct qcow2_held *held)
{
  for (size_t i = 0; i < held->count; i++)
    free(held->segments[i].memory);
  free(held->segments);
  *held = (struct qcow2_held){0};
}

/* Takes len bytes off the books. */
static void
forget_bytes(struct qcow2_held *held, const struct qcow2_segment *segment, size_t len)
{
  if (!segment->is_slack)
    held->bytes -= len;
}

static void
drop_segment(struct qcow2_held *held, struct qcow2_segment *segment)
{
  forget_bytes(held, segment, segment->len);
  if (segment->is_slack)
    held->slack_count--;
  free(TAKE(segment->memory));
  segment->len = 0;
  held->gone++;
}

/* Moves the segments together when more than half of them are gone. */
static void
tidy(struct qcow2_held *held)
{
  if (held->gone < 64 || held->gone <= held->count / 2)
    return;
  size_t kept = 0;
  for (size_t i = 0; i < held->count; i++) {
    if (held->segments[i].len > 0)
      held->segments[kept++] = held->segments[i];
  }
  held->count = kept;
  held->gone = 0;
  held->slack_from = 0;
}

static struct qcow2_segment *
insert_segment(struct qcow2_held *held, size_t at)
{
  if (held->count == held->room) {
    held->room = held->room < 64 ? 64 : 2 * held->room;
    held->segments = xrealloc(held->segments, held->room, sizeof(held->segments[0]));
  }
  struct qcow2_segment *segment = &held->segments[at];
  memmove(segment + 1, segment, (held->count - at) * sizeof(*segment));
  held->count++;
  *segment = (struct qcow2_segment){0};
  return segment;
}

static void
limit_slack(struct qcow2_held *held)
{
  while (held->slack_count > QCOW2_SLACK_MAX) {
    struct qcow2_segment *segment = &held->segments[held->slack_from++];
    if (segment->len > 0 && segment->is_slack)
      drop_segment(held, segment);
  }
}

void
qcow2_held_add(struct qcow2_held *held, uint64_t offset, const void *data, size_t len,
               bool is_slack)
{
  const char *bytes = data;
  while (len > 0) {
    struct qcow2_segment *last = held->count > 0 ? &held->segments[held->count - 1] : NULL;
    if (!last || last->len == 0 || last->is_slack != is_slack ||
        last->offset + last->len != offset || last->start + last->len == QCOW2_SEGMENT_MAX) {
      last = insert_segment(held, held->count);
      last->offset = offset;
      last->is_slack = is_slack;
      held->slack_count += is_slack;
    }
    size_t room = QCOW2_SEGMENT_MAX - last->start - last->len;
    size_t part = len < room ? len : room;
    size_t needed = last->start + last->len + part;
    if (needed > last->room) {
      size_t grown = 2 * (size_t)last->room > needed ? 2 * (size_t)last->room : needed;
      last->room = (uint32_t)(grown < QCOW2_SEGMENT_MAX ? grown : QCOW2_SEGMENT_MAX);
      last->memory = xrealloc(last->memory, last->room, 1);
    }
    memcpy(last->memory + last->start + last->len, bytes, part);
    last->len += (uint32_t)part;
    if (!is_slack)
      held->bytes += part;
    bytes += part;
    offset += part;
    len -= part;
  }
  limit_slack(held);
  tidy(held);
}

/* The first segment that ends behind the offset. Those that are gone keep their offset, so that the
 * order stands. */
static size_t
find(const struct qcow2_held *held, uint64_t offset)
{
  size_t low = 0, high = held->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (held->segments[middle].offset <= offset)
      low = middle + 1;
    else
      high = middle;
  }
  /* the one before may reach over it, but may be gone and share its offset with one that is not */
  while (low > 0 && held->segments[low - 1].offset + held->segments[low - 1].len > offset)
    low--;
  return low;
}

size_t
qcow2_held_read(const struct qcow2_held *held, uint64_t offset, void *buf, size_t len)
{
  size_t got = 0;
  for (size_t i = find(held, offset); i < held->count && got < len; i++) {
    const struct qcow2_segment *segment = &held->segments[i];
    uint64_t at = offset + got;
    if (segment->len == 0)
      continue;
    if (segment->offset > at || segment->offset + segment->len <= at)
      break;
    size_t skip = at - segment->offset;
    size_t part = segment->len - skip < len - got ? segment->len - skip : len - got;
    memcpy((char *)buf + got, segment->memory + segment->start + skip, part);
    got += part;
  }
  return got;
}

/* What stands behind `keep` and `cut` bytes of a segment becomes a segment of its own. */
static void
split(struct qcow2_held *held, size_t index, size_t keep, size_t cut)
{
  struct qcow2_segment *tail = insert_segment(held, index + 1);
  struct qcow2_segment *segment = &held->segments[index];
  size_t tail_len = segment->len - keep - cut;
  tail->offset = segment->offset + keep + cut;
  tail->len = tail->room = (uint32_t)tail_len;
  tail->is_slack = segment->is_slack;
  tail->memory = xcalloc(1, tail_len);
  memcpy(tail->memory, segment->memory + segment->start + keep + cut, tail_len);
  held->slack_count += tail->is_slack;
  segment->len = (uint32_t)keep;
}

void
qcow2_held_remove(struct qcow2_held *held, uint64_t offset, size_t len)
{
  uint64_t end = offset + len;
  for (size_t i = find(held, offset); i < held->count && held->segments[i].offset < end; i++) {
    struct qcow2_segment *segment = &held->segments[i];
    uint64_t segment_end = segment->offset + segment->len;
    if (segment->len == 0 || segment_end <= offset)
      continue;
    uint64_t from = segment->offset > offset ? segment->offset : offset;
    uint64_t to = segment_end < end ? segment_end : end;
    if (from == segment->offset && to == segment_end) {
      drop_segment(held, segment);
    } else if (from == segment->offset) {
      forget_bytes(held, segment, to - from);
      segment->start += (uint32_t)(to - from);
      segment->len -= (uint32_t)(to - from);
      segment->offset = to;
    } else {
      forget_bytes(held, segment, to - from);
      if (to < segment_end)
        split(held, i, from - segment->offset, to - from);
      else
        segment->len -= (uint32_t)(to - from);
    }
  }
  tidy(held);
}
