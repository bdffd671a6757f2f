/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/remote_file.h"
#include "populator/source/sources.h"

static int
http_open(const char *url, const struct source_options *options, struct source **ret_source,
          struct error **err)
{
  return remote_file_open(&source_http_ops, url, options, NULL, ret_source, err);
}

const struct source_ops source_http_ops = {
    .scheme = "http:",
    .open = http_open,
    .read_at = remote_file_read_at,
    .stream = remote_file_stream,
    .cancel = remote_file_cancel,
    .close = remote_file_close,
};

const struct source_ops source_https_ops = {
    .scheme = "https:",
    .open = http_open,
    .read_at = remote_file_read_at,
    .stream = remote_file_stream,
    .cancel = remote_file_cancel,
    .close = remote_file_close,
};
