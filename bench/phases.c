/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/phases.h"

#include <string.h>

#include "bench/id_list.h"
#include "lib/base/memory.h"

struct phases {
  struct subject *subject;
  const char *prefix;
  uint64_t size_bytes;
  struct id_list volumes, snapshots, children;
  struct id_list deleted; /* filled when a purge begins */
  /* The first of each list that a phase has not worked on. */
  size_t next_expand;  /* volume */
  size_t next_copy;    /* volume, for snapshots and clones */
  size_t next_restore; /* snapshot */
  unsigned next_name;
};

/* A phase while it runs: operation i works on entry first + i of its list and may make something.
 */
struct work {
  struct phases *phases;
  const struct phase *phase;
  size_t first;
  struct id_entry *made; /* by index; the id stays NULL when it failed */
};

struct phase {
  const char *name;
  size_t (*available)(const struct phases *phases);
  /* Where the operations begin in the list they work on; NULL for 0. Marks them as taken. */
  size_t (*take)(struct phases *phases, size_t count);
  measure_operation *operation;
  /* Where what is made goes to. */
  struct id_list *(*made_list)(struct phases *phases);
  /* What is deleted: the end of this list. */
  struct id_list *(*deleted_list)(struct phases *phases);
};

static struct id_list *
volumes(struct phases *phases)
{
  return &phases->volumes;
}

static struct id_list *
snapshots(struct phases *phases)
{
  return &phases->snapshots;
}

static struct id_list *
children(struct phases *phases)
{
  return &phases->children;
}

static size_t
any_number(const struct phases *phases)
{
  (void)phases;
  return SIZE_MAX;
}

static size_t
all_volumes(const struct phases *phases)
{
  return phases->volumes.count;
}

static size_t
all_snapshots(const struct phases *phases)
{
  return phases->snapshots.count;
}

static size_t
all_children(const struct phases *phases)
{
  return phases->children.count;
}

static size_t
all_deleted(const struct phases *phases)
{
  return phases->deleted.count;
}

static size_t
any_number_from_a_snapshot(const struct phases *phases)
{
  return phases->snapshots.count ? SIZE_MAX : 0;
}

static size_t
not_expanded(const struct phases *phases)
{
  return phases->volumes.count - phases->next_expand;
}

static size_t
not_copied(const struct phases *phases)
{
  return phases->volumes.count - phases->next_copy;
}

static size_t
not_restored(const struct phases *phases)
{
  return phases->snapshots.count - phases->next_restore;
}

static size_t
take_last_volumes(struct phases *phases, size_t count)
{
  return phases->volumes.count - count;
}

static size_t
take_last_snapshots(struct phases *phases, size_t count)
{
  return phases->snapshots.count - count;
}

static size_t
take_last_children(struct phases *phases, size_t count)
{
  return phases->children.count - count;
}

static size_t
take_from(size_t *cursor, size_t count)
{
  size_t first = *cursor;
  *cursor += count;
  return first;
}

static size_t
take_not_expanded(struct phases *phases, size_t count)
{
  return take_from(&phases->next_expand, count);
}

static size_t
take_not_copied(struct phases *phases, size_t count)
{
  return take_from(&phases->next_copy, count);
}

static size_t
take_not_restored(struct phases *phases, size_t count)
{
  return take_from(&phases->next_restore, count);
}

static int
make_volume(struct work *work, size_t index, enum source_kind source, const char *source_id,
            int64_t timeout_ms, struct error **err)
{
  struct subject *subject = work->phases->subject;
  const struct volume_request request = {.name = work->made[index].name,
                                         .size_bytes = work->phases->size_bytes,
                                         .source = source,
                                         .source_id = source_id};
  return subject->ops->create_volume(subject, &request, timeout_ms, &work->made[index].id, err);
}

static int
create(void *context, size_t index, int64_t timeout_ms, struct error **err)
{
  return make_volume(context, index, SOURCE_NONE, NULL, timeout_ms, err);
}

