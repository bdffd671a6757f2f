/* SPDX-License-Identifier: Apache-2.0 */
/* Multipart uploads: an object made of up to 10,000 parts that are sent in any order, by any number
 * of threads, and appears as a whole when it is completed. Until then the store keeps the parts,
 * and charges for them: an upload is completed or aborted.
 *
 * Stores want parts of 5 MiB at least, but for the last. */
#ifndef LIB_HTTP_S3_UPLOAD_H
#define LIB_HTTP_S3_UPLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/http/http_client.h"
#include "lib/http/s3.h"

#define S3_PARTS_MAX 10000
#define S3_PART_MIN_BYTES ((size_t)5 << 20)
#define S3_PART_MAX_BYTES ((uint64_t)5 << 30)

struct s3_upload;

/* The client and the strings of the options outlive the upload. */
int s3_upload_create(struct http_client *client, const struct s3_options *options,
                     const char *bucket, const char *key, struct s3_upload **ret_upload,
                     struct error **err);
/* Goes on with an upload that another process has created, with the parts it has sent so far.
 * NOT_FOUND when it was completed or aborted. */
int s3_upload_open(struct http_client *client, const struct s3_options *options, const char *bucket,
                   const char *key, const char *id, struct s3_upload **ret_upload,
                   struct error **err);
/* Forgets it here; the store keeps what it has. */
void s3_upload_free(struct s3_upload *upload);
DEFINE_CLEANUP(struct s3_upload *, s3_upload_free)

/* What names it for s3_upload_open(). */
const char *s3_upload_id(const struct s3_upload *upload);
/* Whether an answer to its creation was lost, so that the store may have one more. */
bool s3_upload_is_repeated(const struct s3_upload *upload);
/* The length of a part that the store has; 0 when it has not. */
uint64_t s3_upload_part_len(struct s3_upload *upload, unsigned number);

/* Numbers begin with 1. A part that is sent again is replaced. Any thread. */
int s3_upload_part(struct s3_upload *upload, unsigned number, const void *data, size_t len,
                   struct error **err);
/* Makes the object of all parts, in the order of their numbers. The store compares each part with
 * the ETag it gave for it. */
int s3_upload_complete(struct s3_upload *upload, struct error **err);
/* Removes all parts. Fine when the upload is gone already. */
int s3_upload_abort(struct s3_upload *upload, struct error **err);

#endif
