/* SPDX-License-Identifier: Apache-2.0 */
/* Multipart uploads that were begun and neither completed nor aborted: what a process that died has
 * left in the store. */
#ifndef LIB_HTTP_S3_UPLOADS_H
#define LIB_HTTP_S3_UPLOADS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/error.h"
#include "lib/http/http_client.h"
#include "lib/http/s3.h"

struct s3_upload_ids {
  char **items;
  size_t count;
};

/* Of exactly this object, by whomever. */
int s3_uploads_list(struct http_client *client, const struct s3_options *options,
                    const char *bucket, const char *key, struct s3_upload_ids *ret_ids,
                    struct error **err);
bool s3_upload_ids_have(const struct s3_upload_ids *ids, const char *id);
void s3_upload_ids_clear(struct s3_upload_ids *ids);

/* Removes all parts. Fine when the upload is gone already. */
int s3_uploads_abort(struct http_client *client, const struct s3_options *options,
                     const char *bucket, const char *key, const char *id, struct error **err);

#endif