static int
create_again(void *context, size_t index, int64_t timeout_ms, struct error **err)
{
  struct work *work = context;
  struct subject *subject = work->phases->subject;
  const struct id_entry *volume = &work->phases->volumes.entries[work->first + index];
  const struct volume_request request = {
      .name = volume->name, .size_bytes = work->phases->size_bytes, .is_again = true};
  CLEANUP(freep) char *id = NULL;
  if (subject->ops->create_volume(subject, &request, timeout_ms, &id, err) < 0)
    return -1;
  if (strcmp(id, volume->id) != 0)
    return error_set(err, ERROR_DATA_LOSS, "'%s' was '%s', now it is '%s'", volume->name,
                     volume->id, id);
  return 0;
}

static int
expand(void *context, size_t index, int64_t timeout_ms, struct error **err)
{
  struct work *work = context;
  struct subject *subject = work->phases->subject;
  return subject->ops->expand_volume(subject, work->phases->volumes.entries[work->first + index].id,
                                     work->phases->size_bytes * 2, timeout_ms, err);
}

static int
snapshot(void *context, size_t index, int64_t timeout_ms, struct error **err)
{
  struct work *work = context;
  struct subject *subject = work->phases->subject;
  return subject->ops->create_snapshot(subject, work->made[index].name,
                                       work->phases->volumes.entries[work->first + index].id,
                                       timeout_ms, &work->made[index].id, err);
}

static int
restore(void *context, size_t index, int64_t timeout_ms, struct error **err)
{
  struct work *work = context;
  return make_volume(work, index, SOURCE_SNAPSHOT,
                     work->phases->snapshots.entries[work->first + index].id, timeout_ms, err);
}

static int
restore_same(void *context, size_t index, int64_t timeout_ms, struct error **err)
{
  struct work *work = context;
  return make_volume(work, index, SOURCE_SNAPSHOT, work->phases->snapshots.entries[0].id,
                     timeout_ms, err);
}

static int
clone_volume(void *context, size_t index, int64_t timeout_ms, struct error **err)
{
  struct work *work = context;
  return make_volume(work, index, SOURCE_VOLUME,
                     work->phases->volumes.entries[work->first + index].id, timeout_ms, err);
}

static int
delete_volume(void *context, size_t index, int64_t timeout_ms, struct error **err)
{
  struct work *work = context;
  struct subject *subject = work->phases->subject;
  const struct id_list *list = work->phase->deleted_list(work->phases);
  return subject->ops->delete_volume(subject, list->entries[work->first + index].id, timeout_ms,
                                     err);
}

static int
delete_snapshot(void *context, size_t index, int64_t timeout_ms, struct error **err)
{
  struct work *work = context;
  struct subject *subject = work->phases->subject;
  return subject->ops->delete_snapshot(
      subject, work->phases->snapshots.entries[work->first + index].id, timeout_ms, err);
}

static int
purge(void *context, size_t index, int64_t timeout_ms, struct error **err)
{
  (void)timeout_ms;
  struct work *work = context;
  struct subject *subject = work->phases->subject;
  return subject->ops->purge_deleted(subject, work->phases->deleted.entries[index].id, err);
}

static const struct phase table[] = {
    {"create", any_number, NULL, create, volumes, NULL},
    {"create-again", all_volumes, take_last_volumes, create_again, NULL, NULL},
    {"expand", not_expanded, take_not_expanded, expand, NULL, NULL},
    {"snapshot", not_copied, take_not_copied, snapshot, snapshots, NULL},
    {"restore", not_restored, take_not_restored, restore, children, NULL},
    {"restore-same", any_number_from_a_snapshot, NULL, restore_same, children, NULL},
    {"clone", not_copied, take_not_copied, clone_volume, children, NULL},
    {"delete-children", all_children, take_last_children, delete_volume, NULL, children},
    {"delete-snapshots", all_snapshots, take_last_snapshots, delete_snapshot, NULL, snapshots},
    {"delete", all_volumes, take_last_volumes, delete_volume, NULL, volumes},
    {"purge", all_deleted, NULL, purge, NULL, NULL},
};

