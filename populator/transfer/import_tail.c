/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/import_tail.h"

#include "lib/base/clock.h"
#include "populator/source/upload.h"

/* How often what came is made sure of; less often where it is much, since all of it is written each
 * time. */
#define SAVE_MS 1000
#define SAVE_BYTES_PER_MS 4096
/* How much of it is decoded once more, where a state can be taken. */
#define STATE_BYTES ((uint64_t)4 << 20)

void
import_tail_clear(struct import_tail *tail)
{
  buffer_clear(&tail->state);
}

static bool
is_pending(const struct import_tail *tail)
{
  return tail->pending && atomic_load(tail->pending) > 0;
}

bool
import_tail_is_free(const struct import_tail *tail)
{
  return !is_pending(tail);
}

bool
import_tail_is_due(const struct import_tail *tail)
{
  const char *bytes;
  size_t len;
  bool is_much =
      upload_since_state(tail->source) >= STATE_BYTES || !upload_tail(tail->source, &bytes, &len);
  return is_much && !is_pending(tail);
}

static void
keep(struct import_tail *tail, struct target *target, const struct buffer *state,
     const atomic_uint *pending)
{
  tail->state.len = 0;
  (void)buffer_append(&tail->state, state->data, state->len);
  tail->target = target;
  tail->pending = pending;
}

void
import_tail_take(struct import_tail *tail, struct target *target, const struct buffer *state,
                 const atomic_uint *pending)
{
  keep(tail, target, state, pending);
  upload_cut_tail(tail->source);
}

void
import_tail_restored(struct import_tail *tail, struct target *target, const struct buffer *state)
{
  keep(tail, target, state, NULL);
  tail->is_marked = target != tail->image;
  atomic_store(&tail->progress->safe, upload_position(tail->source));
}

/* From here on a repeated import looks into the spool. */
static int
mark_spool(struct import_tail *tail, struct error **err)
{
  if (tail->target == tail->image || tail->is_marked)
    return 0;
  const struct checkpoint checkpoint = {.kind = CHECKPOINT_SPOOL,
                                        .identity = (char *)tail->identity,
                                        .position = upload_position(tail->source)};
  if (target_save(tail->image, &checkpoint, err) < 0)
    return -1;
  tail->is_marked = true;
  return 0;
}

int
import_tail_save(struct import_tail *tail, struct error **err)
{
  const char *bytes;
  size_t len;
  uint64_t position = upload_position(tail->source);
  bool is_whole = upload_tail(tail->source, &bytes, &len);
  tail->next_ms = clock_now_ms() + SAVE_MS + (int64_t)(len / SAVE_BYTES_PER_MS);
  if (tail->is_over || !is_whole || position == atomic_load(&tail->progress->safe))
    return 0;
  const struct checkpoint checkpoint = {
      .kind = CHECKPOINT_STREAM,
      .identity = (char *)tail->identity,
      .position = position,
      .state = tail->state,
      .tail = {.data = (char *)bytes, .len = len},
  };
  CLEANUP(error_freep) struct error *failure = NULL;
  if (target_save(tail->target, &checkpoint, &failure) < 0)
    /* Larger than this cluster's OSDs take: the next one may be smaller. */
    return failure->code == ERROR_OUT_OF_RANGE
               ? 0
               : error_set(err, failure->code, "%s", failure->message);
  if (mark_spool(tail, err) < 0)
    return -1;
  atomic_store(&tail->progress->safe, position);
  return 0;
}

int
import_tail_look(struct import_tail *tail, struct error **err)
{
  return clock_now_ms() < tail->next_ms ? 0 : import_tail_save(tail, err);
}

void
import_tail_end(struct import_tail *tail)
{
  tail->is_over = true;
  atomic_store(&tail->progress->safe, tail->source->size);
  upload_tell_complete(tail->source);
}
