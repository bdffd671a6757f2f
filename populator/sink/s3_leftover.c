/* SPDX-License-Identifier: Apache-2.0 */
/* The record: "upload <id>", or "others", followed by the ids of uploads by others, a line each. */
#include "populator/sink/s3_leftover.h"

#include <string.h>

#include "lib/base/buffer.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/http/s3_uploads.h"

#define UPLOAD "upload "
#define OTHERS "others\n"

static int
abort_upload(const struct s3_place *place, const char *id, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  if (s3_uploads_abort(place->client, place->options, place->bucket, place->key, id, &failure) == 0)
    return 0;
  return error_set(err, failure->code, "multipart upload '%.256s' of s3://%s/%s is left: %s", id,
                   place->bucket, place->key, failure->message);
}

/* Whether the record names this one, in a line of its own. */
static bool
is_listed(const char *lines, const char *id)
{
  size_t len = strlen(id);
  for (const char *line = lines; *line;) {
    size_t line_len = strcspn(line, "\n");
    if (line_len == len && strncmp(line, id, len) == 0)
      return true;
    line += line_len;
    line += *line == '\n';
  }
  return false;
}

/* Aborts those that came after the record; the others stay in the list. */
static int
abort_new(const struct s3_place *place, const char *others, struct s3_upload_ids *ids,
          struct error **err)
{
  int r = 0;
  size_t kept = 0;
  for (size_t i = 0; i < ids->count; i++) {
    if (is_listed(others, ids->items[i])) {
      ids->items[kept++] = ids->items[i];
      continue;
    }
    if (abort_upload(place, ids->items[i], r == 0 ? err : NULL) < 0)
      r = -1;
    free(ids->items[i]);
  }
  ids->count = kept;
  return r;
}

/* One of ours is nobody else's. */
static void
leave_out(struct s3_upload_ids *ids, const char *id)
{
  size_t kept = 0;
  for (size_t i = 0; i < ids->count; i++) {
    if (strcmp(ids->items[i], id) == 0)
      free(ids->items[i]);
    else
      ids->items[kept++] = ids->items[i];
  }
  ids->count = kept;
}

/* The record, to be freed. */
static char *
write_others(struct sink_ledger *ledger, const struct s3_upload_ids *ids)
{
  struct buffer text = {0};
  (void)buffer_append_text(&text, OTHERS);
  for (size_t i = 0; i < ids->count; i++) {
    (void)buffer_append_text(&text, ids->items[i]);
    (void)buffer_append_text(&text, "\n");
  }
  ledger->write(ledger, text.data);
  return text.data;
}

char *
s3_leftover_begin(struct sink_ledger *ledger, const struct s3_place *place)
{
  struct s3_upload_ids ids = {0};
  CLEANUP(freep) char *record = ledger->read(ledger);
  const char *own = record && text_starts_with(record, UPLOAD) ? record + strlen(UPLOAD) : NULL;
  if (own)
    (void)abort_upload(place, own, NULL);
  /* Not everybody may list: then what died in that moment is left to the store. */
  if (s3_uploads_list(place->client, place->options, place->bucket, place->key, &ids, NULL) < 0)
    return NULL;
  if (record && text_starts_with(record, OTHERS))
    (void)abort_new(place, record + strlen(OTHERS), &ids, NULL);
  if (own)
    leave_out(&ids, own); /* it was not to be aborted just now, and will be with the twins */
  char *begun = write_others(ledger, &ids);
  s3_upload_ids_clear(&ids);
  return begun;
}

int
s3_leftover_discard(const char *record, const struct s3_place *place, struct error **err)
{
  struct s3_upload_ids ids = {0};
  CLEANUP(error_freep) struct error *failure = NULL;
  if (text_starts_with(record, UPLOAD))
    return abort_upload(place, record + strlen(UPLOAD), err);
  if (!text_starts_with(record, OTHERS))
    return 0;
  if (s3_uploads_list(place->client, place->options, place->bucket, place->key, &ids, &failure) < 0)
    return error_set(err, failure->code,
                     "a multipart upload of s3://%s/%s may be left, begun when its store did not "
                     "answer: %s",
                     place->bucket, place->key, failure->message);
  int r = abort_new(place, record + strlen(OTHERS), &ids, err);
  s3_upload_ids_clear(&ids);
  return r;
}

void
s3_leftover_abort_twins(const char *begun, const struct s3_place *place, const char *id)
{
  struct s3_upload_ids ids = {0};
  if (s3_uploads_list(place->client, place->options, place->bucket, place->key, &ids, NULL) < 0)
    return;
  CLEANUP(freep) char *kept = xasprintf("%s\n%s", id, begun + strlen(OTHERS));
  (void)abort_new(place, kept, &ids, NULL);
  s3_upload_ids_clear(&ids);
}

void
s3_leftover_note(struct sink_ledger *ledger, const char *id)
{
  CLEANUP(freep) char *text = xasprintf(UPLOAD "%s", id);
  ledger->write(ledger, text);
}
