/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/export_ledger.h"

#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/memory.h"
#include "lib/base/process_id.h"
#include "lib/ceph/blob.h"

/* Of the digest in the name. */
#define NAME_DIGITS 32
/* Far more than a sink writes. */
#define RECORD_MAX_BYTES ((size_t)1 << 20)

struct export_ledger {
  struct sink_ledger sink;
  struct location *location;
  char *name;   /* of the object */
  char *left;   /* what the sink of an earlier process wrote, or NULL */
  char *noted;  /* what our sink wrote, or NULL */
  bool is_made; /* there is an object */
  bool is_shared;
  bool is_others; /* it belongs to an export that is under way */
};

static char *
object_name(const char *destination)
{
  char digest[DIGEST_SHA256_HEX];
  digest_sha256_hex(destination, strlen(destination), digest);
  return xasprintf("imprint.export.%.*s", NAME_DIGITS, digest);
}

/* ---- what the sink sees ------------------------------------------------------------------------
 */

static struct export_ledger *
ledger_of(struct sink_ledger *sink)
{
  return CONTAINER_OF(sink, struct export_ledger, sink);
}

static void
save(struct export_ledger *ledger)
{
  if (ledger->is_others)
    return;
  CLEANUP(freep) char *process = process_id_self();
  CLEANUP(freep)
  char *text = xasprintf("%s %s\n%s", process ? process : "?", ledger->location->cluster->address,
                         ledger->noted ? ledger->noted : "");
  if (blob_write(ledger->location, ledger->name, text, strlen(text), NULL) == 0)
    ledger->is_made = true;
}

static char *
sink_read(struct sink_ledger *sink)
{
  return xstrdup(ledger_of(sink)->left);
}

static void
sink_write(struct sink_ledger *sink, const char *text)
{
  struct export_ledger *ledger = ledger_of(sink);
  free(ledger->noted);
  ledger->noted = xstrdup(text);
  save(ledger);
}

static void
sink_forget(struct sink_ledger *sink)
{
  struct export_ledger *ledger = ledger_of(sink);
  free(TAKE(ledger->noted));
}

/* ---- the record ---------------------------------------------------------------------------------
 */

/* "<process> <Ceph address>" */
static int
clear_up_after(struct export_ledger *ledger, const char *owner, struct error **err)
{
  size_t len = strcspn(owner, " ");
  CLEANUP(freep) char *process = xstrndup(owner, len);
  ledger->is_others = process_id_is_alive(process);
  if (ledger->is_others && ledger->is_shared)
    return 0;
  if (ledger->is_others)
    return error_set(err, ERROR_ABORTED,
                     "another export to the same destination is under way (process %s)", process);
  if (process_id_is_dead(process) && owner[len])
    (void)cluster_fence_client(ledger->location->cluster, owner + len + 1, NULL);
  return 0;
}

static int
read_record(struct export_ledger *ledger, struct error **err)
{
  CLEANUP(buffer_clear) struct buffer data = {0};
  /* Who may not look cannot have written it either. */
  if (blob_read(ledger->location, ledger->name, &data, NULL) < 0 || data.len > RECORD_MAX_BYTES)
    return 0;
  ledger->is_made = true;
  CLEANUP(freep) char *text = xstrndup(data.data, data.len);
  char *line_end = strchr(text, '\n');
  if (!line_end)
    return 0;
  *line_end = '\0';
  if (line_end[1])
    ledger->left = xstrdup(line_end + 1);
  return clear_up_after(ledger, text, err);
}

static void
ledger_free(struct export_ledger *ledger)
{
  if (!ledger)
    return;
  free(ledger->name);
  free(ledger->left);
  free(ledger->noted);
  free(ledger);
}

DEFINE_CLEANUP(struct export_ledger *, ledger_free)

int
export_ledger_open(struct location *location, const char *destination, bool is_shared,
                   struct export_ledger **ret_ledger, struct error **err)
{
  CLEANUP(ledger_freep) struct export_ledger *ledger = xcalloc(1, sizeof(*ledger));
  ledger->sink =
      (struct sink_ledger){.read = sink_read, .write = sink_write, .forget = sink_forget};
  ledger->location = location;
  ledger->name = object_name(destination);
  ledger->is_shared = is_shared;
  if (read_record(ledger, err) < 0)
    return -1;
  *ret_ledger = TAKE(ledger);
  return 0;
}

void
export_ledger_keep(struct export_ledger *ledger)
{
  if (!ledger->noted)
    ledger->noted = xstrdup(ledger->left);
}

void
export_ledger_sign(struct export_ledger *ledger)
{
  export_ledger_keep(ledger); /* until the sink has seen it */
  save(ledger);
}

struct sink_ledger *
export_ledger_of_sink(struct export_ledger *ledger)
{
  return &ledger->sink;
}

void
export_ledger_close(struct export_ledger *ledger)
{
  if (!ledger)
    return;
  if (ledger->is_made && !ledger->noted && !ledger->is_others)
    (void)blob_remove(ledger->location, ledger->name, NULL);
  ledger_free(ledger);
}
