/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/export_run.h"

#include <string.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/sink/archive_name.h"
#include "populator/transfer/export_copy.h"
#include "populator/transfer/export_ledger.h"
#include "populator/transfer/export_snapshot.h"

/* Standard output, or a descriptor: every process has its own. */
static bool
is_own(const char *url)
{
  return strcmp(url, "-") == 0 || text_starts_with(url, "fd:");
}

/* The same name in two folders is two files. */
static bool
is_relative(const char *url)
{
  static const char archive[] = ARCHIVE_NAME_SCHEME;
  const char *path = text_starts_with(url, archive) ? url + strlen(archive) : url;
  return *path != '/' && !is_own(url) && !export_copy_is(url) && !strstr(url, "://");
}

/* All that tells the destination from others. */
static char *
destination_of(const struct export_options *options)
{
  const char *endpoint = options->sink.s3.endpoint;
  if (text_starts_with(options->url, "s3:") && endpoint)
    return xasprintf("%s %s", options->url, endpoint);
  CLEANUP(freep) char *folder = is_relative(options->url) ? getcwd(NULL, 0) : NULL;
  return folder ? xasprintf("%s %s", options->url, folder) : xstrdup(options->url);
}

static int
export_snapshot(struct location *location, const char *image, const char *snapshot,
                struct export_options *options, struct error **err)
{
  if (export_copy_is(options->url))
    return export_copy(location, image, snapshot, options, err);
  if (image_reader_open(location, image, snapshot, &options->reader, err) < 0)
    return -1;
  int r = export_image(options, err);
  image_reader_close(TAKE(options->reader));
  return r;
}

static int
export_live_image(struct location *location, const char *image, struct export_options *options,
                  struct error **err)
{
  struct export_snapshot *snapshot;
  if (export_snapshot_take(location, image, &snapshot, err) < 0)
    return -1;
  int r = export_snapshot(location, image, export_snapshot_name(snapshot), options, err);
  if (export_snapshot_remove(snapshot, r < 0 ? NULL : err) < 0)
    return -1;
  return r;
}

int
export_run(struct location *location, const char *image, const char *snapshot,
           const struct export_options *options, struct error **err)
{
  struct export_options own = *options;
  CLEANUP(freep) char *destination = destination_of(options);
  CLEANUP(export_ledger_closep) struct export_ledger *ledger = NULL;
  if (export_ledger_open(location, destination, is_own(options->url), &ledger, err) < 0)
    return -1;
  own.sink.ledger = export_ledger_of_sink(ledger);
  if (snapshot)
    return export_snapshot(location, image, snapshot, &own, err);
  export_ledger_sign(ledger);
  return export_live_image(location, image, &own, err);
}

/* What is left at the destination. */
static int
discard_there(struct location *location, const struct export_options *options,
              struct sink_ledger *ledger, struct error **err)
{
  if (export_copy_is(options->url))
    return export_copy_discard(location, options->url, err);
  CLEANUP(freep) char *record = ledger->read(ledger);
  return record ? sink_discard(options->url, &options->sink, record, err) : 0;
}

int
export_discard(struct location *location, const char *image, const struct export_options *options,
               bool is_last, char **ret_left, struct error **err)
{
  CLEANUP(freep) char *destination = destination_of(options);
  CLEANUP(export_ledger_closep) struct export_ledger *ledger = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  *ret_left = NULL;
  if (export_ledger_open(location, destination, is_own(options->url), &ledger, err) < 0)
    return -1;
  if (image)
    export_snapshot_remove_orphans(location, image);
  if (discard_there(location, options, export_ledger_of_sink(ledger), &failure) == 0)
    return 0;
  if (is_last) {
    *ret_left = xstrdup(failure->message);
    return 0;
  }
  export_ledger_keep(ledger);
  return error_set(err, failure->code, "%s", failure->message);
}