static const struct phase *
find_phase(const char *name)
{
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
    if (strcmp(table[i].name, name) == 0)
      return &table[i];
  }
  return NULL;
}

struct phases *
phases_new(struct subject *subject, const char *prefix, uint64_t size_bytes)
{
  struct phases *phases = xcalloc(1, sizeof(*phases));
  phases->subject = subject;
  phases->prefix = prefix;
  phases->size_bytes = size_bytes;
  return phases;
}

void
phases_free(struct phases *phases)
{
  if (!phases)
    return;
  id_list_clear(&phases->volumes);
  id_list_clear(&phases->snapshots);
  id_list_clear(&phases->children);
  id_list_clear(&phases->deleted);
  free(phases);
}

/* What a purge has to do is known only to the subject. */
static int
list_deleted(struct phases *phases, struct error **err)
{
  struct subject *subject = phases->subject;
  if (!subject->ops->list_deleted)
    return error_set(err, ERROR_INVALID_ARGUMENT, "it purges by itself");
  char **ids = NULL;
  size_t count = 0;
  if (subject->ops->list_deleted(subject, &ids, &count, err) < 0)
    return -1;
  id_list_shorten(&phases->deleted, 0);
  for (size_t i = 0; i < count; i++)
    id_list_add(&phases->deleted, NULL, ids[i]);
  free(ids);
  return 0;
}

static int
choose_count(const struct phase *phase, struct phases *phases, struct measure_spec *spec,
             struct error **err)
{
  if (phase->operation == purge && list_deleted(phases, err) < 0)
    return -1;
  size_t available = phase->available(phases);
  if (spec->count == 0 && available != SIZE_MAX)
    spec->count = available;
  else if (spec->count == 0)
    return error_set(err, ERROR_INVALID_ARGUMENT, "how many?");
  if (spec->count > available)
    return error_set(err, ERROR_INVALID_ARGUMENT, "%zu are asked for and %zu there", spec->count,
                     available);
  return 0;
}

static void
name_all(struct work *work, size_t count)
{
  work->made = xcalloc(count ? count : 1, sizeof(work->made[0]));
  for (size_t i = 0; i < count; i++)
    work->made[i].name =
        xasprintf("%s-%s-%06u", work->phases->prefix, work->phase->name, work->phases->next_name++);
}

static void
keep_made(struct work *work, size_t count)
{
  struct id_list *list = work->phase->made_list(work->phases);
  for (size_t i = 0; i < count; i++) {
    if (work->made[i].id)
      id_list_add(list, work->made[i].name, work->made[i].id);
    else
      free(work->made[i].name);
  }
  free(work->made);
}

static void
limit(size_t *cursor, size_t count)
{
  if (*cursor > count)
    *cursor = count;
}

static void
forget_deleted(struct work *work)
{
  struct phases *phases = work->phases;
  id_list_shorten(work->phase->deleted_list(phases), work->first);
  limit(&phases->next_expand, phases->volumes.count);
  limit(&phases->next_copy, phases->volumes.count);
  limit(&phases->next_restore, phases->snapshots.count);
}

int
phases_run(struct phases *phases, const char *name, struct measure_spec *spec,
           struct measurement *ret_measurement, struct error **err)
{
  const struct phase *phase = find_phase(name);
  if (!phase)
    return error_set(err, ERROR_INVALID_ARGUMENT, "there is no phase '%s'", name);
  if (choose_count(phase, phases, spec, err) < 0)
    return error_wrap(err, "phase '%s'", name);
  struct work work = {.phases = phases, .phase = phase};
  if (phase->take)
    work.first = phase->take(phases, spec->count);
  if (phase->made_list)
    name_all(&work, spec->count);
  measure_run(spec, phase->operation, &work, ret_measurement);
  if (phase->made_list)
    keep_made(&work, spec->count);
  if (phase->deleted_list)
    forget_deleted(&work);
  return 0;
}
