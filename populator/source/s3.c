/* SPDX-License-Identifier: Apache-2.0 */
/* s3://bucket/key. */
#include "lib/base/memory.h"
#include "populator/source/remote_file.h"
#include "populator/source/sources.h"

static int
s3_open(const char *url, const struct source_options *options, struct source **ret_source,
        struct error **err)
{
  CLEANUP(freep) char *bucket = NULL;
  const char *key;
  if (s3_name_parse(url, &bucket, &key, err) < 0)
    return -1;
  CLEANUP(freep) char *address = s3_url(&options->s3, bucket, key);
  if (remote_file_open(&source_s3_ops, address, options, &options->s3, ret_source, err) < 0)
    return error_wrap(err, "%s", url);
  free((*ret_source)->label);
  (*ret_source)->label = xstrdup(url);
  return 0;
}

const struct source_ops source_s3_ops = {
    .scheme = "s3:",
    .open = s3_open,
    .read_at = remote_file_read_at,
    .stream = remote_file_stream,
    .cancel = remote_file_cancel,
    .close = remote_file_close,
};
