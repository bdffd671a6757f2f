/* SPDX-License-Identifier: Apache-2.0 */
/* The disk in a container image as a source, wherever the image lies.
 *
 * Opening it finds the disk, in one pass over the layers from the top down; the stream that found
 * it is the one that is read, so the usual image, of one layer, is fetched once. Every layer that
 * is read is read to its end and compared with its digest.
 *
 * Only the disk of an uncompressed layer can be read anywhere; who does that proves the layer with
 * the source's digest_begin() and digest_end(). */
#ifndef POPULATOR_SOURCE_CONTAINER_DISK_H
#define POPULATOR_SOURCE_CONTAINER_DISK_H

#include "populator/source/blob_store.h"
#include "populator/source/source.h"

/* What container_disk_open() takes over, also when it fails: then it is empty. */
struct container_disk_image {
  struct blob_store *store;
  struct oci_manifest manifest;
  struct string_map env;
  char *digest;   /* of the manifest */
  char *platform; /* "linux/amd64" */
};

void container_disk_image_clear(struct container_disk_image *image);

/* ops is the table of the source it becomes, with container_disk's functions in it. */
int container_disk_open(const struct source_ops *ops, const char *label,
                        const struct source_options *options, struct container_disk_image *image,
                        struct source **ret_source, struct error **err);

int container_disk_read_at(struct source *source, void *buf, size_t len, uint64_t offset,
                           struct error **err);
int container_disk_stream(struct source *source, uint64_t offset, struct stream **ret_stream,
                          struct error **err);
int container_disk_restore(struct source *source, const void *state, size_t len, size_t *ret_used,
                           struct stream **ret_stream, struct error **err);
int container_disk_digest_begin(struct source *source, struct checksum *ret_checksum,
                                struct error **err);
int container_disk_digest_end(struct source *source, const struct checksum *checksum,
                              struct error **err);
void container_disk_cancel(struct source *source);
void container_disk_close(struct source *source);

/* The members of the table that are the same for every store. */
#define CONTAINER_DISK_OPS                                                                         \
  .read_at = container_disk_read_at, .stream = container_disk_stream,                              \
  .restore = container_disk_restore, .digest_begin = container_disk_digest_begin,                  \
  .digest_end = container_disk_digest_end, .cancel = container_disk_cancel,                        \
  .close = container_disk_close

#endif
