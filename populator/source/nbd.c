/* SPDX-License-Identifier: Apache-2.0 */
/* An export of an NBD server. The protocol has no mark that would tell one version of the bytes
 * from another, so such a source has no identity and an import of it is not resumed. */
#include "lib/base/memory.h"
#include "populator/source/disk_client.h"
#include "populator/source/seek_stream.h"
#include "populator/source/sources.h"

struct export_source {
  struct source source;
  struct disk_uri uri;
  struct disk_client *client;
};

static struct disk_client *
client_of(struct source *source)
{
  return ((struct export_source *)source)->client;
}

static void
export_close(struct source *source)
{
  struct export_source *export = (struct export_source *)source;
  disk_client_close(export->client);
  disk_uri_clear(&export->uri);
  source_clear(source);
  free(export);
}

static void
export_free(struct export_source *export)
{
  if (export)
    export_close(&export->source);
}

DEFINE_CLEANUP(struct export_source *, export_free)

static int
export_open(const struct source_ops *ops, const char *url, const struct source_options *options,
            struct source **ret_source, struct error **err)
{
  CLEANUP(export_freep) struct export_source *export = xcalloc(1, sizeof(*export));
  export->source.ops = ops;
  if (disk_uri_parse(url, &export->uri, err) < 0)
    return -1;
  struct disk_client_options client = {
      .uri = &export->uri,
      .ca_bundle = options->http.ca_bundle,
      .allow_local_addresses = options->http.allow_local_addresses,
      .retries = options->http.retries,
      .retry_first_ms = options->http.retry_first_ms,
      .stall_s = options->http.stall_s,
  };
  if (disk_client_open(&client, &export->client, err) < 0)
    return -1;
  export->source.label = xstrdup(export->uri.label);
  export->source.size = disk_client_size(export->client);
  export->source.can_seek = export->source.can_resume = true;
  *ret_source = &TAKE(export)->source;
  return 0;
}

static int
open_plain(const char *url, const struct source_options *options, struct source **ret_source,
           struct error **err)
{
  return export_open(&source_nbd_ops, url, options, ret_source, err);
}

static int
open_tls(const char *url, const struct source_options *options, struct source **ret_source,
         struct error **err)
{
  return export_open(&source_nbds_ops, url, options, ret_source, err);
}

static int
open_unix(const char *url, const struct source_options *options, struct source **ret_source,
          struct error **err)
{
  return export_open(&source_nbd_unix_ops, url, options, ret_source, err);
}

static int
export_read_at(struct source *source, void *buf, size_t len, uint64_t offset, struct error **err)
{
  return disk_client_read(client_of(source), buf, len, offset, err);
}

static int
export_data_range(struct source *source, uint64_t offset, uint64_t *ret_start, uint64_t *ret_end,
                  struct error **err)
{
  return disk_client_data_range(client_of(source), offset, ret_start, ret_end, err);
}

static void
export_cancel(struct source *source)
{
  disk_client_cancel(client_of(source));
}

const struct source_ops source_nbd_ops = {
    .scheme = "nbd:",
    .open = open_plain,
    .read_at = export_read_at,
    .stream = seek_stream_open,
    .data_range = export_data_range,
    .cancel = export_cancel,
    .close = export_close,
};

const struct source_ops source_nbds_ops = {
    .scheme = "nbds:",
    .open = open_tls,
    .read_at = export_read_at,
    .stream = seek_stream_open,
    .data_range = export_data_range,
    .cancel = export_cancel,
    .close = export_close,
};

const struct source_ops source_nbd_unix_ops = {
    .scheme = "nbd+unix:",
    .open = open_unix,
    .read_at = export_read_at,
    .stream = seek_stream_open,
    .data_range = export_data_range,
    .cancel = export_cancel,
    .close = export_close,
};
