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

static void
abort_upload(const struct s3_place *place, const char *id)
{
  (void)s3_uploads_abort(place->client, place->options, place->bucket, place->key, id, NULL);
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

/* Aborts those that came after the record. */
static void
abort_new(const struct s3_place *place, const char *others, struct s3_upload_ids *ids)
{
  size_t kept = 0;
  for (size_t i = 0; i < ids->count; i++) {
    if (is_listed(others, ids->items[i])) {
      ids->items[kept++] = ids->items[i];
      continue;
    }
    abort_upload(place, ids->items[i]);
    free(ids->items[i]);
  }
  ids->count = kept;
}

static void
write_others(struct sink_ledger *ledger, const struct s3_upload_ids *ids)
{
  CLEANUP(buffer_clear) struct buffer text = {0};
  (void)buffer_append_text(&text, OTHERS);
  for (size_t i = 0; i < ids->count; i++) {
    (void)buffer_append_text(&text, ids->items[i]);
    (void)buffer_append_text(&text, "\n");
  }
  ledger->write(ledger, text.data);
}

void
s3_leftover_begin(struct sink_ledger *ledger, const struct s3_place *place)
{
  struct s3_upload_ids ids = {0};
  CLEANUP(freep) char *record = ledger->read(ledger);
  if (record && text_starts_with(record, UPLOAD))
    abort_upload(place, record + strlen(UPLOAD));
  /* Not everybody may list: then what died in that moment is left to the store. */
  if (s3_uploads_list(place->client, place->options, place->bucket, place->key, &ids, NULL) < 0)
    return;
  if (record && text_starts_with(record, OTHERS))
    abort_new(place, record + strlen(OTHERS), &ids);
  write_others(ledger, &ids);
  s3_upload_ids_clear(&ids);
}

void
s3_leftover_note(struct sink_ledger *ledger, const char *id)
{
  CLEANUP(freep) char *text = xasprintf(UPLOAD "%s", id);
  ledger->write(ledger, text);
}
