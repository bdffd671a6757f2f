/* SPDX-License-Identifier: Apache-2.0 */
/* Sends a blob to a registry as it is made, without knowing its digest or size beforehand: opened,
 * appended to in chunks, and named by its digest at the end. What a broken connection leaves behind
 * is asked for and gone on from, so that no byte is sent twice or left out; a chunk is kept until
 * the registry has it. One thread at a time. */
#ifndef POPULATOR_REGISTRY_BLOB_UPLOAD_H
#define POPULATOR_REGISTRY_BLOB_UPLOAD_H

#include "populator/registry/registry_client.h"
#include "populator/transfer/checksum.h"

struct blob_upload;

/* The client must outlive it. */
int blob_upload_begin(struct registry_client *client, struct blob_upload **ret_upload,
                      struct error **err);
/* ABORTED when the registry has given the upload up: it has to be made from its beginning. */
int blob_upload_write(struct blob_upload *upload, const void *data, size_t len, struct error **err);
/* Completes the blob, which the registry compares with the digest of what was written. The
 * descriptor has no media type yet. Frees the upload, also when it fails. */
int blob_upload_finish(struct blob_upload *upload, struct oci_descriptor *ret_blob,
                       struct error **err);
/* From here on another client of the same repository sends: the one before was cancelled. */
void blob_upload_pass_to(struct blob_upload *upload, struct registry_client *client);
/* Takes it back. NULL is fine. */
void blob_upload_abort(struct blob_upload *upload);
DEFINE_CLEANUP(struct blob_upload *, blob_upload_abort)

/* Whether the repository has the blob. */
int blob_upload_exists(struct registry_client *client, const struct oci_descriptor *blob,
                       bool *ret_exists, struct error **err);
/* Makes a blob of another repository one of this, without sending it. *ret_is_mounted is false when
 * the registry does not do that. */
int blob_upload_mount(struct registry_client *client, const struct oci_descriptor *blob,
                      const char *from, bool *ret_is_mounted, struct error **err);
/* A small blob, unless it is there. Fills the descriptor but for its media type. */
int blob_upload_put(struct registry_client *client, const void *data, size_t len,
                    struct oci_descriptor *ret_blob, struct error **err);

#endif
