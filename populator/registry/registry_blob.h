/* SPDX-License-Identifier: Apache-2.0 */
/* Large blobs of a registry: as a stream, or read anywhere. Nothing is checked here but what HTTP
 * says; verified_stream.h compares the digest. */
#ifndef POPULATOR_REGISTRY_REGISTRY_BLOB_H
#define POPULATOR_REGISTRY_REGISTRY_BLOB_H

#include "populator/registry/registry_client.h"
#include "populator/source/stream.h"

/* From offset on. Its saved state is its position: restored by opening it there. */
int registry_blob_stream(struct registry_client *client, const struct oci_descriptor *blob,
                         uint64_t offset, struct stream **ret_stream, struct error **err);
/* Whether the registry, or where it sends us, gives parts of it. */
bool registry_blob_can_read_at(struct registry_client *client, const struct oci_descriptor *blob);
/* Exactly len bytes from offset on. Any number of threads. */
int registry_blob_read_at(struct registry_client *client, const struct oci_descriptor *blob,
                          void *buf, size_t len, uint64_t offset, struct error **err);

#endif
