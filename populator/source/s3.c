/* SPDX-License-Identifier: Apache-2.0 */
/* s3://bucket/key. The key is taken as it stands: stores allow any character in it, so nothing in
 * the URL is an escape. */
#include <string.h>

#include "lib/base/memory.h"
#include "populator/source/remote_file.h"
#include "populator/source/sources.h"

static int
s3_open(const char *url, const struct source_options *options, struct source **ret_source,
        struct error **err)
{
  const char *place = url + strlen(source_s3_ops.scheme);
  size_t slashes = strspn(place, "/");
  const char *bucket = place + slashes;
  const char *slash = strchr(bucket, '/');
  if (slashes != 2 || !slash || slash == bucket || !slash[1])
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%s': an object is named s3://BUCKET/KEY", url);
  CLEANUP(freep) char *name = xstrndup(bucket, (size_t)(slash - bucket));
  CLEANUP(freep) char *address = s3_url(&options->s3, name, slash + 1);
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
