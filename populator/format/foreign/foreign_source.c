/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/foreign/foreign_source.h"

#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "lib/base/memory.h"
#include "populator/format/foreign/disk_server.h"
#include "populator/format/foreign/foreign_file.h"
#include "populator/source/disk_client.h"
#include "populator/source/seek_stream.h"

/* Of the file, at once: what keeps a far server busy. */
#define SERVER_THREADS 8
/* The file's own source may try again for long before it gives up, and it must be the first to. */
#define STALL_S 300
/* A decoder that does not like its image says so and ends; one that crashed is gone sooner than
 * that is known. */
#define END_MS 3000
#define CRASH_MS 500

struct foreign_source {
  struct source source;
  struct foreign_file file;
  struct foreign_helper *helper;
  struct disk_uri uri; /* a label, no more */
  struct disk_server *server;
  pthread_t thread; /* serves the file */
  bool is_serving;
  struct disk_client *client; /* reads the disk */
};

static const struct source_ops foreign_source_ops;

/* ---- the file's side ---------------------------------------------------------------------------
 */

static int
read_file(void *context, void *buf, size_t len, uint64_t offset, struct error **err)
{
  return foreign_file_read(&((struct foreign_source *)context)->file, buf, len, offset, err);
}

static bool
on_heard(void *context)
{
  struct foreign_source *foreign = context;
  return foreign_helper_close_files(foreign->helper, NULL) == 0;
}

static void *
serve_main(void *arg)
{
  struct foreign_source *foreign = arg;
  (void)prctl(PR_SET_NAME, "foreign");
  int fd = foreign_helper_file_socket(foreign->helper);
  (void)disk_server_serve(foreign->server, fd);
  (void)shutdown(fd, SHUT_RDWR); /* whatever ended it, the other side is to know */
  return NULL;
}

static int
start_serving(struct foreign_source *foreign, struct error **err)
{
  struct disk_server_options options = {.size = foreign->file.size,
                                        .read = read_file,
                                        .heard = on_heard,
                                        .context = foreign,
                                        .threads = SERVER_THREADS};
  foreign->server = disk_server_new(&options);
  int r = pthread_create(&foreign->thread, NULL, serve_main, foreign);
  if (r != 0)
    return error_set_errno(err, r, "start a thread");
  foreign->is_serving = true;
  return 0;
}

/* ---- the disk's side ---------------------------------------------------------------------------
 */

static int
take_connection(void *context)
{
  return foreign_helper_take_connection(context);
}

/* Replaces what the client saw by what lies behind it: the file could not be read, or qemu-nbd does
 * not like it; else the file is damaged where it was read. -1. */
static int
explain(struct foreign_source *foreign, int64_t wait_ms, struct error *seen, struct error **err)
{
  CLEANUP(error_freep) struct error *owned = seen;
  CLEANUP(error_freep) struct error *reason = disk_server_failure(foreign->server);
  if (!reason && owned->code != ERROR_CANCELLED)
    (void)foreign_helper_check(foreign->helper, wait_ms, &reason);
  if (!reason && owned->code != ERROR_CANCELLED)
    error_make(&reason, ERROR_DATA_LOSS, "damaged: %s", owned->message);
  const struct error *told = reason ? reason : owned;
  return error_set(err, told->code, "'%s': %s", foreign->source.label, told->message);
}

static int
open_disk(struct foreign_source *foreign, struct error **err)
{
  struct disk_client_options options = {.uri = &foreign->uri,
                                        .take_socket = take_connection,
                                        .take_context = foreign->helper,
                                        .connections = FOREIGN_HELPER_CONNECTIONS,
                                        .stall_s = STALL_S,
                                        .never_reconnects = true};
  struct error *seen = NULL;
  if (disk_client_open(&options, &foreign->client, &seen) < 0)
    return explain(foreign, END_MS, seen, err);
  foreign->source.size = disk_client_size(foreign->client);
  foreign->source.can_seek = foreign->source.can_resume = true;
  return 0;
}

static void
foreign_close(struct source *source)
{
  struct foreign_source *foreign = (struct foreign_source *)source;
  disk_client_close(foreign->client);
  if (foreign->is_serving) {
    (void)shutdown(foreign_helper_file_socket(foreign->helper), SHUT_RDWR);
    (void)pthread_join(foreign->thread, NULL);
  }
  disk_server_free(foreign->server);
  foreign_file_clear(&foreign->file);
  disk_uri_clear(&foreign->uri);
  source_clear(source);
  free(foreign);
}

static void
foreign_free(struct foreign_source *foreign)
{
  if (foreign)
    foreign_close(&foreign->source);
}

DEFINE_CLEANUP(struct foreign_source *, foreign_free)

int
foreign_source_open(struct foreign_helper *helper, struct source *file, const char *format,
                    struct source **ret_source, struct error **err)
{
  CLEANUP(foreign_freep) struct foreign_source *foreign = xcalloc(1, sizeof(*foreign));
  foreign->source.ops = &foreign_source_ops;
  foreign->source.label = xstrdup(file->label);
  foreign->helper = helper;
  foreign->uri.label = xasprintf("the disk in %s", file->label);
  if (file->identity)
    foreign->source.identity = xasprintf("%s:%s", format, file->identity);
  if (foreign_file_init(&foreign->file, file, format, err) < 0)
    return -1;
  if (foreign_helper_open(helper, format, err) < 0)
    return error_wrap(err, "'%s': read %s", file->label, format);
  if (start_serving(foreign, err) < 0 || open_disk(foreign, err) < 0)
    return -1;
  *ret_source = &TAKE(foreign)->source;
  return 0;
}

static int
foreign_read_at(struct source *source, void *buf, size_t len, uint64_t offset, struct error **err)
{
  struct foreign_source *foreign = (struct foreign_source *)source;
  struct error *seen = NULL;
  return disk_client_read(foreign->client, buf, len, offset, &seen) == 0
             ? 0
             : explain(foreign, CRASH_MS, seen, err);
}

static int
foreign_data_range(struct source *source, uint64_t offset, uint64_t *ret_start, uint64_t *ret_end,
                   struct error **err)
{
  struct foreign_source *foreign = (struct foreign_source *)source;
  struct error *seen = NULL;
  return disk_client_data_range(foreign->client, offset, ret_start, ret_end, &seen) == 0
             ? 0
             : explain(foreign, CRASH_MS, seen, err);
}

static void
foreign_cancel(struct source *source)
{
  struct foreign_source *foreign = (struct foreign_source *)source;
  disk_client_cancel(foreign->client);
  if (foreign->file.source->ops->cancel)
    foreign->file.source->ops->cancel(foreign->file.source);
}

static const struct source_ops foreign_source_ops = {
    .scheme = "",
    .read_at = foreign_read_at,
    .stream = seek_stream_open,
    .data_range = foreign_data_range,
    .cancel = foreign_cancel,
    .close = foreign_close,
};
